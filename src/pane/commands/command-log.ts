/**
 * The commands that ran at the shell's prompt: begin, end, result and output of each (docs/protocol.md, Commands).
 *
 * Fed in stream order with the shell's marks, with lines that leave the emulator's hot window, and with the program's
 * end. Only D ends a command (`command-ends.ts`); a prompt without D, while the shell's own group holds the terminal,
 * ends it with exit code null; the program's end ends it with the program's code. Once a mark with the pane's nonce was
 * seen, marks without it only describe the state of a shell inside the running command.
 *
 * A shell inside with a separate secret is a level on top, with its own commands in the same sequence of ids, while the
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
  type ShellStatus,
  settleSent,
  startedRecord,
  storedOutput,
  typedBetween,
} from "./log-entry.ts";
import type { CommandLogEvents } from "./log-events.ts";
import { type Ending, type ShellLevel, ShellLevels } from "./shell-level.ts";

const LEFT = "the command's shell exited: the exit code is unknown";
const CUT_OFF = "the shell was killed while the command was running: the exit code is unknown";

interface CommandLogPort extends CommandEndsPort {
  /** Directory of the shell, if known. */
  cwd(): string | null;
  /** Whether the process group of a shell (null: the session's own) is in the foreground; null when unknown. */
  shellHoldsTerminal(child: ChildShell | null): boolean | null;
  /** Storage for requested output beyond what memory keeps; null or absent: none. */
  readonly spools?: Spools | null;
  /** Whether a caller requested the command that starts now. */
  isAskedFor?(): boolean;
  readonly restored?: readonly CommandRecord[];
  /** The id before the first command's; default 0. */
  readonly lastCommandId?: number;
}

interface Cursor {
  position(): TextPosition;
  readonly offset: number;
}

export class CommandLog {
  private readonly records: CommandRecords;
  private readonly listeners = new Set<Partial<CommandLogEvents>>();
  expected: SentCommand | null = null;
  private readonly shells = new ShellLevels();
  private readonly ends: CommandEnds;

  constructor(
    private readonly port: CommandLogPort,
    private readonly limits: CommandLogLimits = defaultCommandLogLimits,
  ) {
    this.records = new CommandRecords(limits, port.restored, port.lastCommandId);
    this.ends = new CommandEnds(port, {
      end: (ending, state) => this.end(ending, state),
      prompt: () => this.emit((listener) => listener.prompt?.()),
      ending: (id, end) => this.emit((listener) => listener.ending?.(id, end)),
    });
  }

  /** The shell that runs commands now. */
  private get shell(): ShellLevel {
    return this.shells.top;
  }

  /** The shell of `phase`, prompts and the running command; null: the session's own. */
  get child(): ChildShell | null {
    return this.shell.child;
  }

  /** Phase of the shell. */
  get phase(): ShellPhase {
    return this.shell.phase;
  }

  /** Whether the newest output is the end of the shell's prompt. */
  get endsWithPrompt(): boolean {
    return this.shell.promptOffset === this.port.text.offset;
  }

  /** Phase of a shell inside the running command, by marks that are not trusted. */
  get inner(): ShellPhase {
    return this.shell.inner;
  }

  /** Whether marks with the shell's nonce were seen. */
  get verified(): boolean {
    return this.shell.sawVerified;
  }

  /** Whether any trusted marks were seen. */
  get active(): boolean {
    return this.shell.phase !== "none";
  }

  /** Position of the newest prompt's start. */
  get promptStart(): TextPosition | null {
    return this.shell.promptBegin;
  }

  /** The newest D and its position: a shell sends one without a command for text that it rejected. */
  get lastStatus(): ShellStatus | null {
    return this.shell.status;
  }

  /** Whether the shell's own process group is in the foreground; null when unknown. */
  shellHoldsTerminal(): boolean | null {
    return this.port.shellHoldsTerminal(this.shell.child);
  }

  /** The running command, if any. */
  get runningCommand(): CommandRecord | null {
    return this.shell.running?.record ?? null;
  }
  /** Stored records, oldest first. */
  list(): CommandRecord[] {
    return this.records.list();
  }

  get(id: number): CommandRecord | null {
    return this.records.get(id)?.record ?? null;
  }

  /** @throws WshError command_not_found, invalid_cursor: it is one of another pane's */
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
  stored(id: number): StoredOutput | null {
    const entry = this.records.get(id);
    return entry && storedOutput(entry, this.port.text);
  }

  /** A chunk was parsed. @param hidesInput called only when there is a spool */
  chunk(hidesInput: () => boolean): void {
    this.shells.chunk(hidesInput);
  }

  /** The running command's complete lines, the position after them, and its reported end; null: it does not run. */
  soFar(
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
    this.expected = sent;
  }

  /** Compares the command that ran with the text that exec sent. */
  comparison(id: number): Comparison {
    const entry = this.records.get(id);
    return entry === null ? { kind: "same" } : compare(entry);
  }

  /** Handles a mark in the stream, once everything before it has been parsed. */
  mark(mark: ShellMark): void {
    if (mark.verified) this.enter(mark.child ?? null, mark);
    const { shell } = this;
    if (mark.kind === "A") shell.isReplaced = false;
    if (shell.isReplaced && !mark.verified) return;
    if (mark.verified) shell.sawVerified = true;
    if (mark.verified !== shell.sawVerified) {
      shell.inner = nextPhase(shell.inner, mark.kind);
      return;
    }
    switch (mark.kind) {
      case "A":
        this.promptBegins(mark);
        break;
      case "B":
        shell.promptEnd = mark.position;
        shell.promptOffset = mark.offset;
        this.ends.promptEnds(shell, mark);
        break;
      case "E":
        this.nameCommand(mark.commandLine);
        break;
      case "C":
        this.begin(mark);
        break;
      case "D":
        this.ends.reported(shell, mark);
        break;
    }
  }

  /** History drops lines. Costs nothing unless a command runs. */
  retired(lines: RetiredLines): void {
    this.shells.retired(lines);
  }

  /** The cursor may move up, or lines may move. Runs while output is parsed. */
  displacing(): void {
    if (this.phase === "running") this.shells.displacing();
  }

  /** Input is typed while a command runs, into a terminal that echoes. */
  typedInto(): void {
    this.shells.typedInto();
  }

  /**
   * The pane's program has ended and its last output was parsed.
   * @param isCodeOfCommand whether the code belongs to the command that ran, as after `exit 3`
   */
  exited({ code, signal }: PtyExit, isCodeOfCommand = true): void {
    const { text } = this.port;
    this.leaveTo(1);
    const entry = this.shell.running;
    // Killed while its prompt was drawn: the command had ended.
    if (entry !== null && !(signal !== null && this.ends.shellEnds(this.shell))) {
      if (!isCodeOfCommand && signal === null) entry.doubts.push(CUT_OFF);
      const exitCode = isCodeOfCommand ? code : null;
      const hasStatus = exitCode !== null || signal !== null;
      this.end(this.endingAt(text, { exitCode, signal }), hasStatus ? "finished" : "lost");
    }
    this.shell.phase = "none";
    this.shell.inner = "none";
    this.shell.promptEnd = null;
    this.emit((listener) => listener.exited?.());
  }

  /**
   * The shell's process runs another program: its command has no end, and marks of another shell are valid from now on.
   */
  replaced(): void {
    this.leaveTo(1);
    const { shell } = this;
    // At its prompt, the marks of its last command are still to come; they name it by the text after the prompt.
    if (shell.phase !== "prompt") shell.promptEnd = null;
    if (shell.running !== null && !this.ends.shellEnds(shell)) this.end(this.endingAt(this.port.text), "replaced");
    shell.phase = "none";
    shell.inner = "none";
    shell.sawVerified = false;
    shell.isReplaced = true;
  }

  /** A shell inside the session's own one has ended, or has become another program. */
  left(child: ChildShell): void {
    const depth = this.shells.depthOf(child);
    if (depth > 1) this.leaveTo(depth - 1);
  }

  /** Makes the shell of a mark the current one: shells above it have ended, or it is a new one. */
  private enter(child: ChildShell | null, mark: ShellMark): void {
    if (child === this.shell.child) return;
    const depth = this.shells.depthOf(child);
    if (depth > 0) this.leaveTo(depth, { position: () => mark.position, offset: mark.offset });
    else if (child !== null) this.shells.push(child);
  }

  private leaveTo(depth: number, at: Cursor = this.port.text): void {
    while (this.shells.depth > depth) {
      const { running } = this.shell;
      if (running !== null && !this.ends.shellEnds(this.shell)) {
        running.doubts.push(LEFT);
        this.end(this.endingAt(at), "lost");
      }
      this.shells.pop();
    }
  }

  private promptBegins(mark: ShellMark): void {
    const { shell } = this;
    // A prompt while another program is in the foreground is not the shell's: a program printed it.
    if (shell.running !== null && this.shellHoldsTerminal() === false) return;
    this.ends.promptBegins(shell, mark);
    shell.promptBegin = mark.position;
    shell.inner = "none";
    shell.promptEnd = null;
  }

  private begin(mark: ShellMark): void {
    // A pasted block runs several commands without a prompt between them: it is one command until the next D.
    const { shell } = this;
    // Other scripts' hooks (iTerm2's) report startup files, and the drawing of the first prompt, as commands.
    if (!mark.verified && shell.phase === "none") return;
    const number = Number(mark.params?.id ?? Number.NaN);
    if (!this.ends.nextBegins(shell, Number.isNaN(number) ? null : number)) return;
    const prompt = shell.promptEnd;
    if (prompt !== null) this.emit((listener) => listener.commandLine?.(prompt, mark.position));
    const { expected } = this;
    const isLong = (expected?.line.length ?? 0) > MAX_COMMAND_LINE;
    const typed = isLong ? "" : typedBetween(this.port.text, prompt, mark.position);
    const visibleLine = typed.trim() === "" ? null : typed.trim();
    const line = expected?.command ?? mark.commandLine ?? visibleLine;
    const id = this.nextId;
    const isAskedFor = expected !== null || this.port.isAskedFor?.();
    const spool = isAskedFor ? (this.port.spools?.open() ?? null) : null;
    const output = new RunningOutput(this.port.text, mark.position, this.limits.recordBytes, spool);
    const entry: CommandEntry = {
      record: startedRecord(mark, { id, line, cwd: this.port.cwd(), at: this.port.clock.wall() }),
      ...countersOf(this.port.text),
      startedAt: this.port.clock.now(),
      sent: expected,
      shown: visibleLine,
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
    this.expected = null;
    shell.inner = "none";
    shell.phase = "running";
    this.records.add(entry);
    this.emit((listener) => listener.started?.(entry.record, spool !== null || isAskedFor === true));
  }

  /** The shell names the command that it runs, or ran. */
  private nameCommand(command: string | null): void {
    const { running } = this.shell;
    if (command === null || running === null) return;
    running.reportedText = command;
    if (running.sent !== null) settleSent(running);
    else running.record = { ...running.record, command: cutCommand(command) };
    this.emit((listener) => listener.named?.(running.record));
  }

  private endingAt(at: Cursor, how: Partial<Pick<Ending, "exitCode" | "signal">> = {}): Ending {
    return this.ends.endAtCursor(this.shell, { position: at.position(), offset: at.offset }, how);
  }

  private end(ending: Ending, state: Exclude<CommandState, "running">): void {
    const { exitCode, signal, offset, outputEnd, at, endedAt, warnings } = ending;
    const { shell } = this;
    const entry = shell.running;
    if (!(entry?.output instanceof RunningOutput)) return;
    shell.running = null;
    shell.ending = null;
    shell.prompted = null;
    const lines = entry.output.finish(outputEnd);
    entry.spool?.end();
    this.records.pack(entry, lines);
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
    this.records.limit();
    this.emit((listener) => listener.finished?.(entry.record));
  }

  private emit(call: (listener: Partial<CommandLogEvents>) => void): void {
    for (const listener of [...this.listeners]) call(listener);
  }
}
