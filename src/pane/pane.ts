/**
 * A pane: one program on one PTY with the emulator that shows it, its output as text, its command records, waits,
 * activity, state and lifetime. It joins these parts in the order of the stream (marks and retired lines while a chunk
 * is parsed, then the chunk) and does not depend on the session that shows it or on any transport: it reports through
 * `events`. Its cursors only grow, also when the program is restarted.
 */
import { type Clock, systemClock } from "../base/clock.ts";
import { Wait } from "../base/deadline.ts";
import { Emitter } from "../base/emitter.ts";
import { directoryName } from "../platform/directory.ts";
import { foregroundName } from "../platform/foreground.ts";
import { present } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import type { Owner } from "../protocol/owner.ts";
import { firstNumbers } from "../protocol/pane-numbers.ts";
import type { Format } from "../protocol/screen.ts";
import type { PaneInfo, SessionState } from "../protocol/session.ts";
import { hidesTypedText, type PtyExit, type PtyFlags } from "../pty/port.ts";
import type { TextRange } from "../terminal/history/transcript.ts";
import type { Mark, TerminalModel } from "../terminal/model.ts";
import { Activity } from "./activity.ts";
import type { AgentWatch } from "./agent/agent-watch.ts";
import { watchAgent } from "./agent/pane-agent.ts";
import { lastExit } from "./commands/command-records.ts";
import { Commands } from "./commands/commands.ts";
import type { CommandsPort } from "./commands/commands-port.ts";
import { createExecTarget } from "./exec-target.ts";
import { guardSink } from "./guarded-sink.ts";
import { integrationReport } from "./integration-report.ts";
import { PaneLifetime } from "./lifetime.ts";
import { type OutputHold, Program } from "./program.ts";
import { echoesInput, QueryAnswers } from "./query-answers.ts";
import { SecretInput } from "./secret-input.ts";
import type { StateLasting } from "./state/state-lifetime.ts";
import { PaneText } from "./text/terminal-text.ts";
import type { Chunk, PaneEvents, PaneOptions } from "./types.ts";
import { Silence } from "./waiting/silence.ts";
import { PaneWriter } from "./writer.ts";

/** Typed input is rarely longer; a paste's answer is not an echo worth waiting for. */
const KEY_BYTES = 16;

/** ED 2 and home. The pane must not erase the person's own scrollback. */
const ERASE_SCREEN = new TextEncoder().encode("\x1b[2J\x1b[H");

export class Pane {
  readonly events = new Emitter<PaneEvents>();
  readonly activity: Activity;
  readonly silence: Silence;
  readonly commands: Commands;
  /** How the program ends, and starts again. */
  readonly secrets: SecretInput;
  readonly lifetime: PaneLifetime;
  readonly terminal: TerminalModel;
  /** Detects the AI agent that runs here. */
  readonly agent: AgentWatch;
  private readonly clock: Clock;
  private readonly program: Program;
  readonly text: PaneText;
  private readonly queryAnswers: QueryAnswers;
  private readonly childNonces = new Set<string>();
  readonly writer: PaneWriter;

  constructor(private readonly options: PaneOptions) {
    this.clock = options.clock ?? systemClock;
    const { events, clock } = this;
    this.writer = new PaneWriter(clock, options.owner);
    const first = firstNumbers(options.id, options.restored?.numbers);
    this.activity = new Activity(
      clock,
      () => this.noteActivity(),
      first.generation,
      () => this.program.isBehind,
    );
    this.silence = new Silence(clock, this.activity);
    this.program = new Program(
      { ...options, childNonces: this.childNonces, firstOffset: first.cursor },
      guardSink({
        chunk: (chunk) => this.handleChunk(chunk),
        wantsRaw: () => this.commands.wantsRaw,
        mark: (mark) => this.handleMark(mark),
        bell: () => this.handleBell(),
        crashed: (error) => events.emit("crashed", error),
        title: (title) => events.emit("title", title),
        cwd: () => events.emit("listed", undefined),
        alternate: (active) => events.emit("alternate", active),
        clipboard: (selection, base64) => this.handleCopy(selection, base64),
        attention: (attention) => events.emit("attention", attention),
        effect: (effect) => events.emit("effect", effect),
        reset: (reason) => events.emit("reset", reason),
        resizing: () => events.emit("resizing", undefined),
        ahead: (bytes) => events.emit("ahead", bytes),
        input: () => this.commands.noteInputPassed(),
        reply: (bytes) => this.queryAnswers.add(bytes),
        retired: (lines) => this.commands.noteRetired(lines),
        // The start of that line is gone: text printed there next starts another line.
        displacing: () => this.commands.log.noteDisplacing(),
        overwriting: (slice, end) => this.commands.overwritten.noteSlice(slice, end),
        erasedBelow: ({ line, col }) => this.handleErasedBelow(col > 0 ? line + 1 : line),
        onExit: (exit) => {
          options.keyFile?.withdraw();
          this.queryAnswers.drop();
          this.agent.noteExit();
          this.lifetime.handleProgramEnd(exit);
        },
      }),
    );
    this.terminal = this.program.terminal;
    const { restored } = options;
    const before = { first: firstNumbers(options.id).cursor, places: restored?.places ?? [] };
    this.text = new PaneText(this.terminal, restored?.numbers === undefined ? null : before);
    this.agent = watchAgent(options, { clock, events, program: this.program, commands: () => this.commands });
    this.commands = this.createCommands(first.command);
    const { program, commands, silence } = this;
    const isExec = options.isRequested === true && this.runsOneCommand;
    this.queryAnswers = new QueryAnswers({
      clock,
      send: (bytes) => void program.input.send(bytes).catch(() => {}),
      expectsReportedEnd: () => isExec || (!this.runsOneCommand && commands.log.runningCommand?.verified === true),
      wouldEcho: () => isExec && echoesInput(this.flags()),
      state: () => commands.state(),
    });
    const { killGraceMs } = options;
    const restartProgram = (): Promise<void> => this.launch(() => program.restart());
    this.secrets = new SecretInput(program, () => commands.state());
    this.lifetime = new PaneLifetime({ program, commands, silence, clock, events, killGraceMs, restartProgram });
  }

  /** @throws WshError session_create_failed */
  async start(): Promise<void> {
    const { heldMs, restored } = this.options;
    if (heldMs !== undefined) this.lifetime.awaitFollower(heldMs);
    if (restored !== undefined) await this.program.prefill(restored);
    if (this.endedAs === "crashed") this.program.markNeverStarted();
    else await this.launch(() => this.program.start());
  }

  get id(): string {
    return this.options.id;
  }

  /** The command shown in lists. */
  get command(): string {
    return this.options.command;
  }

  get pid(): number | null {
    return this.program.pid;
  }

  /** Null while the program runs. */
  get exit(): PtyExit | null {
    return this.program.exit;
  }

  /** Whether the program is a single command instead of a shell. */
  get runsOneCommand(): boolean {
    return this.options.shell.command !== null;
  }

  /** The directory in which the program was started. */
  get startCwd(): string {
    return directoryName(this.options.spawn.cwd, this.pid);
  }

  /** The directory that the shell reported last, or in which the program was started. */
  get cwd(): string {
    return this.terminal.cwd ?? this.startCwd;
  }

  /** Process group that holds the terminal; null when unknown, or nothing runs. */
  get foreground(): number | null {
    return this.program.foreground();
  }

  /** Modes that the program has set on its terminal; null when unknown. */
  flags(): PtyFlags | null {
    return this.program.flags();
  }

  /** @throws WshError session_ended, with how it ended */
  requireRunning(): void {
    if (this.exit === null) return;
    const { code, signal } = this.exit;
    throw new WshError("session_ended", `the program of pane '${this.id}' has ended`, { exit_code: code, signal });
  }

  info(state: SessionState = this.state()): Omit<PaneInfo, "index" | "active"> {
    const { id, pid, command, cwd } = this;
    const { rows, cols, title } = this.terminal;
    const program = this.exit === null ? foregroundName(this.foreground) : null;
    return {
      id,
      pid,
      command,
      rows,
      cols,
      cwd,
      title,
      state,
      ...present({ program }),
      ...lastExit(this.commands.log.last()),
      ...present({ agent: this.agent.info }),
    };
  }

  /** Of several sizes requested while a chunk is parsed, the last counts. */
  resize(rows: number, cols: number): Promise<void> {
    return this.program.resize(rows, cols);
  }

  /** Until disposed, blocks the program's output as on a stopped terminal. */
  holdOutput(): OutputHold {
    return this.program.holdOutput();
  }

  /** Until disposed, `chunk` is emitted also for what a program draws and draws over in one write. */
  cutAtRedraws(): Disposable {
    return this.program.cutAtRedraws();
  }

  /** @throws WshError session_ended */
  signal(name: NodeJS.Signals, to: "foreground" | "group" | "child"): void {
    this.program.signal(name, to);
  }

  /** Erases history and screen for everything that shows the pane. The person's own scrollback stays. */
  clear(): Promise<void> {
    const { terminal } = this;
    return terminal.whenAtRest(() => {
      void terminal.clear();
      // Relayed terminals get it as the program's own output.
      this.events.emit("chunk", { offset: terminal.offset, bytes: ERASE_SCREEN });
      this.events.emit("cleared", undefined);
    });
  }

  /** Input through an API: counts as activity. @throws WshError session_ended, input_send_failed, payload_too_large */
  async send(bytes: Uint8Array): Promise<void> {
    const { cookedLine } = this.commands;
    cookedLine.requireFits(bytes);
    this.writer.noteSent();
    this.agent.noteInput(bytes);
    this.commands.noteTyping(bytes);
    cookedLine.noteSent(bytes);
    await this.program.send(bytes);
    this.activity.record();
  }

  /**
   * Input of a raw stream: not activity, echo not followed.
   * @param agent owner of the stream; null: no AI agent, and the writer stays the same
   * @throws WshError session_ended, input_send_failed
   */
  sendRaw(bytes: Uint8Array, agent: Owner | null): Promise<void> {
    if (agent !== null) this.writer.noteSent(agent);
    this.agent.noteInput(bytes);
    return this.program.send(bytes);
  }

  /**
   * Keys of an attached terminal.
   * @param flags the program's modes at that time
   * @param byAgent the terminal is an AI agent's: its commands are not a person's, in histories and receipts too
   */
  typed(bytes: Uint8Array, flags: PtyFlags | null, byAgent = false): void {
    this.writer.noteTyped(bytes, byAgent);
    this.agent.noteInput(bytes);
    this.commands.cookedLine.noteUncounted(bytes);
    this.program.noteTyping();
    // The PTY's limit refuses input that a stopped program does not read; a person sees that nothing appears.
    this.program.send(bytes).catch(() => {});
    const note = (): void => this.commands.noteTyping(bytes, flags);
    // Recorded before the answer is parsed, but not before it is shown.
    if (bytes.length <= KEY_BYTES && !hidesTypedText(flags)) this.program.withAnswer(note);
    else note();
  }

  /** Closes the pane: pending waits fail with `gone`, the program's terminal is closed. */
  release(gone: WshError): void {
    this.lifetime.releaseFollowerHold();
    this.silence.dispose(gone);
    this.commands.dispose(gone);
    this.queryAnswers.drop();
    this.agent.dispose();
    this.program.dispose();
  }

  /** The current position in the output; it only increases. */
  get outputCursor(): number {
    return this.terminal.offset;
  }

  /** Like outputCursor for a caller: later changes of the screen count as output since that cursor. */
  giveCursor(): number {
    return this.text.issueCursor();
  }

  /** Resolves when there is output past the cursor, the program has ended, or the time is up. */
  outputAfter(cursor: number, waitMs: number, signal: AbortSignal): Promise<void> {
    if (this.outputCursor > cursor || this.exit !== null || signal.aborted) return Promise.resolve();
    const wait = new Wait<void>({ clock: this.clock, ms: waitMs, signal }, () => {});
    const end = (): void => wait.end();
    wait.own(this.events.on("chunk", end), this.events.on("exited", end));
    return wait.promise;
  }

  /** Logical lines of the normal screen since an output cursor; lines no longer stored count as dropped. */
  textSince(cursor: number, format: Format): TextRange {
    return this.text.textSince(cursor, format);
  }

  /** Whether the shell reports where commands begin and end, and if not, why. */
  integration(): ReturnType<typeof integrationReport> {
    return integrationReport(this.options.shell, this.commands);
  }

  state(): SessionState {
    return this.exit === null ? this.commands.state().state : this.endedAs;
  }

  /** How its end is called: `crashed` when only a crashed process's remains are shown. */
  get endedAs(): "exited" | "crashed" {
    return this.options.restored?.hasCrashed === true ? "crashed" : "exited";
  }

  /** The program's state, and how long it lasts unless an event ends it. */
  stateLasting(): { readonly state: SessionState; readonly lasting: StateLasting } {
    if (this.exit !== null) return { state: this.endedAs, lasting: "reported" };
    const { state, lasting } = this.commands.stateLasting();
    return { state: state.state, lasting };
  }

  private async launch(start: () => Promise<void>): Promise<void> {
    this.options.keyFile?.offer();
    this.beginSingleCommand();
    await start();
  }

  /** A program that is a single command is the first record, from the first byte to the process's end. */
  private beginSingleCommand(): void {
    const { command } = this.options.shell;
    if (command === null) return;
    const { text, commands } = this;
    const mark = {
      verified: true,
      exitCode: null,
      commandLine: command,
      offset: text.offset,
      position: text.position(),
    };
    commands.handleMark({ ...mark, kind: "E" });
    commands.handleMark({ ...mark, kind: "C" });
  }

  private createCommands(lastCommandId: number): Commands {
    const { program, clock, activity, text, terminal, options } = this;
    const cwd = (): string | null => this.cwd;
    const noteSent = (): void => {
      this.writer.noteSent();
    };
    const target = createExecTarget({ program, terminal, options, activity, noteSent, commands: () => this.commands });
    const shellFile = options.shell.integration.active ? options.spawn.file : null;
    const { readFacts } = options;
    const onObserved: CommandsPort["onObserved"] = (facts, state) => this.agent.noteObservation(facts, state);
    const watched = { agent: () => this.agent.info, onObserved };
    const facts = readFacts === undefined ? watched : { ...watched, readFacts };
    const { isRequested = false, spool, commands: limits, newKey = null, restored } = options;
    const kept = { limits, spool, isRequested: isRequested && this.runsOneCommand, restored: restored?.commands ?? [] };
    const shells = { shellFile, newKey, childNonces: this.childNonces, lastCommandId };
    return new Commands({ text, clock, program, target, activity, cwd, ...shells, ...kept, ...facts });
  }

  /** Runs per chunk and per input. */
  private noteActivity(): void {
    this.silence.noteActivity();
    this.events.emit("listed", undefined);
  }

  /** Runs per chunk. */
  private handleChunk(chunk: Chunk): void {
    this.activity.record();
    // Viewers come first: recorded output is for later queries.
    this.events.emit("chunk", chunk);
    this.text.noteChunk();
    this.commands.noteChunk(chunk.raw ?? null);
    this.agent.noteOutput();
    this.queryAnswers.noteOutput();
  }

  private handleMark(mark: Mark): void {
    this.text.notePosition(mark.offset, mark.position);
    const child = this.commands.childShellWith(mark.nonce);
    const verified = child !== null || (mark.nonce !== null && mark.nonce === this.options.nonce);
    if (verified) {
      if (child === null) this.options.keyFile?.withdraw();
      if (mark.kind === "D") this.queryAnswers.drop();
      this.resetModesAtMark(mark.kind);
    }
    const { kind, nonce, exitCode } = mark;
    this.commands.handleMark({
      kind,
      verified,
      child,
      nonce,
      exitCode,
      commandLine: mark.commandLine ?? null,
      params: mark.params,
      offset: mark.offset,
      position: this.text.textPosition(mark.position),
    });
  }

  /** The shell has just regained the terminal, or hands it over: it has set no modes itself. */
  private resetModesAtMark(kind: Mark["kind"]): void {
    const begins = kind === "C" && this.commands.log.phase !== "running";
    if (!begins && kind !== "D") return;
    if (begins) this.terminal.markCommandStart();
    if (this.options.resetModes) this.terminal.resetModesAfterMark();
  }

  /** A shell that edits its line also erases, but no output. */
  private handleErasedBelow(top: number): void {
    if (!["running", "none"].includes(this.commands.log.phase)) return;
    this.text.noteErased(top);
    this.commands.noteErasedBelow(top);
  }

  /** A program's copy is its writer's: an AI agent could otherwise choose by it what a person pastes. */
  private handleCopy(selection: string, base64: string): void {
    const { current } = this.writer;
    const agent = current?.kind === "agent" ? { agent: current.name } : {};
    this.events.emit("clipboard", { selection, base64, ...agent });
  }

  private handleBell(): void {
    this.commands.noteBell();
    this.events.emit("bell", undefined);
  }
}
