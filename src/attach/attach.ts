/**
 * A person's terminal attached to a session: bytes from the session process go to the terminal, keys go back, until one
 * side ends it. Neither direction is buffered without bound: while the terminal does not take its bytes, the session
 * process is not read, and then repaints; while the session process does not take input, keys are not read. In every
 * case the terminal is restored and the person sees how it ended.
 *
 * A session process that could open the terminal itself carries keys and the program's bytes without us, so an echo
 * crosses no other process. It gets the keys once our own questions are answered. Whenever all its bytes are written,
 * it is notified, since only then may it write itself. Rendering, size and restoring remain here.
 *
 * When a person stops us (`kill -TSTP`, `suspend` of a surrounding shell), the session process first releases the
 * restored terminal; back in the foreground, everything is repainted. SIGSTOP leaves no time for that: the session
 * process notices (endpoint/attach/signalled-input.ts), and only the repainting remains.
 */
import * as v from "valibot";
import { isClipboardPacket, KeyReader } from "../keys/reader.ts";
import { AttachEventSchema, type BoundKey, type ScrollbackChoice } from "../protocol/attach.ts";
import { AGAIN_MS, StreamEndSchema } from "../protocol/control.ts";
import { defined, present } from "../protocol/defined.ts";
import { messageJson, messageTypes, type WireMessage } from "../protocol/messages.ts";
import { Connection, type Dial } from "../wire/connection.ts";
import { Copier } from "./clipboard.ts";
import { type Answers, Probe, questionsFor } from "./color-probe.ts";
import { type AttachOutcome, type AttachResult, endSignals, outcomeOf } from "./outcome.ts";
import { OuterTerminal } from "./outer-terminal.ts";
import type { PersonHere } from "./person-settings.ts";
import { type OpenedConnection, type RemoteSession, unreachableNotice, untilBack } from "./reconnect.ts";
import { attachRequest } from "./request.ts";
import { SessionView } from "./view.ts";

/** Bytes pending for the terminal above which the session process is not read. */
const OUTPUT_LIMIT = 256 * 1024;
/** Bytes pending for the session process above which the keyboard is not read. */
const INPUT_LIMIT = 1024 * 1024;
/** Longest wait for the session process's end message, in ms: longer than a busy one needs, too short to be noticed. */
const GOODBYE_MS = 300;
/** Interval between two tries to reach the session that the person goes to, in ms. */
const AGAIN_POLL_MS = 20;
/** Interval between checks whether a queue has emptied, in ms. */
const INPUT_POLL_MS = 5;
/** Time within which a stop takes effect, in ms; after it, never: no process could continue us. */
const STOP_MS = 20;

export interface AttachOptions {
  readonly person: PersonHere;
  /** The AI agent on whose behalf this process attaches; null: a person does. */
  readonly agent: string | null;
  /** Calls back when the settings have changed, for a session on another machine, whose process cannot see that. */
  readonly watch?: ((changed: () => void) => void) | undefined;
  /** Socket of the session process; for another machine's session, a way to reach it. */
  readonly socket: string | Dial;
  /** The session is on another machine, which may stop answering and return later. */
  readonly far?: RemoteSession;
  /** Socket of the session that this process runs in; null outside. */
  readonly around: string | null;
  /** Names of variables that this terminal brings into the session; null: none, to another machine. */
  readonly brings: readonly string[] | null;
  readonly scrollback: ScrollbackChoice;
  readonly altScreen: boolean;
  /** Programs' titles reach the terminal. */
  readonly titles: boolean;
  /** Passes programs' copies to the system's clipboard if the terminal would ignore them. */
  readonly copies: boolean;
  readonly readOnly: boolean;
  /** The end of standard input detaches, except with a command whose end is awaited. */
  readonly detachAtEof: boolean;
  /** Called once, when the first bytes were shown. */
  readonly onShown?: () => void;
  /** With a separate active window, pane and zoom. */
  readonly independent?: boolean;
  readonly follow?: boolean;
  /** Finds the session's socket again, or another session's if the person has switched; null while it has none. */
  readonly again?: (switched: number | null) => Promise<string | Dial | null>;
}

/**
 * Attaches, and resolves when the attachment ends.
 * @throws WshError when the session process refuses: session_not_found, session_unavailable, version_mismatch,
 * resource_limit_reached
 */
export async function attach(options: AttachOptions): Promise<AttachResult> {
  // Connected before the terminal is touched: a refusal is an error message like any other.
  const { connection } = await Connection.open(options.socket, "attach");
  const client = new Client(connection, options);
  let terminalTakes = false;
  let ended: Ended;
  try {
    ended = await client.run();
  } finally {
    terminalTakes = await client.end();
  }
  return { ...ended, terminalTakes };
}

/** Input that was typed before the session moved, to be typed after the move. */
type TypedBefore = BoundKey | { readonly bytes: readonly number[] };

type Ended = Pick<AttachResult, "outcome" | "name">;

class Client {
  private readonly terminal: OuterTerminal;
  private readonly view: SessionView;
  private readonly keys: KeyReader;
  private readonly over = Promise.withResolvers<Ended>();
  private readonly context;
  private readonly probe = new Probe((answers) => this.learned(answers));
  private readonly copier: Copier | null;
  private hasShown = false;
  private opened = false;
  /** Bytes of the program's output since the session process last began to pass through. */
  private passedBytes = 0;
  /** Pictures that the session process has sent. */
  private pictures = 0;
  /** The session process was asked to read the keys. */
  private keysLeft = false;
  /** The process is stopped, or about to be. */
  private away = false;
  /** Number of the session to which the person has switched; null: the one attached first. */
  private switched: number | null = null;
  /** How the person left, while the session process is asked to release the terminal. */
  private leaving: AttachOutcome | null = null;
  /** Input typed while the session moves to another socket; null while it does not. */
  private early: Uint8Array[] | null = null;

  constructor(
    private connection: Connection,
    private readonly options: AttachOptions,
  ) {
    const caller = { kind: "cli", id: `attach:${process.pid}`, connected: true } as const;
    const agent = present({ agent: options.agent });
    this.context = { caller: { ...caller, ...agent }, access: "admin" } as const;
    this.terminal = new OuterTerminal({ altScreen: options.altScreen, titles: options.titles });
    this.copier = options.copies && !options.readOnly ? Copier.for(process.env) : null;
    const { person } = options;
    this.view = new SessionView(this.terminal, { ...person.caps, altScreen: options.altScreen });
    options.watch?.(() => void this.reread());
    this.keys = new KeyReader(person, {
      forward: (bytes) => this.typed(bytes),
      // The session requested a packet of the clipboard.
      reply: (bytes) => (isClipboardPacket(bytes) ? this.typed(bytes) : this.probe.reply(bytes)),
      detach: () => this.leave({ kind: "detached" }),
      help: (table) => this.tell("peer.help", table === null ? { shown: false } : { shown: true, table }),
      bound: ({ table, key, raw }) => this.tell("peer.command", { table, key, bytes: [...raw] }),
      release: () => void ["input.release", "peer.give_back"].map((each) => this.tell(each, {})),
    });
  }

  async run(): Promise<Ended> {
    const { terminal } = this;
    terminal.output.onDrain = () => {
      if (this.away) return;
      this.connection.resume();
      this.view.renderLatest();
      this.written();
    };
    terminal.output.onGone = () => this.leave({ kind: "signalled", signal: "SIGHUP" });
    for (const signal of endSignals) {
      process.on(signal, () => {
        this.leave({ kind: "signalled", signal });
        terminal.signalled();
      });
    }
    process.on("SIGTSTP", this.stop);
    process.on("SIGCONT", () => this.continued());
    this.begin(this.connection, this.options.scrollback);
    terminal.watchSize(() => this.connection.send(messageTypes.resize, this.view.resized()));
    if (terminal.answers) {
      terminal.output.write(this.probe.ask(questionsFor(process.env, terminal.size)));
    }
    void terminal.read({ bytes: (bytes) => this.pressed(bytes), ended: () => this.inputEnded() });
    return this.over.promise;
  }

  private begin(connection: Connection, scrollback: ScrollbackChoice): void {
    const { terminal, options } = this;
    this.connection = connection;
    connection.listen({
      message: (message) => {
        if (connection === this.connection) this.receive(message);
      },
      close: () => {
        if (connection === this.connection) this.lost();
      },
    });
    const copies = this.copier !== null;
    const input = attachRequest({ ...options, scrollback, copies, size: terminal.size, device: terminal.device });
    const attached = connection.request("peer.attach", input, this.context);
    // Refusals matter; the end of a lost connection is reported elsewhere.
    attached.catch((error) => {
      if (!connection.isClosed && connection === this.connection) this.over.reject(error);
    });
  }

  /** The connection has ended without an end message. */
  private lost(): void {
    const { far, again } = this.options;
    if (this.leaving !== null || again === undefined || far === undefined) {
      this.over.resolve({ outcome: this.leaving ?? outcomeOf(null), name: null });
    } else void this.comeBack(far, () => again(this.switched));
  }

  /** Attaches again when the session's machine answers; input in the meantime is dropped. */
  private async comeBack(far: RemoteSession, find: () => Promise<string | Dial | null>): Promise<void> {
    const { terminal } = this;
    this.early = [];
    try {
      const opened = await untilBack(far, find, {
        isOver: () => this.leaving !== null,
        say: (text) => terminal.output.write(unreachableNotice(text, terminal.size)),
      });
      if (opened !== null) this.takeUp(opened);
    } catch {
      // The machine answers, but the session is gone.
      this.over.resolve({ outcome: outcomeOf(null), name: null });
    }
  }

  private takeUp({ connection }: OpenedConnection): void {
    this.opened = false;
    this.passedBytes = 0;
    this.pictures = 0;
    this.view.forget();
    this.begin(connection, "none");
    this.early = null;
  }

  private async goOn(find: () => Promise<string | Dial | null>, typed: readonly TypedBefore[] = []): Promise<void> {
    const early: Uint8Array[] = [];
    this.early = early;
    const until = performance.now() + AGAIN_MS;
    for (;;) {
      const socket = await find();
      const opened = socket === null ? null : await Connection.open(socket, "attach").catch(() => null);
      if (this.leaving !== null) {
        opened?.connection.close();
        return;
      }
      if (opened !== null) {
        this.takeUp(opened);
        for (const each of typed) {
          if ("key" in each) this.tell("peer.command", each);
          else this.typed(Uint8Array.from(each.bytes));
        }
        for (const bytes of early) this.typed(bytes);
        return;
      }
      if (performance.now() > until) break;
      await Bun.sleep(AGAIN_POLL_MS);
    }
    this.early = null;
    this.over.resolve({ outcome: this.leaving ?? outcomeOf(null), name: null });
  }

  /** @returns whether the terminal has taken everything */
  async end(): Promise<boolean> {
    this.connection.close();
    this.keys.dispose();
    this.view.renderLatest();
    await this.probe.settled();
    return await this.terminal.restore();
  }

  private receive(message: WireMessage): void {
    switch (message.type) {
      case messageTypes.output:
        this.view.output(message.payload);
        this.passedBytes += message.payload.length;
        this.written();
        break;
      case messageTypes.frame:
      case messageTypes.images:
        this.pictures++;
        if (this.view.picture(message)) this.written();
        break;
      case messageTypes.event:
        this.event(messageJson(message));
        return;
      case messageTypes.end: {
        const end = v.parse(StreamEndSchema, messageJson(message));
        const outcome = end.reason === "detached" ? (this.leaving ?? outcomeOf(end)) : outcomeOf(end);
        this.over.resolve({ outcome, name: end.name ?? null });
        return;
      }
      default:
        return;
    }
    if (this.terminal.output.pending > OUTPUT_LIMIT) this.connection.pause();
    if (!this.hasShown) {
      this.hasShown = true;
      this.options.onShown?.();
    }
  }

  private event(value: unknown): void {
    const event = v.safeParse(AttachEventSchema, value);
    if (!event.success) return;
    if (event.output.event === "pass_through") this.passedBytes = this.view.passThroughBegins();
    else if (event.output.event === "opened") {
      this.opened = true;
      if (event.output.keys) void this.leaveKeys();
    } else if (event.output.event === "settings") void this.reread();
    else if (event.output.event === "copied") this.copier?.copy(event.output.base64);
    else if (event.output.event === "alert") this.terminal.output.write(new TextEncoder().encode(event.output.text));
    else if (event.output.event === "changed") this.terminal.changed(event.output.changes);
    else if (event.output.event === "images") this.terminal.images = event.output.ids;
    else if (event.output.event === "moved") {
      const { connection } = this;
      const { socket, typed, session } = event.output;
      const { far, again } = this.options;
      this.terminal.removeImages();
      this.switched = session ?? this.switched;
      connection.listen({});
      connection.close();
      // The path is another machine's: the session's process there is found by its id.
      const isFar = far !== undefined && again !== undefined;
      void this.goOn(isFar ? () => again(this.switched) : async () => socket, typed);
    }
    // A read-only terminal has no keyboard to take back.
    else if (event.output.event === "keyboard") this.keys.captured = event.output.captured && !this.options.readOnly;
  }

  /** Not awaited: its result appears on the screen. */
  private tell(operation: string, input: unknown): void {
    this.connection.request(operation, input, this.context).catch(() => {});
  }

  private learned({
    colors,
    depth,
    widths,
    keyboardFlags,
    graphics = false,
    sixel = false,
    images = false,
  }: Answers): void {
    this.terminal.keyboardFlags = keyboardFlags ?? 0;
    const styles = this.options.person.styles(depth);
    const cell = colors?.cell ?? this.terminal.cell;
    const found = { kitty: keyboardFlags !== undefined, graphics: graphics && styles.colors === "truecolor" };
    const isSixel = sixel && !found.graphics && this.view.showSixel(cell);
    this.tell("peer.colors", { ...colors, ...found, images, sixel: isSixel, ...defined({ cell }) });
    this.view.learn({ ...styles, ...defined({ widths }) });
  }

  private async reread(): Promise<void> {
    this.tell("peer.settings", await this.options.person.reread());
    this.view.learn(this.options.person.styles());
  }

  private readonly stop = (): void => void this.stopHere();

  private async stopHere(): Promise<void> {
    if (this.away || this.leaving !== null) return;
    this.away = true;
    const released = this.connection.request("peer.release", {}, this.context).catch(() => {});
    await Promise.race([released, Bun.sleep(GOODBYE_MS)]);
    this.connection.pause();
    await this.probe.settled();
    await this.terminal.giveBack();
    // Stops as if wsh were not here; a session leader is not stopped, since no process could continue it.
    process.off("SIGTSTP", this.stop);
    process.kill(process.pid, "SIGTSTP");
    await Bun.sleep(STOP_MS);
    process.on("SIGTSTP", this.stop);
    if (this.away) this.continued();
  }

  /** The terminal's contents are now unknown, and the session process does not write to it. */
  private continued(): void {
    const { connection, terminal } = this;
    terminal.takeAgain();
    this.away = false;
    this.view.forget();
    connection.send(messageTypes.resize, terminal.size);
    if (this.keysLeft) this.tell("peer.keys", {});
    connection.resume();
  }

  /** The terminal has taken everything that the session process sent. */
  private written(): void {
    const { opened, away, passedBytes, pictures, terminal } = this;
    if (opened && !away && passedBytes + pictures > 0 && terminal.output.pending === 0) {
      this.tell("peer.written", { bytes: passedBytes, pictures });
    }
  }

  /** From now on the session process reads the keys; an unfinished input sequence is completed here first. */
  private async leaveKeys(): Promise<void> {
    if (this.terminal.answers) await this.probe.answers();
    while (!this.keys.isAtRest && !this.connection.isClosed) await Bun.sleep(INPUT_POLL_MS);
    if (this.leaving !== null || this.connection.isClosed) return;
    await this.terminal.stopReading();
    this.keysLeft = true;
    // From now on the connection carries little, and a person may stay for days.
    this.connection.rest();
    // Not while another process has the terminal; the request is then sent on return.
    if (!this.away) this.tell("peer.keys", {});
  }

  /** @returns a promise while the session process does not take its input */
  private pressed(bytes: Uint8Array): Promise<void> | null {
    this.keys.push(bytes);
    return this.connection.pending > INPUT_LIMIT ? this.untilTaken() : null;
  }

  private async untilTaken(): Promise<void> {
    while (this.connection.pending > INPUT_LIMIT && !this.connection.isClosed) await Bun.sleep(INPUT_POLL_MS);
  }

  private typed(bytes: Uint8Array): void {
    if (this.options.readOnly || this.leaving !== null) return;
    if (this.early !== null) this.early.push(bytes);
    else this.connection.sendBytes(messageTypes.input, bytes);
  }

  private inputEnded(): void {
    if (this.options.detachAtEof) this.leave({ kind: "detached" });
  }

  /**
   * The session process removes its drawings from the screen and sends the end message; a hanging one is not awaited.
   */
  private leave(outcome: AttachOutcome): void {
    if (this.leaving !== null) return;
    this.leaving = outcome;
    this.connection.send(messageTypes.end, {});
    setTimeout(() => this.over.resolve({ outcome, name: null }), GOODBYE_MS).unref();
  }
}
