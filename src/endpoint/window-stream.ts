/**
 * A window of a session as one client's stream: frames as people see them (panes, borders, titles), and events of
 * windows and panes. Never sends more frames than the client reads: while its connection still holds bytes of the last
 * one nothing is added, and the next frame has the newest state of each row. Layout events wait in a queue of fixed
 * length; past it the client gets the number of missed ones, and all windows again. Overlays and panels of the window
 * are in its frames, unless the client wants the panes alone; its panes' own elements are in the pictures of the panes.
 */
import { composeFrame } from "../compositor/compose.ts";
import { drawDialog, layoutDialog } from "../compositor/dialog.ts";
import { layoutAround } from "../compositor/panel-layout.ts";
import { toLine } from "../compositor/row-line.ts";
import type { StreamEnd } from "../protocol/control.ts";
import { MAX_QUEUED_EVENTS } from "../protocol/events.ts";
import type { Grid } from "../protocol/grid.ts";
import type { LayoutEvent } from "../protocol/layout-events.ts";
import { messageTypes, type WireMessage } from "../protocol/messages.ts";
import { parse } from "../protocol/parse.ts";
import type { WindowInfo } from "../protocol/session.ts";
import { type FramePane, WindowRequestSchema } from "../protocol/window-stream.ts";
import type { Session } from "../session/session.ts";
import type { Peer } from "../wire/peer.ts";
import type { PeerStream, StreamedWindow } from "./served-session.ts";

export class WindowStream implements PeerStream {
  private readonly ends: (() => void)[];
  private readonly wants: ReadonlySet<string>;
  private readonly format: "plain" | "styled";
  private readonly intervalMs: number;
  private readonly elements: boolean;
  private readonly streamed: StreamedWindow;
  private queued: LayoutEvent[] = [];
  private skipped = 0;
  private seq: number;
  private dirty = true;
  private isOver = false;
  private timer: Timer | null = null;
  private lastFrame = Number.NEGATIVE_INFINITY;
  /** The picture's shape, and its rows, as composed and as sent. */
  private lastSent: { readonly key: string; readonly lines: Grid["lines"]; readonly texts: readonly string[] } | null =
    null;
  private sentPlaces = "";

  /** @param open finds the window that a target means @throws WshError invalid_request, pane_not_found */
  constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    input: unknown,
    open: (window: string | undefined) => StreamedWindow,
  ) {
    const { events, window, format, interval_ms, elements, seq } = parse(WindowRequestSchema, input);
    this.wants = new Set(events);
    this.format = format;
    this.intervalMs = interval_ms;
    this.elements = elements;
    this.seq = seq;
    this.streamed = open(window);
    const { shown } = this.streamed;
    const changed = (): void => this.changed();
    this.ends = [
      session.openStream(),
      () => this.streamed.dispose(),
      session.events.on("exited", (exit) => {
        if (!session.lifetime.isEnding) this.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
      }),
      session.events.on("destroyed", ({ reason, exit }) => {
        this.end({ reason, exit_code: exit.code, signal: exit.signal });
      }),
    ];
    if (this.wants.has("frames")) {
      const nothing = (): void => {};
      this.ends.push(
        shown.listen({
          ahead: nothing,
          bell: nothing,
          clipboard: nothing,
          chunk: changed,
          changed,
          resizing: changed,
          reset: changed,
        }),
      );
      if (elements) this.ends.push(session.events.on("drawn", changed));
    }
    peer.onDrain = () => this.schedule();
    if (this.wants.has("layout")) {
      this.ends.push(session.events.on("layout", (event) => this.enqueue(event)));
      this.tellWindows();
    }
    this.schedule();
  }

  receive(message: WireMessage): void {
    if (message.type !== messageTypes.end) return;
    this.close();
    this.peer.finish();
  }

  /** The connection is gone. */
  close(): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    for (const end of this.ends) end();
  }

  private get windows(): readonly WindowInfo[] {
    return this.session.windows;
  }

  private end(end: Omit<StreamEnd, "name">): void {
    if (this.isOver) return;
    this.tellQueued();
    this.close();
    this.peer.send(messageTypes.end, { ...end, name: this.session.name } satisfies StreamEnd);
    this.peer.finish();
  }

  private changed(): void {
    this.dirty = true;
    this.schedule();
  }

  private enqueue(event: LayoutEvent): void {
    if (this.queued.length < MAX_QUEUED_EVENTS) this.queued.push(event);
    else this.skipped++;
    // A new position of panes changes the picture, whether or not a pane has rendered.
    this.changed();
  }

  private schedule(): void {
    if (this.isOver || this.peer.outbox.pending > 0) return;
    this.tellQueued();
    if (this.timer !== null || !this.dirty || !this.wants.has("frames")) return;
    const due = this.lastFrame + this.intervalMs - performance.now();
    this.timer = setTimeout(() => void this.streamed.shown.whenAtRest(() => this.frame()), Math.max(0, due));
  }

  private tellQueued(): void {
    const events = this.queued;
    this.queued = [];
    for (const event of events) this.peer.send(messageTypes.event, { ...event, seq: ++this.seq });
    if (this.skipped === 0) return;
    this.peer.send(messageTypes.event, { type: "lagged", skipped: this.skipped });
    this.skipped = 0;
    this.tellWindows();
  }

  private tellWindows(): void {
    this.peer.send(messageTypes.event, { event: "windows", seq: 0, windows: this.windows });
  }

  /** Runs at most once per interval, between two pictures. */
  private frame(): void {
    this.timer = null;
    if (this.isOver || this.peer.outbox.pending > 0) return;
    const { id, shown } = this.streamed;
    this.dirty = false;
    // The window is gone: the client has not requested another one's contents.
    if (id === null) return;
    this.lastFrame = performance.now();
    const { lines, rows, cols, cursor, top } = this.picture(shown.grid());
    const panes = this.panesOf(id).map((pane) => ({ ...pane, row: pane.row + top }));
    const key = JSON.stringify([
      id,
      rows,
      cols,
      panes.map((pane) => [pane.id, pane.row, pane.col, pane.rows, pane.cols]),
    ]);
    const before = this.lastSent?.key === key ? this.lastSent : null;
    const texts: string[] = [];
    const news = lines.flatMap((row, index) => {
      const was = before?.texts[index];
      // Rows under elements are recomposed for each picture.
      const line = was !== undefined && before?.lines[index] === row ? null : toLine(row, this.format);
      const text = line === null ? was : JSON.stringify(line);
      texts.push(text ?? "");
      return line === null || text === was ? [] : [{ index, line }];
    });
    this.lastSent = { key, lines, texts };
    const rest = {
      cursor: { row: cursor.row, col: cursor.col, visible: cursor.visible },
      title: shown.title,
      panes,
    };
    const sent = JSON.stringify(rest);
    if (before !== null && news.length === 0 && sent === this.sentPlaces) return;
    this.sentPlaces = sent;
    const what = { window: id, rows, cols, whole: before === null, lines: news };
    this.peer.send(messageTypes.event, { event: "frame", seq: ++this.seq, ...what, ...rest });
  }

  /** The window with the panels around it; `top` rows of them are above. */
  private picture(grid: Grid): Grid & { readonly top: number } {
    if (!this.elements) return { ...grid, top: 0 };
    const { elements, layout: own, questions } = this.session;
    const layout = layoutAround(own, grid);
    const outer = { rows: layout.top + grid.rows + layout.bottom, cols: grid.cols };
    const overlays = elements.overlays();
    const panels = elements.panels();
    const status = this.session.status?.text(outer.cols, null).spans ?? null;
    const frame = composeFrame({ grid, layout, overlays, panels, status, outer });
    const { dialog } = questions;
    return { ...(dialog === null ? frame : drawDialog(frame, layoutDialog(dialog, frame), false)), top: layout.top };
  }

  private panesOf(id: string): FramePane[] {
    const window = this.windows.find((each) => each.id === id);
    return (window?.panes ?? []).flatMap(({ id: pane, row = 0, col = 0, rows, cols, title, active, hidden }) =>
      hidden === true ? [] : [{ id: pane, row, col, rows, cols, title, active }],
    );
  }
}
