/**
 * One attached terminal, as the host serves it. It relays (the program's bytes go out as they were parsed) while its
 * size is the session's, nothing is drawn over a program that it can show alone, and it keeps up; otherwise it paints:
 * it gets the newest picture, as often as a screen shows one and its socket takes one. Every switch happens between two
 * chunks, so nothing is lost or doubled. A client that does not keep up costs the host its outbox and no more.
 *
 * Where the host could open the person's terminal itself, keys come from there, and once the client has written all that
 * it was sent of a relay, the rest goes there too. While it does, the client writes nothing: pictures wait until the
 * terminal has taken everything, and a new relay begins through the client again. The echo of a key goes there before it
 * is parsed: relayed, it is left out of the next chunk; beside a panel, it is compared with the next picture.
 */
import * as v from "valibot";
import { defaultPrefix, parsePrefix } from "../../keys/prefix.ts";
import { KeyReader } from "../../keys/reader.ts";
import {
  AttachSchema,
  HelpSchema,
  type LastingChange,
  ResizeSchema,
  type ScrollbackChoice,
  TerminalColorsSchema,
  WrittenSchema,
} from "../../protocol/attach.ts";
import type { StreamEnd } from "../../protocol/control.ts";
import { type Frame, frameJson, frameTypes } from "../../protocol/messages.ts";
import type { Size } from "../../protocol/size.ts";
import type { Session } from "../../session/session.ts";
import type { Viewer, ViewerEnd } from "../../session/viewers.ts";
import { withColors } from "../../terminal/profile.ts";
import type { Peer } from "../../wire/peer.ts";
import { PersonTerminal } from "./direct-terminal.ts";
import { FLOOD_WINDOW_MS, FloodMeter } from "./flood-meter.ts";
import { FRAME_MS, FramePacer } from "./frame-pacer.ts";
import { PaintedTerminal } from "./painted-echo.ts";
import { Painter } from "./painter.ts";
import { forProgram } from "./pane-mouse.ts";

/** Bytes that may wait for a relaying terminal before it is behind: a few screens. */
const BEHIND_BYTES = 256 * 1024;
/** How long a terminal may take for the last bytes of a program, in ms. */
const LAST_BYTES_MS = 1_000;
/** Sizes that follow each other within this time, in ms, as while a window is dragged, count as one. */
const RESIZE_MS = 16;
/** How long a terminal that the session does not fit into says so, in ms: it covers a part of the program's last row. */
const NOTE_MS = 4_000;
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
  private readonly mayRelay: boolean;
  private readonly scrollback: ScrollbackChoice;
  private readonly ends: (() => void)[] = [];
  private readonly flood = new FloodMeter();
  private readonly terminal: PersonTerminal | null;
  private readonly painted: PaintedTerminal;
  private readonly keys: KeyReader;
  private mode: "opening" | "relay" | "paint" = "opening";
  /** The program's bytes go to the terminal without the client. */
  private direct = false;
  /** Bytes that went through the client since it last became a relay. */
  private relayed = 0;
  /** Bytes at the beginning of the next chunk that the terminal has already. */
  private ahead = 0;
  /** The next chunk is short and moves nothing: what was typed, as a rule. */
  private isEcho = false;
  private over = false;
  /** The session ended this stream before it had begun: first it shows what there is. */
  private ending: ViewerEnd | null = null;
  private help = false;
  private readonly pacer: FramePacer;
  /** What programs change for good at a terminal that is relayed to, and which of it the client knows. */
  private lasting: { news(): readonly LastingChange[] };
  private readonly told = new Set<LastingChange>();
  private resizeTimer: Timer | null = null;
  /** The sizes, of the session and here, that were said last, and for how long they still are. */
  private noted = "";
  private noteTimer: Timer | null = null;
  /** What the client was last told of the keyboard. */
  private toldCaptured: boolean | null = null;

  /** @throws what the schema finds wrong with `input` */
  constructor(
    private readonly session: Session,
    private readonly peer: Peer,
    input: unknown,
    private readonly policy: AttachPolicy,
  ) {
    const attach = v.parse(AttachSchema, input);
    this.readOnly = attach.read_only;
    this.mayRelay = attach.relay && !attach.paint_only;
    this.scrollback = attach.scrollback;
    this.size = { rows: attach.rows, cols: attach.cols };
    this.painter = new Painter(session, {
      prefix: attach.prefix ?? defaultPrefix.label,
      titles: policy.titles,
      scrollback: !attach.paint_only,
      plainElements: attach.no_color,
    });
    this.terminal = attach.terminal === undefined ? null : PersonTerminal.open(attach.terminal);
    this.painted = new PaintedTerminal(this.terminal, (update) => peer.send(frameTypes.picture, update));
    this.pacer = this.pacing();
    this.lasting = session.pane.terminal.lasting.watch();
    this.keys = new KeyReader(attach.prefix === null ? null : parsePrefix(attach.prefix), {
      forward: (bytes) => this.typed(bytes),
      reply: () => {},
      detach: () => this.end({ reason: "detached" }),
      help: (shown) => this.showHelp({ shown }),
      release: () => {
        session.keyboard.release();
        session.elements.unfocus();
      },
    });
  }

  /** Attaches: the screen as it is, then everything after it. The first bytes may go out before this resolves. */
  async start(): Promise<void> {
    const { session } = this;
    this.ends.push(session.streamOpened());
    if (session.exit === null) {
      session.viewers.add(this);
      await session.resize();
    }
    await session.pane.terminal.atRest(() => this.begin());
  }

  receive(frame: Frame): void {
    if (frame.type === frameTypes.input) {
      this.typed(frame.payload);
    } else if (frame.type === frameTypes.resize) {
      this.resized(v.parse(ResizeSchema, frameJson(frame)));
    } else {
      this.end({ reason: "detached" });
    }
  }

  /** The person asked what the prefix key can do, or has seen it. */
  showHelp(input: unknown): void {
    this.help = v.parse(HelpSchema, input).shown;
    this.reconsider();
  }

  /** The client has written what it was sent. When nothing more is on its way to it, the terminal is the host's. */
  written(input: unknown): void {
    const { bytes, pictures = 0 } = v.parse(WrittenSchema, input);
    this.painted.confirmed(pictures);
    if (this.terminal === null || this.mode !== "relay" || this.over) return;
    this.direct ||= bytes === this.relayed && this.peer.outbox.pending === 0;
  }

  /** The client reads no more keys. */
  takeKeys(): void {
    if (this.over) return;
    void this.terminal?.read(
      (bytes) => this.keys.push(bytes),
      () => this.end({ reason: "detached" }),
      () => this.release(),
    );
  }

  /** The terminal is not the client's for now: nothing is read or written there until it takes it up again. */
  release(): void {
    if (this.over) return;
    this.direct = false;
    this.painted.lost();
    this.terminal?.release();
  }

  /** What the person's terminal looks like: the newest one's colours are what programs are told. */
  learnColors(input: unknown): void {
    const { terminal } = this.session.pane;
    terminal.setProfile(withColors(terminal.profile, v.parse(TerminalColorsSchema, input)));
  }

  sizeChanged(): void {
    this.reconsider();
  }

  /** What is drawn goes; what the program has shown stays in view. */
  end(reason: ViewerEnd): void {
    if (this.over) return;
    if (this.mode === "opening") {
      this.ending = reason;
      return;
    }
    this.ending = reason;
    const { terminal } = this;
    // What the program printed last is shown first, if its terminal takes it.
    if (terminal === null || terminal.output.pending === 0) this.letGo(reason);
    else void terminal.output.emptied(LAST_BYTES_MS).then(() => this.letGo(reason));
  }

  private letGo(reason: ViewerEnd): void {
    if (this.over) return;
    if (this.mode === "paint") this.paintNow(true);
    this.close();
    this.peer.send(frameTypes.end, { ...reason, name: this.session.name } satisfies StreamEnd);
    this.peer.finish();
  }

  /** The connection is gone, or the stream is over: nothing more is sent and nothing is kept. */
  close(): void {
    if (this.over) return;
    this.over = true;
    this.pacer.close();
    clearTimeout(this.resizeTimer ?? undefined);
    clearTimeout(this.noteTimer ?? undefined);
    for (const end of this.ends) end();
    this.terminal?.close();
    this.session.viewers.remove(this.id);
    this.session.keyboard.viewerGone(this.id);
    if (this.session.exit === null) void this.session.resize();
  }

  /** Runs between chunks. */
  private begin(): void {
    if (this.over) return;
    const { session } = this;
    const { events } = session;
    this.ends.push(
      events.on("ahead", (bytes) => this.echoed(bytes)),
      events.on("chunk", ({ bytes }) => this.chunk(bytes)),
      events.on("drawn", () => {
        this.painter.drawn();
        this.reconsider();
      }),
      events.on("resizing", () => this.beforeResize()),
      events.on("reset", () => this.reconsider()),
      events.on("inputMode", () => this.tellKeyboard()),
      events.on("bell", () => this.painter.rang()),
      events.on("clipboard", (copied) => this.policy.clipboard && this.painter.copied(copied)),
    );
    this.peer.onDrain = () => this.drained();
    if (this.terminal !== null) {
      this.terminal.output.onDrain = () => this.drained();
      this.peer.send(frameTypes.event, { event: "opened" });
    }
    this.tellKeyboard();
    const { scrollback } = this;
    const history = scrollback === "all" ? Number.POSITIVE_INFINITY : scrollback === "none" ? 0 : scrollback;
    if (this.canRelay()) this.relay(history);
    else this.startPainting(history);
    const { exit } = session;
    if (this.ending !== null) this.end(this.ending);
    else if (exit !== null) this.end({ reason: "exited", exit_code: exit.code, signal: exit.signal });
  }

  /** The program's own bytes would show on this terminal what is to be seen. Runs per chunk. */
  private isAlone(): boolean {
    const { session, size } = this;
    const { rows, cols } = session.pane.terminal;
    if (!this.mayRelay || this.help || session.keyboard.owner !== null) return false;
    return size.rows === rows && size.cols === cols && !session.elements.hasOverlays;
  }

  private canRelay(): boolean {
    return this.isAlone() && !this.flood.isFlooding && this.pending === 0 && this.resizeTimer === null;
  }

  /** Bytes that wait for the client or for its terminal. */
  private get pending(): number {
    return this.peer.outbox.pending + (this.terminal?.output.pending ?? 0);
  }

  /** Something that decides between relay and painting may have changed. May be called while a chunk is parsed. */
  private reconsider(): void {
    if (this.over) return;
    if (this.mode === "paint") this.pacer.soon();
    else if (this.mode === "relay" && !this.isAlone()) {
      void this.session.pane.terminal.atRest(() => {
        if (this.mode === "relay" && !this.over && !this.isAlone()) this.startPainting();
      });
    }
  }

  /** From here on the client gets the program's bytes; what it shows is made the session's screen first. */
  private relay(history: number): void {
    this.mode = "relay";
    this.pacer.cancel();
    this.direct = false;
    this.relayed = 0;
    // What was ahead of the emulator is not on the screen that is made here.
    this.ahead = 0;
    this.painted.forget();
    this.peer.send(frameTypes.event, { event: "relay" });
    const { terminal } = this.session.pane;
    this.lasting = terminal.lasting.watch();
    this.tellChanges(terminal.serializedChanges);
    this.pass(terminal.serialize({ history }));
  }

  private tellChanges(changes: readonly LastingChange[]): void {
    const news = changes.filter((change) => !this.told.has(change));
    if (news.length === 0) return;
    for (const change of news) this.told.add(change);
    this.peer.send(frameTypes.event, { event: "changed", changes: news });
  }

  private pass(bytes: Uint8Array): void {
    if (this.direct && this.terminal?.isHeld !== true) this.release();
    if (this.direct) {
      this.terminal?.output.write(bytes);
      return;
    }
    this.relayed += bytes.length;
    this.peer.sendBytes(frameTypes.output, bytes);
  }

  private startPainting(history = 0): void {
    this.mode = "paint";
    this.painter.begin(history);
    this.pacer.soon();
  }

  /** The echo of a key: it goes out before it is parsed. */
  private echoed(bytes: Uint8Array): void {
    this.isEcho = true;
    if (this.pending > 0 || this.resizeTimer !== null || this.over) return;
    if (this.mode === "relay" && this.direct) {
      this.pass(bytes);
      this.ahead = bytes.length;
      this.terminal?.handOver();
    } else if (this.mode === "paint" && this.isNext(bytes)) this.painted.give(bytes);
  }

  /** A picture will be made of these bytes as soon as they are parsed, and nothing else be new in it. */
  private isNext(bytes: Uint8Array): boolean {
    const { painted } = this;
    return (
      this.pacer.isReady &&
      !painted.isAhead &&
      !this.flood.isFlooding &&
      this.painter.mayBeTyped(bytes) &&
      painted.isCurrent
    );
  }

  /** Runs per chunk. */
  private chunk(bytes: Uint8Array): void {
    const { ahead, isEcho } = this;
    this.ahead = 0;
    this.isEcho = false;
    this.flood.count(bytes.length);
    this.painter.printed(bytes);
    if (this.mode === "paint") {
      this.pacer.printed(isEcho);
      return;
    }
    this.tellChanges(this.lasting.news());
    const news = ahead === 0 ? bytes : bytes.subarray(ahead);
    if (news.length > 0) this.pass(news);
    const behind = this.pending > BEHIND_BYTES;
    if (behind || this.flood.isFlooding || !this.isAlone()) this.startPainting();
  }

  private resized(size: Size): void {
    this.size = size;
    this.session.viewers.acted(this.id);
    if (this.mode === "opening") return;
    // The terminal has wrapped its lines in its own way: it is painted anew, once the session has the size.
    if (this.mode === "relay") {
      this.mode = "paint";
      this.painter.begin();
    }
    this.painter.forget();
    this.resizeTimer ??= setTimeout(() => void this.applySize(), RESIZE_MS);
  }

  private async applySize(): Promise<void> {
    const { size } = this;
    this.painter.hold();
    await this.session.resize();
    this.resizeTimer = size === this.size ? null : setTimeout(() => void this.applySize(), RESIZE_MS);
    if (this.over || this.resizeTimer !== null) return;
    this.painter.outerMoved();
    this.pacer.soon();
  }

  /** The session's screen is about to be wrapped anew. */
  private beforeResize(): void {
    if (this.mode === "paint") this.painter.hold();
    else if (this.mode === "relay") {
      // Painted when it has happened, which is told too.
      this.mode = "paint";
      this.painter.begin();
    }
  }

  private pacing(): FramePacer {
    const { terminal } = this.session.pane;
    return new FramePacer({
      isBlocked: () => this.over || this.pending > 0 || this.resizeTimer !== null,
      isSynchronized: () => terminal.modes.synchronizedOutput,
      atRest: (make) => void terminal.atRest(make),
      paint: () => this.paint(),
    });
  }

  /** Runs between chunks: a picture, or the program's own bytes from here on. */
  private paint(): void {
    if (this.over || this.mode !== "paint" || this.resizeTimer !== null) return;
    this.flood.count(0);
    const relays = this.canRelay() && !this.painter.isAhead;
    if (!relays || this.painter.owes) this.paintNow();
    if (relays && this.canRelay() && !this.painter.isBehind) this.relay(0);
  }

  /** @param bare without what is drawn over and beside the program's screen */
  private paintNow(bare = false): void {
    this.pacer.began();
    const flooding = this.flood.isFlooding;
    const note = !bare && this.isNoting();
    const next = this.painter.next({ size: this.size, help: this.help, note, flooding, bare });
    if (next !== null) this.painted.show(next.update, next.typed);
    else if (this.painted.isAhead) {
      // It was given what did not come: the picture is as it was, the terminal is not.
      this.painter.forget();
      this.pacer.later(FRAME_MS);
    }
    if (bare) return;
    if (this.painter.isBehind) this.pacer.later(FRAME_MS);
    // Silence does not tell that a flood is over: look once more.
    if (flooding) this.pacer.later(FLOOD_WINDOW_MS);
  }

  /** Whether the session's size is said now: for a while whenever it, or the terminal's, has changed. */
  private isNoting(): boolean {
    const { rows, cols } = this.session.size;
    const sizes = `${cols}x${rows} ${this.size.cols}x${this.size.rows}`;
    if (sizes !== this.noted) {
      this.noted = sizes;
      clearTimeout(this.noteTimer ?? undefined);
      this.noteTimer = setTimeout(() => {
        this.noteTimer = null;
        this.reconsider();
      }, NOTE_MS);
    }
    return this.noteTimer !== null;
  }

  private drained(): void {
    this.tellKeyboard();
    this.reconsider();
  }

  /** A client that does not read is told when it does. */
  private tellKeyboard(): void {
    const captured = this.session.keyboard.mode === "capture";
    // Who only looks on has no keyboard to take back.
    this.keys.captured = captured && !this.readOnly;
    if (captured === this.toldCaptured || this.peer.outbox.pending > 0 || this.over) return;
    this.toldCaptured = captured;
    this.peer.send(frameTypes.event, { event: "keyboard", captured });
  }

  private typed(bytes: Uint8Array): void {
    if (this.readOnly || this.over) return;
    if (this.session.viewers.acted(this.id)) void this.session.resize();
    const typed = this.mode === "paint" ? forProgram(bytes, this.session, this.painter.offset) : bytes;
    if (typed.length > 0) this.session.typed(this.id, typed);
  }
}
