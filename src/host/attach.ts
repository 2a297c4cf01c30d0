/**
 * One attached terminal, as the host serves it. It relays (the program's bytes go out as they were parsed) while its
 * size is the session's, nothing is drawn over a program that it can show alone, and it keeps up; otherwise it paints:
 * it gets the newest picture, as often as a screen shows one and its socket takes one. Every switch happens between two
 * chunks, so nothing is lost or doubled. A client that does not keep up costs the host its outbox and no more.
 */
import * as v from "valibot";
import { type Attach, AttachSchema, HelpSchema, ResizeSchema } from "../protocol/attach.ts";
import { type Frame, frameJson, frameTypes } from "../protocol/frames.ts";
import type { StreamEnd } from "../protocol/hello.ts";
import type { Session } from "../session/session.ts";
import type { Size, Viewer, ViewerEnd } from "../session/viewers.ts";
import { decodeKeys, initialKeyState } from "../terminal/keys-decode.ts";
import { translateMouse } from "../terminal/keys-mouse.ts";
import { Painter } from "./painter.ts";
import type { Peer } from "./peer.ts";

/** Bytes that may wait for a relaying terminal before it is behind: a few screens. */
const BEHIND_BYTES = 256 * 1024;
/** Time between two pictures, in ms: a screen shows sixty a second. */
const FRAME_MS = 16;
/** Output is counted over this time, in ms, to tell a flood from work. */
const FLOOD_WINDOW_MS = 50;
/** More bytes in a window than this is a flood, which is shown at frame rate: five megabytes a second. */
const FLOOD_BYTES = 256 * 1024;
/** A flood is over when a window had less than this. */
const CALM_BYTES = 16 * 1024;
/** How long a program may hold back its screen by synchronized output before it is shown all the same, in ms. */
const SYNCHRONIZED_MS = 150;

let nextViewerId = 1;

export interface AttachPolicy {
  /** Whether titles that programs set reach the person's terminal. */
  readonly titles: boolean;
  /** Whether clipboard writes of programs do. */
  readonly clipboard: boolean;
}

export class TerminalStream implements Viewer {
  readonly id = nextViewerId++;
  readonly readOnly: boolean;
  size: Size;
  private readonly painter: Painter;
  private readonly paintOnly: boolean;
  private readonly ends: (() => void)[] = [];
  private mode: "relay" | "paint" = "paint";
  private over = false;
  private help = false;
  private paintTimer: Timer | null = null;
  private paintedAt = Number.NEGATIVE_INFINITY;
  private dirtySince: number | null = null;
  private flooding = false;
  private windowStart = 0;
  private windowBytes = 0;

  private constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    attach: v.InferOutput<typeof AttachSchema>,
    private readonly policy: AttachPolicy,
  ) {
    this.readOnly = attach.read_only;
    this.paintOnly = attach.paint_only;
    this.size = { rows: attach.rows, cols: attach.cols };
    this.painter = new Painter(session, { prefix: attach.prefix, titles: policy.titles });
  }

  /** Attaches: the screen as it is, then everything after it. The first bytes may go out before the response. */
  static async open(session: Session, peer: Peer, input: unknown, policy: AttachPolicy): Promise<TerminalStream> {
    const attach = v.parse(AttachSchema, input satisfies unknown as Attach);
    const stream = new TerminalStream(session, peer, attach, policy);
    if (session.exit === null) {
      session.viewers.add(stream);
      await session.resize();
    }
    const { scrollback } = attach;
    const history = scrollback === "all" ? Number.POSITIVE_INFINITY : scrollback === "none" ? 0 : scrollback;
    await session.pane.terminal.atRest(() => stream.begin(history));
    return stream;
  }

  receive(frame: Frame): void {
    if (frame.type === frameTypes.input) {
      this.typed(frame.payload);
    } else if (frame.type === frameTypes.resize) {
      this.size = v.parse(ResizeSchema, frameJson(frame));
      this.painter.reset();
      this.session.viewers.acted(this.id);
      void this.session.resize().then(() => this.reconsider());
    } else {
      this.close();
      this.peer.finish();
    }
  }

  /** The person asked what the prefix key can do, or has seen it. */
  showHelp(input: unknown): void {
    this.help = v.parse(HelpSchema, input).shown;
    this.reconsider();
  }

  sizeChanged(): void {
    this.reconsider();
  }

  end(reason: ViewerEnd): void {
    if (this.over) return;
    if (this.mode === "paint") this.paintNow();
    this.close();
    this.peer.send(frameTypes.end, { ...reason, name: this.session.name } satisfies StreamEnd);
    this.peer.finish();
  }

  /** The connection is gone, or the stream is over: nothing more is sent and nothing is kept. */
  close(): void {
    if (this.over) return;
    this.over = true;
    clearTimeout(this.paintTimer ?? undefined);
    for (const end of this.ends) end();
    this.session.viewers.remove(this.id);
    this.session.keyboard.viewerGone(this.id);
    if (this.session.exit === null) void this.session.resize();
  }

  /** Runs between chunks. */
  private begin(history: number): void {
    const { session } = this;
    const { events } = session;
    this.ends.push(
      events.on("chunk", ({ bytes }) => this.chunk(bytes)),
      events.on("drawn", () => this.reconsider()),
      events.on("inputMode", () => this.tellKeyboard()),
      events.on("bell", () => this.painter.rang()),
      events.on("clipboard", (copied) => this.policy.clipboard && this.painter.copied(copied)),
      session.streamOpened(),
    );
    this.peer.onDrain = () => this.reconsider();
    this.tellKeyboard();
    if (this.canRelay()) this.relay(history);
    else {
      this.painter.reset(history);
      this.paintNow();
    }
    if (session.exit !== null) {
      this.end({ reason: "exited", exit_code: session.exit.code, signal: session.exit.signal });
    }
  }

  private canRelay(): boolean {
    const { session, size } = this;
    const { rows, cols } = session.pane.terminal;
    if (this.paintOnly || this.help || this.flooding || session.keyboard.owner !== null) return false;
    if (size.rows !== rows || size.cols !== cols) return false;
    return session.elements.overlays().length === 0 && this.peer.outbox.pending === 0;
  }

  /** Something that decides between relay and painting may have changed. */
  private reconsider(): void {
    if (this.over) return;
    if (this.mode === "paint") this.paintSoon();
    else if (!this.canRelay()) this.startPainting();
  }

  /** From here on the client gets the program's bytes; what it shows is made the session's screen first. */
  private relay(history: number): void {
    this.mode = "relay";
    clearTimeout(this.paintTimer ?? undefined);
    this.paintTimer = null;
    this.peer.send(frameTypes.event, { event: "relay" });
    this.peer.sendBytes(frameTypes.output, this.session.pane.terminal.serialize({ history }));
  }

  private startPainting(): void {
    this.mode = "paint";
    this.painter.reset();
    this.paintSoon();
  }

  /** Runs per chunk. */
  private chunk(bytes: Uint8Array): void {
    this.count(bytes.length);
    if (this.mode === "paint") {
      this.paintSoon();
      return;
    }
    if (bytes.length > 0) this.peer.sendBytes(frameTypes.output, bytes);
    if (this.flooding || this.peer.outbox.pending > BEHIND_BYTES) this.startPainting();
  }

  private count(bytes: number): void {
    const now = performance.now();
    if (now - this.windowStart > FLOOD_WINDOW_MS) {
      if (this.windowBytes < CALM_BYTES) this.flooding = false;
      this.windowStart = now;
      this.windowBytes = 0;
    }
    this.windowBytes += bytes;
    if (this.windowBytes > FLOOD_BYTES) this.flooding = true;
  }

  private paintSoon(): void {
    if (this.paintTimer !== null || this.over) return;
    this.dirtySince ??= performance.now();
    const wait = this.paintedAt + FRAME_MS - performance.now();
    if (wait <= 0) {
      this.paintWhenReady();
      return;
    }
    this.paintTimer = setTimeout(() => {
      this.paintTimer = null;
      this.paintWhenReady();
    }, wait);
  }

  private paintWhenReady(): void {
    // The socket's drain calls again.
    if (this.over || this.peer.outbox.pending > 0) return;
    const { terminal } = this.session.pane;
    const held = performance.now() - (this.dirtySince ?? 0);
    if (terminal.modes.synchronizedOutput && held < SYNCHRONIZED_MS) {
      this.paintTimer = setTimeout(() => {
        this.paintTimer = null;
        this.paintWhenReady();
      }, FRAME_MS);
      return;
    }
    void terminal.atRest(() => {
      if (this.over || this.mode !== "paint") return;
      this.count(0);
      if (this.canRelay()) this.relay(0);
      else this.paintNow();
    });
  }

  private paintNow(): void {
    this.paintedAt = performance.now();
    this.dirtySince = null;
    const update = this.painter.next(this.size, this.help);
    if (update !== null) this.peer.send(frameTypes.picture, update);
    // Silence does not tell that a flood is over: look once more.
    if (this.flooding && !this.over) this.paintTimer ??= setTimeout(() => this.calm(), FLOOD_WINDOW_MS);
  }

  private calm(): void {
    this.paintTimer = null;
    this.count(0);
    this.paintSoon();
  }

  private tellKeyboard(): void {
    const captured = this.session.keyboard.mode === "capture";
    this.peer.send(frameTypes.event, { event: "keyboard", captured });
  }

  private typed(bytes: Uint8Array): void {
    if (this.readOnly || this.over) return;
    if (this.session.viewers.acted(this.id)) void this.session.resize();
    const typed = this.inProgramArea(bytes);
    if (typed.length > 0) this.session.typed(this.id, typed);
  }

  /** Mouse events are told where the program has its rows; those on panels are not the program's. */
  private inProgramArea(bytes: Uint8Array): Uint8Array {
    const { layout, pane } = this.session;
    const { mouseTracking, mouseEncoding } = pane.terminal.modes;
    if (layout.top + layout.bottom === 0 || mouseTracking === "none" || mouseEncoding === "sgr-pixels") return bytes;
    const { events, state } = decodeKeys(initialKeyState, bytes);
    const area = { rows: layout.ptyRows, cols: layout.ptyCols };
    const parts = events.flatMap(({ kind, raw }) =>
      kind === "mouse" ? (translateMouse(raw, layout.top, area) ?? []) : [raw],
    );
    return new Uint8Array(Buffer.concat([...parts, state.rest]));
  }
}
