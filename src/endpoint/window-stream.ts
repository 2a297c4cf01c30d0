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
  private readonly cleanups: (() => void)[];
  private readonly requestedEvents: ReadonlySet<string>;
  private readonly format: "plain" | "styled";
  private readonly intervalMs: number;
  private readonly includesElements: boolean;
  private readonly streamed: StreamedWindow;
  private queuedEvents: LayoutEvent[] = [];
  private skipped = 0;
  private seq: number;
  private isDirty = true;
  private isClosed = false;
  private timer: Timer | null = null;
  private lastFrameAt = Number.NEGATIVE_INFINITY;
  /** The picture's shape, and its rows, as composed and as sent. */
  private lastSent: { readonly key: string; readonly lines: Grid["lines"]; readonly texts: readonly string[] } | null =
    null;
  private sentState = "";

  /** @param open finds the window that a target means @throws WshError invalid_request, pane_not_found */
  constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    input: unknown,
    open: (window: string | undefined) => StreamedWindow,
  ) {
    const { events, window, format, interval_ms, elements, seq } = parse(WindowRequestSchema, input);
    this.requestedEvents = new Set(events);
    this.format = format;
    this.intervalMs = interval_ms;
    this.includesElements = elements;
    this.seq = seq;
    this.streamed = open(window);
    const { content } = this.streamed;
    const changed = (): void => this.changed();
    this.cleanups = [
      session.openStream(),
      () => this.streamed.dispose(),
      session.events.on("exited", (exit) => {
        if (!session.lifetime.isEnding) this.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
      }),
      session.events.on("destroyed", ({ reason, exit }) => {
        this.end({ reason, exit_code: exit.code, signal: exit.signal });
      }),
    ];
    if (this.requestedEvents.has("frames")) {
      const nothing = (): void => {};
      this.cleanups.push(
        content.listen({
          ahead: nothing,
          bell: nothing,
          clipboard: nothing,
          chunk: changed,
          changed,
          resizing: changed,
          reset: changed,
        }),
      );
      if (elements) this.cleanups.push(session.events.on("drawn", changed));
    }
    peer.onDrain = () => this.schedule();
    if (this.requestedEvents.has("layout")) {
      this.cleanups.push(session.events.on("layout", (event) => this.enqueue(event)));
      this.sendWindows();
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
    if (this.isClosed) return;
    this.isClosed = true;
    if (this.timer !== null) clearTimeout(this.timer);
    for (const end of this.cleanups) end();
  }

  private get windows(): readonly WindowInfo[] {
    return this.session.windows;
  }

  private end(end: Omit<StreamEnd, "name">): void {
    if (this.isClosed) return;
    this.sendQueued();
    this.close();
    this.peer.send(messageTypes.end, { ...end, name: this.session.name } satisfies StreamEnd);
    this.peer.finish();
  }

  private changed(): void {
    this.isDirty = true;
    this.schedule();
  }

  private enqueue(event: LayoutEvent): void {
    if (this.queuedEvents.length < MAX_QUEUED_EVENTS) this.queuedEvents.push(event);
    else this.skipped++;
    // A new position of panes changes the picture, whether or not a pane has rendered.
    this.changed();
  }

  private schedule(): void {
    if (this.isClosed || this.peer.outbox.pending > 0) return;
    this.sendQueued();
    if (this.timer !== null || !this.isDirty || !this.requestedEvents.has("frames")) return;
    const due = this.lastFrameAt + this.intervalMs - performance.now();
    this.timer = setTimeout(() => void this.streamed.content.whenAtRest(() => this.sendFrame()), Math.max(0, due));
  }

  private sendQueued(): void {
    const events = this.queuedEvents;
    this.queuedEvents = [];
    for (const event of events) this.peer.send(messageTypes.event, { ...event, seq: ++this.seq });
    if (this.skipped === 0) return;
    this.peer.send(messageTypes.event, { type: "lagged", skipped: this.skipped });
    this.skipped = 0;
    this.sendWindows();
  }

  private sendWindows(): void {
    this.peer.send(messageTypes.event, { event: "windows", seq: 0, windows: this.windows });
  }

  /** Runs at most once per interval, between two pictures. */
  private sendFrame(): void {
    this.timer = null;
    if (this.isClosed || this.peer.outbox.pending > 0) return;
    const { id, content } = this.streamed;
    this.isDirty = false;
    // The window is gone: the client has not requested another one's contents.
    if (id === null) return;
    this.lastFrameAt = performance.now();
    const { lines, rows, cols, cursor, top } = this.composePicture(content.grid());
    const panes = this.listPanes(id).map((pane) => ({ ...pane, row: pane.row + top }));
    const key = JSON.stringify([
      id,
      rows,
      cols,
      panes.map((pane) => [pane.id, pane.row, pane.col, pane.rows, pane.cols]),
    ]);
    const before = this.lastSent?.key === key ? this.lastSent : null;
    const texts: string[] = [];
    const changedLines = lines.flatMap((row, index) => {
      const sentText = before?.texts[index];
      // Rows under elements are recomposed for each picture.
      const line = sentText !== undefined && before?.lines[index] === row ? null : toLine(row, this.format);
      const text = line === null ? sentText : JSON.stringify(line);
      texts.push(text ?? "");
      return line === null || text === sentText ? [] : [{ index, line }];
    });
    this.lastSent = { key, lines, texts };
    const state = {
      cursor: { row: cursor.row, col: cursor.col, visible: cursor.visible },
      title: content.title,
      panes,
    };
    const stateText = JSON.stringify(state);
    if (before !== null && changedLines.length === 0 && stateText === this.sentState) return;
    this.sentState = stateText;
    const fields = { window: id, rows, cols, whole: before === null, lines: changedLines };
    this.peer.send(messageTypes.event, { event: "frame", seq: ++this.seq, ...fields, ...state });
  }

  /** The window with the panels around it; `top` rows of them are above. */
  private composePicture(grid: Grid): Grid & { readonly top: number } {
    if (!this.includesElements) return { ...grid, top: 0 };
    const { elements, layout: sessionLayout, questions } = this.session;
    const layout = layoutAround(sessionLayout, grid);
    const outer = { rows: layout.top + grid.rows + layout.bottom, cols: grid.cols };
    const overlays = elements.overlays();
    const panels = elements.panels();
    const status = this.session.status?.text(outer.cols, null).spans ?? null;
    const frame = composeFrame({ grid, layout, overlays, panels, status, outer });
    const { dialog } = questions;
    return { ...(dialog === null ? frame : drawDialog(frame, layoutDialog(dialog, frame), false)), top: layout.top };
  }

  private listPanes(id: string): FramePane[] {
    const window = this.windows.find((each) => each.id === id);
    return (window?.panes ?? []).flatMap(({ id: pane, row = 0, col = 0, rows, cols, title, active, hidden }) =>
      hidden === true ? [] : [{ id: pane, row, col, rows, cols, title, active }],
    );
  }
}
