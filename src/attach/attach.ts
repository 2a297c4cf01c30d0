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
 * process notices (viewer/terminal/signalled-input.ts), and only the repainting remains.
 */
import * as v from "valibot";
import { isClipboardPacket, KeyReader } from "../keys/reader.ts";
import { AttachEventSchema, type ScrollbackChoice } from "../protocol/attach.ts";
import { AGAIN_MS, StreamEndSchema } from "../protocol/control.ts";
import { defined, present } from "../protocol/defined.ts";
import { messageJson, messageTypes, type WireMessage } from "../protocol/messages.ts";
import { Connection, type Dial } from "../wire/connection.ts";
import { ClipboardCopier } from "./clipboard.ts";
import { type EarlyInput, HeldInput } from "./held-input.ts";
import { type AttachOutcome, type AttachResult, endSignals, toOutcome } from "./outcome.ts";
import { OuterTerminal } from "./outer-terminal.ts";
import type { LivePersonSettings } from "./person-settings.ts";
import { type OpenedConnection, type RemoteSession, reconnect, unreachableNotice } from "./reconnect.ts";
import { buildAttachRequest } from "./request.ts";
import { type Answers, questionsFor, TerminalProbe } from "./terminal-probe.ts";
import { SessionView } from "./view.ts";

/** Bytes pending for the terminal above which the session process is not read. */
const OUTPUT_LIMIT = 256 * 1024;
/** Bytes pending for the session process above which the keyboard is not read. */
const INPUT_LIMIT = 1024 * 1024;
/** Longest wait for the session process's end message, in ms: longer than a busy one needs, too short to be noticed. */
const END_MESSAGE_MS = 300;
/** Interval between two tries to reach the session that the person goes to, in ms. */
const FIND_POLL_MS = 20;
/** Interval between checks whether a queue has emptied, in ms. */
const INPUT_POLL_MS = 5;
/** Time within which a stop takes effect, in ms; after it, never: no process could continue us. */
const STOP_MS = 20;

export interface AttachOptions {
  readonly person: LivePersonSettings;
  /** The AI agent on whose behalf this process attaches; null: a person does. */
  readonly agent: string | null;
  /** Calls back when the settings have changed, for a session on another machine, whose process cannot see that. */
  readonly watch?: ((changed: () => void) => void) | undefined;
  /** Socket of the session process; for another machine's session, a way to reach it. */
  readonly socket: string | Dial;
  /** The session is on another machine, which may stop answering and return later. */
  readonly remoteSession?: RemoteSession;
  /** Socket of the session that this process runs in; null outside. */
  readonly around: string | null;
  /** Names of variables that this terminal brings into the session; null: none, to another machine. */
  readonly broughtNames: readonly string[] | null;
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
  readonly findSocket?: (switched: number | null) => Promise<string | Dial | null>;
}

/**
 * Attaches, and resolves when the attachment ends.
 * @throws WshError when the session process refuses: session_not_found, session_unavailable, version_mismatch,
 * resource_limit_reached
 */
export async function attach(options: AttachOptions): Promise<AttachResult> {
  // Connected before the terminal is touched: a refusal is an error message like any other.
  const { connection } = await Connection.open(options.socket, "attach");
  const client = new AttachClient(connection, options);
  let terminalTookAll = false;
  let ended: AttachEnd;
  try {
    ended = await client.run();
  } finally {
    terminalTookAll = await client.end();
  }
  return { ...ended, terminalTookAll };
}

type AttachEnd = Pick<AttachResult, "outcome" | "name">;

class AttachClient {
  private readonly terminal: OuterTerminal;
  private readonly view: SessionView;
  private readonly keys: KeyReader;
  private readonly result = Promise.withResolvers<AttachEnd>();
  private readonly context;
  private readonly probe = new TerminalProbe((answers) => this.applyAnswers(answers));
  private readonly copier: ClipboardCopier | null;
  private hasShown = false;
  private canSessionWrite = false;
  /** Bytes of the program's output that the session process has passed through. */
  private passedBytes = 0;
  /** Pictures that the session process has sent. */
  private pictures = 0;
  /** The session process was asked to read the keys, which are not read here. */
  private sessionReadsKeys = false;
  /** The process is stopped, or about to be. */
  private isStopped = false;
  /** Number of the session to which the person has switched; null: the one attached first. */
  private switchedSession: number | null = null;
  /** How the person left, while the session process is asked to release the terminal. */
  private leavingOutcome: AttachOutcome | null = null;
  /** The terminal's answers to our questions; null before they are complete. */
  private answers: Answers | null = null;
  /** Holds input while the terminal has no session process. */
  private readonly input = new HeldInput({
    type: (bytes) => this.connection.sendBytes(messageTypes.input, bytes),
    press: (key) => this.sendRequest("peer.command", key),
  });

  constructor(
    private connection: Connection,
    private readonly options: AttachOptions,
  ) {
    const caller = { kind: "cli", id: `attach:${process.pid}`, connected: true } as const;
    const agent = present({ agent: options.agent });
    this.context = { caller: { ...caller, ...agent }, access: "admin" } as const;
    this.terminal = new OuterTerminal({ altScreen: options.altScreen, titles: options.titles });
    this.copier = options.copies && !options.readOnly ? ClipboardCopier.forEnvironment(process.env) : null;
    const { person } = options;
    this.view = new SessionView(this.terminal, { ...person.caps, altScreen: options.altScreen });
    options.watch?.(() => void this.rereadSettings());
    this.keys = new KeyReader(person, {
      forward: (bytes) => this.sendInput(bytes),
      // The session requested a packet of the clipboard.
      reply: (bytes) => (isClipboardPacket(bytes) ? this.sendInput(bytes) : this.probe.handleReply(bytes)),
      detach: () => this.leave({ kind: "detached" }),
      showHelp: (table) => this.sendRequest("peer.help", table === null ? { shown: false } : { shown: true, table }),
      pressTableKey: ({ table, key, raw }) => this.input.press({ table, key, bytes: [...raw] }),
      release: () => void ["input.release", "peer.give_back"].map((each) => this.sendRequest(each, {})),
    });
  }

  async run(): Promise<AttachEnd> {
    const { terminal } = this;
    terminal.output.onDrain = () => {
      if (this.isStopped) return;
      this.connection.resume();
      this.view.renderLatest();
      this.reportWritten();
    };
    terminal.output.onGone = () => this.leave({ kind: "signalled", signal: "SIGHUP" });
    for (const signal of endSignals) {
      process.on(signal, () => {
        this.leave({ kind: "signalled", signal });
        terminal.stopWaiting();
      });
    }
    process.on("SIGTSTP", this.onStopSignal);
    process.on("SIGCONT", () => this.resumeAfterStop());
    this.startStream(this.connection, this.options.scrollback);
    terminal.watchSize(() => this.connection.send(messageTypes.resize, this.view.resized()));
    if (terminal.canAnswer) {
      terminal.output.write(this.probe.buildQuestions(questionsFor(process.env, terminal.size)));
    }
    this.readKeys();
    return this.result.promise;
  }

  private readKeys(): void {
    this.sessionReadsKeys = false;
    void this.terminal.read({ bytes: (bytes) => this.handleInput(bytes), ended: () => this.handleInputEnd() });
  }

  private startStream(connection: Connection, scrollback: ScrollbackChoice): void {
    const { terminal, options } = this;
    this.connection = connection;
    connection.listen({
      message: (message) => {
        if (connection === this.connection) this.receive(message);
      },
      close: () => {
        if (connection === this.connection) this.handleLostConnection();
      },
    });
    const copies = this.copier !== null;
    const input = buildAttachRequest({ ...options, scrollback, copies, size: terminal.size, device: terminal.device });
    const attached = connection.request("peer.attach", input, this.context);
    // Refusals matter; the end of a lost connection is reported elsewhere.
    attached.catch((error) => {
      if (!connection.isClosed && connection === this.connection) this.result.reject(error);
    });
  }

  /** The connection has ended without an end message. */
  private handleLostConnection(): void {
    const { remoteSession, findSocket } = this.options;
    if (this.leavingOutcome !== null || findSocket === undefined || remoteSession === undefined) {
      this.result.resolve({ outcome: this.leavingOutcome ?? toOutcome(null), name: null });
    } else void this.reconnectRemote(remoteSession, () => findSocket(this.switchedSession));
  }

  /** Attaches again when the session's machine answers; input in the meantime is dropped. */
  private async reconnectRemote(session: RemoteSession, find: () => Promise<string | Dial | null>): Promise<void> {
    const { terminal } = this;
    this.input.hold();
    try {
      const opened = await reconnect(session, find, {
        isOver: () => this.leavingOutcome !== null,
        say: (text) => terminal.output.write(unreachableNotice(text, terminal.size)),
      });
      if (opened !== null) this.adoptConnection(opened);
      this.input.drop();
    } catch {
      // The machine answers, but the session is gone.
      this.result.resolve({ outcome: toOutcome(null), name: null });
    }
  }

  private adoptConnection({ connection }: OpenedConnection): void {
    this.canSessionWrite = false;
    this.passedBytes = 0;
    this.pictures = 0;
    this.view.forget();
    this.terminal.removeImages();
    this.startStream(connection, "none");
    if (this.answers !== null) this.reportAnswers(this.answers);
  }

  private async followSession(
    find: () => Promise<string | Dial | null>,
    typed: readonly EarlyInput[] = [],
  ): Promise<void> {
    this.input.hold();
    const until = performance.now() + AGAIN_MS;
    for (;;) {
      const socket = await find();
      const opened = socket === null ? null : await Connection.open(socket, "attach").catch(() => null);
      if (this.leavingOutcome !== null) {
        opened?.connection.close();
        return;
      }
      if (opened !== null) {
        this.adoptConnection(opened);
        this.input.deliver(typed);
        return;
      }
      if (performance.now() > until) break;
      await Bun.sleep(FIND_POLL_MS);
    }
    this.result.resolve({ outcome: this.leavingOutcome ?? toOutcome(null), name: null });
  }

  /** @returns whether the terminal has taken everything */
  async end(): Promise<boolean> {
    this.connection.close();
    this.keys.dispose();
    this.view.renderLatest();
    await this.probe.waitForLastAnswer();
    return await this.terminal.restore();
  }

  private receive(message: WireMessage): void {
    switch (message.type) {
      case messageTypes.output:
        this.view.output(message.payload);
        this.passedBytes += message.payload.length;
        this.reportWritten();
        break;
      case messageTypes.frame:
      case messageTypes.images:
        this.pictures++;
        if (this.view.showPicture(message)) this.reportWritten();
        break;
      case messageTypes.event:
        this.handleEvent(messageJson(message));
        return;
      case messageTypes.end: {
        const end = v.parse(StreamEndSchema, messageJson(message));
        const outcome = end.reason === "detached" ? (this.leavingOutcome ?? toOutcome(end)) : toOutcome(end);
        this.result.resolve({ outcome, name: end.name ?? null });
        return;
      }
      default:
        return;
    }
    if (this.terminal.output.pending > OUTPUT_LIMIT) this.connection.pause();
    // Unlike the process before it, this one could not open the terminal (in a container): it would have said so first.
    if (this.sessionReadsKeys && !this.canSessionWrite) this.readKeys();
    if (!this.hasShown) {
      this.hasShown = true;
      this.options.onShown?.();
    }
  }

  private handleEvent(value: unknown): void {
    const event = v.safeParse(AttachEventSchema, value);
    if (!event.success) return;
    if (event.output.event === "pass_through") this.view.beginPassThrough();
    else if (event.output.event === "opened") {
      this.canSessionWrite = true;
      if (event.output.keys) void this.handOverKeys();
    } else if (event.output.event === "settings") void this.rereadSettings();
    else if (event.output.event === "copied") this.copier?.copy(event.output.base64);
    else if (event.output.event === "alert") this.terminal.output.write(new TextEncoder().encode(event.output.text));
    else if (event.output.event === "changed") this.terminal.recordChanges(event.output.changes);
    else if (event.output.event === "images") this.terminal.images = event.output.ids;
    else if (event.output.event === "moved") {
      const { connection } = this;
      const { socket, typed, session } = event.output;
      const { remoteSession, findSocket } = this.options;
      this.switchedSession = session ?? this.switchedSession;
      connection.listen({});
      connection.close();
      // The path is another machine's: the session's process there is found by its id.
      const isRemote = remoteSession !== undefined && findSocket !== undefined;
      void this.followSession(isRemote ? () => findSocket(this.switchedSession) : async () => socket, typed);
    }
    // A read-only terminal has no keyboard to take back.
    else if (event.output.event === "keyboard") this.keys.captured = event.output.captured && !this.options.readOnly;
  }

  /** Not awaited: its result appears on the screen. */
  private sendRequest(operation: string, input: unknown): void {
    this.connection.request(operation, input, this.context).catch(() => {});
  }

  private applyAnswers(answers: Answers): void {
    const { depth, widths, keyboardFlags = 0 } = answers;
    this.answers = answers;
    this.terminal.keyboardFlags = keyboardFlags;
    const styles = this.options.person.styles(depth);
    this.reportAnswers(answers);
    this.view.learn({ ...styles, ...defined({ widths }) });
  }

  /** Reports the terminal's answers to the session process, which is another one after a move or a lost connection. */
  private reportAnswers({ colors, depth, keyboardFlags, graphics, sixel, images = false }: Answers): void {
    const cell = colors?.cell ?? this.terminal.cell;
    const hasTrueColor = this.options.person.styles(depth).colors === "truecolor";
    const abilities = { kitty: keyboardFlags !== undefined, graphics: graphics === true && hasTrueColor, images };
    const isSixel = sixel === true && !abilities.graphics && this.view.showSixel(cell);
    this.sendRequest("peer.colors", { ...colors, ...abilities, sixel: isSixel, ...defined({ cell }) });
  }

  private async rereadSettings(): Promise<void> {
    this.sendRequest("peer.settings", await this.options.person.reread());
    this.view.learn(this.options.person.styles());
  }

  private readonly onStopSignal = (): void => void this.suspend();

  private async suspend(): Promise<void> {
    if (this.isStopped || this.leavingOutcome !== null) return;
    this.isStopped = true;
    const released = this.connection.request("peer.release", {}, this.context).catch(() => {});
    await Promise.race([released, Bun.sleep(END_MESSAGE_MS)]);
    this.connection.pause();
    await this.probe.waitForLastAnswer();
    await this.terminal.handOver();
    // Stops as if wsh were not here; a session leader is not stopped, since no process could continue it.
    process.off("SIGTSTP", this.onStopSignal);
    process.kill(process.pid, "SIGTSTP");
    await Bun.sleep(STOP_MS);
    process.on("SIGTSTP", this.onStopSignal);
    if (this.isStopped) this.resumeAfterStop();
  }

  /** The terminal's contents are now unknown, and the session process does not write to it. */
  private resumeAfterStop(): void {
    const { connection, terminal } = this;
    terminal.takeBack();
    this.isStopped = false;
    this.view.forget();
    connection.send(messageTypes.resize, terminal.size);
    if (this.sessionReadsKeys) this.sendRequest("peer.keys", {});
    connection.resume();
  }

  /** The terminal has taken everything that the session process sent. */
  private reportWritten(): void {
    const { canSessionWrite, isStopped, passedBytes, pictures, terminal } = this;
    if (canSessionWrite && !isStopped && passedBytes + pictures > 0 && terminal.output.pending === 0) {
      this.sendRequest("peer.written", { bytes: passedBytes, pictures });
    }
  }

  /** From now on the session process reads the keys; an unfinished input sequence is completed here first. */
  private async handOverKeys(): Promise<void> {
    const { connection } = this;
    if (this.terminal.canAnswer) await this.probe.waitForAnswers();
    while (!this.keys.isAtRest && !connection.isClosed) await Bun.sleep(INPUT_POLL_MS);
    if (this.leavingOutcome !== null || connection.isClosed) return;
    await this.terminal.stopReading();
    this.sessionReadsKeys = true;
    // From now on the connection carries little, and a person may stay for days.
    connection.rest();
    // Not while another process has the terminal; the request is then sent on return.
    if (!this.isStopped) this.sendRequest("peer.keys", {});
  }

  /** @returns a promise while the session process does not take its input */
  private handleInput(bytes: Uint8Array): Promise<void> | null {
    this.keys.push(bytes);
    return this.connection.pending > INPUT_LIMIT ? this.waitUntilTaken() : null;
  }

  private async waitUntilTaken(): Promise<void> {
    while (this.connection.pending > INPUT_LIMIT && !this.connection.isClosed) await Bun.sleep(INPUT_POLL_MS);
  }

  private sendInput(bytes: Uint8Array): void {
    if (this.options.readOnly || this.leavingOutcome !== null) return;
    this.input.type(bytes);
  }

  private handleInputEnd(): void {
    if (this.options.detachAtEof) this.leave({ kind: "detached" });
  }

  /**
   * The session process removes its drawings from the screen and sends the end message; a hanging one is not awaited.
   */
  private leave(outcome: AttachOutcome): void {
    if (this.leavingOutcome !== null) return;
    this.leavingOutcome = outcome;
    this.connection.send(messageTypes.end, {});
    setTimeout(() => this.result.resolve({ outcome, name: null }), END_MESSAGE_MS).unref();
  }
}
