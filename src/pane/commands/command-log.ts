/**
 * The commands that ran at the shell's prompt: start, end, result and output of each (docs/protocol.md, Commands).
 *
 * It receives, in stream order, the shell's marks, lines that leave the emulator's hot window, and the program's end.
 * Only D ends a command (`command-ends.ts`); a prompt without D, while the shell's own group holds the terminal, ends
 * it with exit code null; the program's end ends it with the program's code. Once a mark with the pane's nonce has
 * been seen, marks without it only describe the state of a shell inside the running command.
 *
 * An inner shell with a separate secret is a level on top. Its commands share the sequence of ids, and the
 * command in which it runs continues below. A mark of a lower level ends the levels above it.
 *
 * Output is the text on screen and in history at the end, between the positions of C and D, including text erased with
 * the whole screen. Lines are taken as history drops them, so history limits do not cut them. Output that a caller
 * requested is stored completely in a spool. Records are limited: the oldest output is dropped first, then the record.
 */

import type { CommandRecord, CommandState } from "../../protocol/commands.ts";
import type { PtyExit } from "../../pty/port.ts";
import type { Spools } from "../output/spool.ts";
import type { StoredOutput } from "../output/stored-output.ts";
import type { ShellMark } from "../ports.ts";
import { nextPhase, type ShellPhase } from "../state/shell-phase.ts";
import { PackedLines, type RetainedLines } from "../text/retained-lines.ts";
import { RunningOutput } from "../text/running-output.ts";
import type { RetiredLines, TextPosition } from "../text/text.ts";
import type { ChildShell } from "./child-shells.ts";
import { CommandEnds, type CommandEndsPort } from "./command-ends.ts";
import { type CommandLogLimits, CommandRecords, defaultCommandLogLimits } from "./command-records.ts";
import { signalOfExitCode } from "./exit-signal.ts";
import {
  type CommandEntry,
  type CommandOrigin,
  type Comparison,
  compare,
  countersOf,
  cutCommand,
  MAX_COMMAND_LINE,
  type SentCommand,
  settleSent,
  startedRecord,
  storedOutput,
  typedBetween,
} from "./log-entry.ts";
import type { CommandLogEvents } from "./log-events.ts";
import { type Ending, type ShellLevel, ShellLevels } from "./shell-level.ts";

const SHELL_EXITED = "the command's shell exited: the exit code is unknown";
const SHELL_KILLED = "the shell was killed while the command was running: the exit code is unknown";

interface CommandLogPort extends CommandEndsPort {
  /** Directory of the shell, if known. */
  cwd(): string | null;
  /** Whether the process group of a shell (null: the session's own) is in the foreground; null when unknown. */
  shellHoldsTerminal(child: ChildShell | null): boolean | null;
  /** Storage for requested output beyond what memory keeps; null or absent: none. */
  readonly spools?: Spools | null;
  /** Whether a caller requested the command that starts now. */
  isRequested?(): boolean;
  readonly restored?: readonly CommandRecord[];
  /** The id before the first command's; default 0. */
  readonly lastCommandId?: number;
}

interface OutputPosition {
  position(): TextPosition;
  readonly offset: number;
}

export class CommandLog {
  private readonly records: CommandRecords;
  private readonly listeners = new Set<Partial<CommandLogEvents>>();
  expectedCommand: SentCommand | null = null;
  private readonly shells = new ShellLevels();
  private readonly ends: CommandEnds;

  constructor(
    private readonly port: CommandLogPort,
    private readonly limits: CommandLogLimits = defaultCommandLogLimits,
  ) {
    this.records = new CommandRecords(limits, port.restored, port.lastCommandId);
    this.ends = new CommandEnds(port, {
      end: (ending, state) => this.endCommand(ending, state),
      noteInputAccepted: () => this.emit((listener) => listener.prompt?.()),
      noteReportedEnd: (id, end) => this.emit((listener) => listener.ending?.(id, end)),
    });
  }

  /** The shell that runs commands now; only the log changes it. */
  get shell(): Readonly<ShellLevel> {
    return this.shells.top;
  }

  /** Phase of the shell. */
  get phase(): ShellPhase {
    return this.shells.top.phase;
  }

  /** Whether the newest output is the end of the shell's prompt. */
  get endsWithPrompt(): boolean {
    return this.shells.top.promptOffset === this.port.text.offset;
  }

  /** Phase of a shell inside the running command, by marks that are not trusted. */
  get innerPhase(): ShellPhase {
    return this.shells.top.innerPhase;
  }

  /** Whether marks with the shell's nonce were seen. */
  get hasVerifiedMarks(): boolean {
    return this.shells.top.hasVerifiedMarks;
  }

  /** Whether any trusted marks were seen. */
  get isActive(): boolean {
    return this.shells.top.phase !== "none";
  }

  /** Whether the shell's own process group is in the foreground; null when unknown. */
  shellHoldsTerminal(): boolean | null {
    return this.port.shellHoldsTerminal(this.shells.top.child);
  }

  /** The running command, if any. */
  get runningCommand(): CommandRecord | null {
    return this.shells.top.running?.record ?? null;
  }
  /** Stored records, oldest first. */
  list(): CommandRecord[] {
    return this.records.list();
  }

  get(id: number): CommandRecord | null {
    return this.records.get(id)?.record ?? null;
  }

  /** @throws WshError command_not_found, invalid_cursor: the id is another pane's */
  require(id: number): CommandRecord {
    return this.records.require(id);
  }

  /** The newest record. */
  last(): CommandRecord | null {
    return this.get(this.records.lastId);
  }

  /** Id of the next command. */
  get nextId(): number {
    return this.records.nextId;
  }

  /** A command's origin; null when its record was dropped, or it ran before the session was restored. */
  origin(id: number): CommandOrigin | null {
    const entry = this.records.get(id);
    return entry?.isRestored === true ? null : entry;
  }

  /** Lines of a command's output, while it runs up to `end` (default: the cursor); null when the record was dropped. */
  output(id: number, end?: TextPosition): RetainedLines | null {
    const { output = null } = this.records.get(id) ?? {};
    if (output === null) return null;
    return output instanceof PackedLines ? output.lines() : output.collect(end ?? this.port.text.position());
  }

  /** Like output, including the spool; the caller disposes of it. */
  storedOutput(id: number): StoredOutput | null {
    const entry = this.records.get(id);
    return entry && storedOutput(entry, this.port.text);
  }

  /** A chunk was parsed. @param hidesInput called only when there is a spool */
  noteChunk(hidesInput: () => boolean): void {
    this.shells.noteChunk(hidesInput);
  }

  /** The running command's complete lines, the position after them, and its reported end; null: it does not run. */
  outputSoFar(
    id: number,
  ): (ReturnType<RunningOutput["completeLines"]> & { readonly reportedEnd: TextPosition | null }) | null {
    const output = this.records.get(id)?.output;
    if (!(output instanceof RunningOutput)) return null;
    return { ...output.completeLines(this.port.text.position()), reportedEnd: output.frozenAt };
  }

  /** Listens until disposed. */
  on(events: Partial<CommandLogEvents>): Disposable {
    this.listeners.add(events);
    return { [Symbol.dispose]: () => void this.listeners.delete(events) };
  }

  /** Sets the command that runs next: exec knows its text better than the shell's history does. Null clears it. */
  expect(sent: SentCommand | null): void {
    this.expectedCommand = sent;
  }

  /** Compares the command that ran with the text that exec sent. */
  comparison(id: number): Comparison {
    const entry = this.records.get(id);
    return entry === null ? { kind: "same" } : compare(entry);
  }

  /** Handles a mark in the stream, once everything before it has been parsed. */
  handleMark(mark: ShellMark): void {
    if (mark.verified) this.enterShell(mark.child ?? null, mark);
    const { top: shell } = this.shells;
    if (mark.kind === "A") shell.isReplaced = false;
    if (shell.isReplaced && !mark.verified) return;
    if (mark.verified) shell.hasVerifiedMarks = true;
    if (mark.verified !== shell.hasVerifiedMarks) {
      shell.innerPhase = nextPhase(shell.innerPhase, mark.kind);
      return;
    }
    switch (mark.kind) {
      case "A":
        this.handlePromptStart(mark);
        break;
      case "B":
        shell.promptEnd = mark.position;
        shell.promptOffset = mark.offset;
        this.ends.handlePromptEnd(shell, mark);
        break;
      case "E":
        this.nameCommand(mark.commandLine);
        break;
      case "C":
        this.beginCommand(mark);
        break;
      case "D":
        this.ends.handleEndMark(shell, mark);
        break;
    }
  }

  /** History drops lines. Costs nothing unless a command runs. */
  noteRetired(lines: RetiredLines): void {
    this.shells.noteRetired(lines);
  }

  /** The cursor may move up, or lines may move. Runs while output is parsed. */
  noteDisplacing(): void {
    if (this.phase === "running") this.shells.noteDisplacing();
  }

  /** Input is typed while a command runs, into a terminal that echoes. */
  noteTypedInput(): void {
    this.shells.noteTypedInput();
  }

  /**
   * The pane's program has ended and its last output was parsed.
   * @param isCodeOfCommand whether the code belongs to the command that ran, as after `exit 3`
   */
  handleExit({ code, signal }: PtyExit, isCodeOfCommand = true): void {
    const { text } = this.port;
    this.leaveToDepth(1);
    const entry = this.shells.top.running;
    // Killed while its prompt was drawn: the command had ended.
    if (entry !== null && !(signal !== null && this.ends.handleShellEnd(this.shells.top))) {
      if (!isCodeOfCommand && signal === null) entry.doubts.push(SHELL_KILLED);
      const exitCode = isCodeOfCommand ? code : null;
      const hasStatus = exitCode !== null || signal !== null;
      this.endCommand(this.endingAt(text, { exitCode, signal }), hasStatus ? "finished" : "lost");
    }
    this.shells.top.phase = "none";
    this.shells.top.innerPhase = "none";
    this.shells.top.promptEnd = null;
    this.emit((listener) => listener.exited?.());
  }

  /**
   * The shell's process runs another program: its command has no end, and marks of another shell are valid from now on.
   */
  handleReplacement(): void {
    this.leaveToDepth(1);
    const { top: shell } = this.shells;
    // At its prompt, the marks of its last command are still to come; they name it by the text after the prompt.
    if (shell.phase !== "prompt") shell.promptEnd = null;
    if (shell.running !== null && !this.ends.handleShellEnd(shell))
      this.endCommand(this.endingAt(this.port.text), "replaced");
    shell.phase = "none";
    shell.innerPhase = "none";
    shell.hasVerifiedMarks = false;
    shell.isReplaced = true;
  }

  /** An inner shell has ended, or has become another program. */
  handleShellLeft(child: ChildShell): void {
    const depth = this.shells.depthOf(child);
    if (depth > 1) this.leaveToDepth(depth - 1);
  }

  /** Makes the shell of a mark the current one: shells above it have ended, or it is a new one. */
  private enterShell(child: ChildShell | null, mark: ShellMark): void {
    if (child === this.shells.top.child) return;
    const depth = this.shells.depthOf(child);
    if (depth > 0) this.leaveToDepth(depth, { position: () => mark.position, offset: mark.offset });
    else if (child !== null) this.shells.push(child);
  }

  private leaveToDepth(depth: number, at: OutputPosition = this.port.text): void {
    while (this.shells.depth > depth) {
      const { running } = this.shells.top;
      if (running !== null && !this.ends.handleShellEnd(this.shells.top)) {
        running.doubts.push(SHELL_EXITED);
        this.endCommand(this.endingAt(at), "lost");
      }
      this.shells.pop();
    }
  }

  private handlePromptStart(mark: ShellMark): void {
    const { top: shell } = this.shells;
    // A prompt while another program is in the foreground is not the shell's: a program printed it.
    if (shell.running !== null && this.shellHoldsTerminal() === false) return;
    this.ends.handlePromptStart(shell, mark);
    shell.promptStart = mark.position;
    shell.innerPhase = "none";
    shell.promptEnd = null;
  }

  private beginCommand(mark: ShellMark): void {
    // A pasted block runs several commands without a prompt between them: it is one command until the next D.
    const { top: shell } = this.shells;
    // Other scripts' hooks (iTerm2's) report startup files, and the drawing of the first prompt, as commands.
    if (!mark.verified && shell.phase === "none") return;
    const number = Number(mark.params?.id ?? Number.NaN);
    if (!this.ends.handleNextCommand(shell, Number.isNaN(number) ? null : number)) return;
    const prompt = shell.promptEnd;
    if (prompt !== null) this.emit((listener) => listener.commandLine?.(prompt, mark.position));
    const { expectedCommand } = this;
    const isLong = (expectedCommand?.line.length ?? 0) > MAX_COMMAND_LINE;
    const typed = isLong ? "" : typedBetween(this.port.text, prompt, mark.position);
    const visibleLine = typed.trim() === "" ? null : typed.trim();
    const line = expectedCommand?.command ?? mark.commandLine ?? visibleLine;
    const id = this.nextId;
    const isRequested = expectedCommand !== null || this.port.isRequested?.();
    const spool = isRequested ? (this.port.spools?.createSpool() ?? null) : null;
    const output = new RunningOutput(this.port.text, mark.position, this.limits.recordBytes, spool);
    const entry: CommandEntry = {
      record: startedRecord(mark, { id, line, cwd: this.port.cwd(), at: this.port.clock.wall() }),
      ...countersOf(this.port.text),
      startedAt: this.port.clock.now(),
      sent: expectedCommand,
      shownText: visibleLine,
      reportedText: mark.commandLine,
      indented: /^\s/.test(typed),
      history: mark.params ?? {},
      number: Number.isNaN(number) ? null : number,
      shell: shell.child,
      verified: mark.verified,
      doubts: [],
      output,
      gaps: output.gaps,
      spool,
    };
    shell.running = entry;
    this.expectedCommand = null;
    shell.innerPhase = "none";
    shell.phase = "running";
    this.records.add(entry);
    this.emit((listener) => listener.started?.(entry.record, spool !== null || isRequested === true));
  }

  /** The shell names the command that it runs, or ran. */
  private nameCommand(command: string | null): void {
    const { running } = this.shells.top;
    if (command === null || running === null) return;
    running.reportedText = command;
    if (running.sent !== null) settleSent(running);
    else running.record = { ...running.record, command: cutCommand(command) };
    this.emit((listener) => listener.named?.(running.record));
  }

  private endingAt(at: OutputPosition, how: Partial<Pick<Ending, "exitCode" | "signal">> = {}): Ending {
    return this.ends.endAtCursor(this.shells.top, { position: at.position(), offset: at.offset }, how);
  }

  private endCommand(ending: Ending, state: Exclude<CommandState, "running">): void {
    const { exitCode, signal, offset, outputEnd, at, endedAt, warnings } = ending;
    const { top: shell } = this.shells;
    const entry = shell.running;
    if (!(entry?.output instanceof RunningOutput)) return;
    shell.running = null;
    shell.ending = null;
    shell.endPromptOffset = null;
    const lines = entry.output.finish(outputEnd);
    entry.spool?.end();
    this.records.storeOutput(entry, lines);
    const count = lines.head.length + lines.tail.length + lines.omitted;
    entry.record = {
      ...entry.record,
      ...(warnings.length > 0 ? { warnings } : {}),
      state,
      ended_at: endedAt,
      duration_ms: Math.max(0, Math.round(at - entry.startedAt)),
      exit_code: exitCode,
      signal: signal ?? signalOfExitCode(exitCode),
      // A replaced shell is noticed in the middle of a chunk, before the chunk counts.
      output_end: Math.max(offset, entry.record.output_start),
      last_line_id: Math.max(entry.record.first_line_id, outputEnd.index > 0 ? outputEnd.line : outputEnd.line - 1),
      output_lines: count,
    };
    settleSent(entry);
    this.records.enforceLimits();
    this.emit((listener) => listener.finished?.(entry.record));
  }

  private emit(call: (listener: Partial<CommandLogEvents>) => void): void {
    for (const listener of [...this.listeners]) call(listener);
  }
}
