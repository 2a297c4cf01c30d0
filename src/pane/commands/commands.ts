/**
 * Tracks the commands of a pane's program. It owns the command records, the echo of input, the observer of
 * the program's state, the waits, exec and run; the pane feeds it events in stream order: marks and retired
 * lines while a chunk is parsed, `noteChunk` after it. Input is announced before it is written.
 */

import { isOnProcessor, readTerminalReader, type TerminalReader } from "../../platform/foreground.ts";
import { platform } from "../../platform/platform.ts";
import { ShellImage } from "../../platform/process-image.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import type { Caller } from "../../protocol/caller.ts";
import { defined } from "../../protocol/defined.ts";
import type { WshError } from "../../protocol/errors.ts";
import { agentOfCaller } from "../../protocol/owner.ts";
import type { PtyExit } from "../../pty/port.ts";
import { hidesTypedText } from "../../pty/port.ts";
import { inactiveReason, shellKind } from "../../shell/plan.ts";
import { CookedLine } from "../cooked-line.ts";
import type { InputHold } from "../input-gate.ts";
import { OverwrittenTexts } from "../output/overwritten.ts";
import { RawOutputs } from "../output/raw-outputs.ts";
import { Spools } from "../output/spool.ts";
import type { IntegratedShell, ShellMark } from "../ports.ts";
import type { ProgramState } from "../state/classify.ts";
import { StateObserver } from "../state/observer.ts";
import { isLine } from "../state/reading.ts";
import { InputSubmitter } from "../submits.ts";
import { EchoTracker } from "../text/echo.ts";
import type { RetiredLines } from "../text/text.ts";
import type { LookAt } from "../waiting/port-watch.ts";
import { Waiters, type WaitOutcome, type WaitRequest } from "../waiting/waiters.ts";
import { AskingDetector } from "./asking.ts";
import { type ChildShell, ChildShells } from "./child-shells.ts";
import { CommandFollower, type FollowSink } from "./command-follower.ts";
import { CommandLog } from "./command-log.ts";
import { CommandStarts } from "./command-starts.ts";
import { type CommandsPort, defaultCommandLimits } from "./commands-port.ts";
import { Exec, type ExecOutcome } from "./exec.ts";
import type { ExecRequest } from "./exec-port.ts";
import { hideKey, LineEditor } from "./line-editor.ts";
import { type LineOffer, type LineOfferPort, offerLine } from "./line-offer.ts";
import { LostEcho } from "./lost-echo.ts";
import { type RunOutcome, type RunRequest, Runs } from "./run.ts";
import type { Leader, StopMethod } from "./stop.ts";

/**
 * Delays of the checks whether a running command has replaced the shell, each in ms after the previous one:
 * most do so at once.
 */
const SHELL_CHECK_DELAYS_MS = [50, 250, 1_000, 5_000] as const;

/**
 * Exit codes of shells that end themselves after a hangup, in the middle of a command. They do not describe the
 * command: zsh's `exit 1` looks the same, and fish reports its `exit` by a mark. bash ends by the signal.
 */
const hangupCodes: Readonly<Record<IntegratedShell, number | null>> = { bash: null, zsh: 1, fish: 0 };

export class Commands {
  readonly log: CommandLog;
  readonly observer: StateObserver;
  readonly echo: EchoTracker;
  /** Input of callers to a program that reads lines. */
  readonly cookedLine: CookedLine;
  private readonly waiters: Waiters;
  private readonly editor: LineEditor;
  private readonly execRunner: Exec;
  private readonly runRunner: Runs;
  private readonly linePort: LineOfferPort;
  private readonly followers = new Set<CommandFollower>();
  private readonly shellImage: ShellImage;
  private readonly childShells: ChildShells;
  private readonly spools: Spools | null;
  readonly submits: InputSubmitter;
  readonly rawOutputs: RawOutputs;
  readonly overwritten: OverwrittenTexts;
  readonly lostEcho: LostEcho;
  private inactiveReasonText: string | null = null;

  constructor(private readonly port: CommandsPort) {
    const { text, clock, program, target, activity, limits = defaultCommandLimits, readFacts } = port;
    const cwd = (): string | null => this.cwd();
    const shellHoldsTerminal = (child: ChildShell | null): boolean | null => {
      const group = program.foreground();
      const pid = child === null ? program.pid : child.pid;
      return group === null || pid === null ? null : group === pid;
    };
    this.childShells = new ChildShells(port.childNonces ?? new Set());
    this.spools = port.spool === null || port.spool === undefined ? null : new Spools(port.spool);
    const isRequested = (): boolean => port.isRequested === true || this.runRunner.isPending;
    const { restored = [], lastCommandId = 0 } = port;
    // The shell's directory at its prompt: a quick command has left the directory by now.
    const startCwd = (): string | null => port.cwd() ?? this.cwd();
    const flags = () => program.flags();
    const readsKeys = (): boolean | null => {
      const modes = flags();
      return modes === null ? null : !modes.canonical;
    };
    const shellReads = (child: ChildShell | null): boolean | null => {
      const pid = child === null ? program.pid : child.pid;
      return pid === null ? null : (readTerminalReader(pid)?.reading ?? null);
    };
    const shell = { cwd: startCwd, shellHoldsTerminal, readsKeys, shellReads, isBehind: () => program.isBehind };
    this.log = new CommandLog(
      { text, clock, ...shell, spools: this.spools, isRequested, restored, lastCommandId },
      limits,
    );
    this.rawOutputs = new RawOutputs(this.log);
    this.shellImage = new ShellImage({ pid: () => program.pid, file: this.port.shellFile ?? null });
    this.echo = new EchoTracker(text, clock);
    this.cookedLine = new CookedLine(flags);
    this.observer = new StateObserver({
      program,
      text,
      clock,
      shell: this.log,
      shellPid: () => this.shellPid,
      echoPending: () => this.echo.isPending,
      checkShell: () => this.checkShell(),
      awaitsPrompt: () => target.shell !== null && target.replacedBy === null && !this.log.isActive,
      ...defined({ onObserved: port.onObserved, readFacts }),
    });
    const { log, observer, echo } = this;
    const reader = (): TerminalReader | null =>
      // Replaced facts include none from the kernel.
      this.shellPid === null || readFacts !== undefined ? null : readTerminalReader(this.shellPid);
    const quietMs = (): number => observer.quietMs();
    this.lostEcho = new LostEcho({ target, log, flags, reader, quietMs, offset: () => text.offset });
    this.overwritten = new OverwrittenTexts({ text, flags: () => this.lostEcho.noteFlags(flags()), log });
    const parts = { text, clock, log, observer, echo };
    const starts = new CommandStarts(program, this.log);
    const processes = (commandId: number | undefined): ReturnType<CommandStarts["anchor"]> => starts.anchor(commandId);
    const lookAtPort: LookAt = () => ({ kind: "unsupported", reason: "the kernel does not report it" });
    const ports = readFacts === undefined ? { processes } : { processes, lookAtPort };
    const isComputing = (): boolean => readFacts === undefined && isOnProcessor(program.foreground());
    this.waiters = new Waiters({
      ...parts,
      isComputing,
      overwritten: this.overwritten,
      activity,
      ...ports,
      agent: port.agent,
      limit: limits.waiters,
    });
    this.log.on({
      started: ({ id }) => {
        target.typed.reset();
        this.scheduleShellCheck(id, 0);
      },
      prompt: () => target.typed.notePrompt(target.shell !== "fish"),
    });
    this.editor = new LineEditor({
      target,
      log: this.log,
      flags,
      reader,
      isComputing,
      quietMs,
      offset: () => text.offset,
    });
    const send = (bytes: Uint8Array, hold: InputHold): Promise<void> => this.send(bytes, (text) => hold.write(text));
    const leader = (): Leader | null => {
      const pid = program.foreground();
      return pid === null ? null : { pid, executable: platform().processes.executable(pid) };
    };
    this.linePort = { ...parts, target, editor: this.editor, send };
    const wait = (request: WaitRequest): Promise<WaitOutcome> => this.wait(request);
    const inside = { shells: this.childShells, newKey: port.newKey ?? null };
    this.execRunner = new Exec({ ...parts, target, leader, editor: this.editor, send, cwd, wait, flags }, inside);
    const write = (bytes: Uint8Array): Promise<void> => this.send(bytes, (typed) => target.write(typed));
    const unread = (): number | null =>
      this.shellPid === null ? null : (readTerminalReader(this.shellPid)?.unread ?? null);
    this.submits = new InputSubmitter({ clock, flags, unread, isAtPrompt: () => this.isAtPrompt });
    const isLineEntered = (): boolean => target.typed.isEntered;
    this.runRunner = new Runs({ ...parts, type: (input) => this.submits.type(input, write), flags, isLineEntered });
  }

  /** Whether a caller's command runs, or may begin: its output is kept byte for byte. */
  get wantsRaw(): boolean {
    return (
      this.rawOutputs.hasOpen ||
      this.log.expectedCommand !== null ||
      this.port.isRequested === true ||
      this.runRunner.isPending
    );
  }

  /** Whether the shell's own line editor is in the foreground. */
  get isAtPrompt(): boolean {
    return this.log.phase === "prompt" && this.log.shellHoldsTerminal() !== false;
  }

  /** Handles a mark of the shell integration, after everything before it was parsed. */
  handleMark(mark: ShellMark): void {
    const isOwn = mark.verified && (mark.child ?? null) === null;
    if (isOwn) this.shellImage.shown();
    if (mark.kind === "P") {
      this.inactiveReasonText = inactiveReason(mark.params?.why ?? "");
      return;
    }
    if (mark.kind === "T") {
      this.execRunner.typedExec.handleMark(mark);
      return;
    }
    if (mark.kind !== "L") this.log.handleMark(mark);
    // A shell that has our integration without this session's nonce still answers; its marks are never verified.
    else if (mark.verified || !this.log.hasVerifiedMarks) this.editor.handleAnswer(mark);
    // Its last marks may be read after the shell that printed them is gone: the commands they start have ended.
    if (isOwn && this.shellImage.replacedBy !== null) this.log.handleReplacement();
  }

  /** History drops lines. */
  noteRetired(lines: RetiredLines): void {
    for (const follower of this.followers) follower.noteRetired(lines);
    this.log.noteRetired(lines);
    this.execRunner.typedExec.noteRetired(lines);
    this.waiters.noteRetired(lines);
    this.runRunner.noteRetired(lines);
  }

  /** Lines from `top` on were erased and will be printed again; those above remain. Lines already in a record stay. */
  noteErasedBelow(top: number): void {
    this.waiters.noteErased(top);
    this.runRunner.noteErasedBelow(top);
  }

  /** A chunk has been parsed, including its marks, and counted as activity. */
  noteChunk(raw: Uint8Array | null): void {
    this.rawOutputs.noteChunk(raw, this.port.text.offset, () => this.port.program.flags());
    this.log.noteChunk(() => hidesTypedText(this.port.program.flags()));
    for (const follower of this.followers) follower.noteChunk();
    this.waiters.noteChunk();
    this.execRunner.typedExec.noteChunk();
    this.runRunner.noteChunk();
  }

  noteBell(): void {
    this.waiters.noteBell(this.port.text.offset);
  }

  /** The agent of the pane has changed its state. */
  noteAgentChange(agent: AgentInfo | null): void {
    this.waiters.noteAgentChange(agent);
  }

  /** Input is typed (by an API or a terminal): call before the program can have answered. `flags` were read before. */
  noteTyping(bytes: Uint8Array, flags = this.port.program.flags()): void {
    this.recordInput(bytes, flags);
  }

  /** Input is given to the program: while a command runs, its echo is output like any other. */
  noteInputPassed(): void {
    if (this.log.phase !== "running" || this.port.program.flags()?.echo === false) return;
    this.log.noteTypedInput();
  }

  /** The program has ended, perhaps since we hung up; call once its last output is parsed and `program.exit` is set. */
  handleExit(exit: PtyExit, isHungUp: boolean): void {
    this.inactiveReasonText = null;
    const { shellFile = null } = this.port;
    const { shell } = this.port.target;
    const isOwn =
      shellFile === null ||
      this.log.shell.child !== null ||
      shell === null ||
      (!isHungUp && exit.code !== hangupCodes[shell]);
    this.log.handleExit(exit, isOwn);
    this.childShells.clear();
    this.waiters.noteExit();
  }

  /** The pane is being closed. */
  dispose(reason: WshError): void {
    this.waiters.dispose(reason);
    this.spools?.dispose();
    this.observer.dispose();
  }

  /** Number of pending waits. */
  get pendingWaitCount(): number {
    return this.waiters.count;
  }

  /** Calls back once the program has waited for input this long, in ms, without receiving any. */
  onAsking(ms: number, asked: () => void): Disposable {
    return new AskingDetector(this.port.clock, this.observer, ms, asked);
  }

  /** The program's current state; scans /proc. */
  state(): ProgramState {
    return this.observer.observe();
  }

  /** The program's current state, and how long it lasts unless an event ends it. */
  stateLasting(): ReturnType<StateObserver["observeLasting"]> {
    return this.observer.observeLasting();
  }

  /** Name of the program that the shell has become; null while it is the shell that was started. */
  get replacedBy(): string | null {
    return this.shellImage.replacedBy;
  }

  /** Our script's reason for being inactive in this shell; null without one, or when other marks followed. */
  get inactiveReason(): string | null {
    const { replacedBy } = this.shellImage;
    // A script in front of bash execs bash by the same call by which bash would exec another shell.
    const isGone = replacedBy !== null && shellKind(replacedBy) !== "bash";
    return this.log.isActive || isGone ? null : this.inactiveReasonText;
  }

  /** Directory of the shell as the kernel shows it, else as the shell reported it. */
  cwd(): string | null {
    const pid = this.shellPid;
    return (pid === null ? null : platform().processes.cwd(pid)) ?? this.port.cwd();
  }

  /** The inner shell that runs commands now; null: the session's own does. */
  get child(): ChildShell | null {
    return this.log.shell.child;
  }

  /** The inner shell with this secret. Runs per mark. */
  childShellWith(nonce: string | null): ChildShell | null {
    return this.childShells.find(nonce);
  }

  wait(request: WaitRequest): Promise<WaitOutcome> {
    return this.waiters.wait(request);
  }

  exec(request: ExecRequest): Promise<ExecOutcome> {
    return this.execRunner.run(request);
  }

  /**
   * Passes on a command's output, from its first byte. Ends with the command, or when closed.
   * @param id null: the command that starts next
   * @throws WshError command_not_found
   */
  follow(id: number | null, sink: FollowSink): CommandFollower {
    const { log } = this;
    const onEnd = (gone: CommandFollower): void => void this.followers.delete(gone);
    const follower = new CommandFollower({ log, text: this.port.text, id, sink, onEnd });
    if (follower.isOpen) this.followers.add(follower);
    return follower;
  }

  result(...asked: Parameters<Exec["result"]>): ReturnType<Exec["result"]> {
    return this.execRunner.result(...asked);
  }

  /** Ends a command that runs at the prompt; null when the command ignores it. */
  stop(id: number, how: StopMethod): ReturnType<Exec["stop"]> {
    return this.execRunner.stop(id, how);
  }

  /**
   * Puts a line at the prompt without running it: at once, or after the running command.
   * @throws WshError as offerLine
   */
  offerLine(offer: LineOffer): Promise<void> {
    return offerLine(this.linePort, offer);
  }

  /** Whether the shell's own history omits this caller's commands. */
  hidesFromHistory(caller: Caller): boolean {
    const { execHistory = "people" } = this.port.limits ?? {};
    return execHistory === "people" ? agentOfCaller(caller) !== null : execHistory === "none";
  }

  /** Call before a caller's input is typed: a line for the shell's prompt is kept out of the shell's history. */
  async hideFromHistory(caller: Caller, input: Uint8Array): Promise<void> {
    const { target } = this.port;
    if (
      target.shell === null ||
      !this.isAtPrompt ||
      !this.log.hasVerifiedMarks ||
      !isLine(input) ||
      !this.hidesFromHistory(caller)
    )
      return;
    await target.write(hideKey(target.shell));
  }

  run(request: RunRequest): Promise<RunOutcome> {
    return this.runRunner.run(request);
  }

  readonly promptShown = (signal: AbortSignal): Promise<void> => this.runRunner.awaitPrompt(signal);

  /** The shell that runs commands now, or the session's program; null when it is on another machine. */
  private get shellPid(): number | null {
    const { child } = this.log.shell;
    return child === null ? this.port.program.pid : child.pid;
  }

  private checkShell(): void {
    if (this.shellImage.look()) this.log.handleReplacement();
    // The last marks of an inner shell that has ended may still be unread; without them, its last command would be
    // attributed to the outer shell.
    if (this.port.program.isBehind) return;
    for (const child of this.childShells.removeEnded()) this.log.handleShellLeft(child);
  }

  /** A command may replace the shell with another program, and the next observation may be much later. */
  private scheduleShellCheck(id: number, n: number): void {
    const delay = SHELL_CHECK_DELAYS_MS[n];
    if (delay === undefined || this.port.shellFile === null || this.port.shellFile === undefined) return;
    this.port.clock.after(delay, () => {
      if (this.log.runningCommand?.id !== id || this.port.program.exit !== null) return;
      this.checkShell();
      this.scheduleShellCheck(id, n + 1);
    });
  }

  private recordInput(bytes: Uint8Array, flags = this.port.program.flags()): void {
    const running = this.log.phase !== "prompt";
    this.echo.noteInput(bytes, flags, running);
    this.observer.noteInput();
  }

  private async send(bytes: Uint8Array, write: (bytes: Uint8Array) => Promise<void>): Promise<void> {
    this.cookedLine.requireFits(bytes);
    this.recordInput(bytes);
    this.cookedLine.noteSent(bytes);
    const { offset } = this.port.text;
    await write(bytes);
    // The kernel receives the input only now: the program's time starts here, unless it has already answered.
    if (this.port.text.offset === offset) this.observer.noteInput();
  }
}
