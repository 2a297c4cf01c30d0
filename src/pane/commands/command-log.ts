/**
 * The commands that ran at the shell's prompt: when each began and ended, how, and what it printed (docs/protocol.md,
 * Commands).
 *
 * Fed in stream order with the shell's marks, with lines that leave the emulator's hot window, and with the program's end.
 * Only D ends a command; a prompt without D, while the shell's own group holds the terminal, ends it with exit code null;
 * the program's end ends it with the program's code. Once a mark with the pane's nonce was seen, marks without it only
 * describe the state of a shell inside the running command.
 *
 * Output is what the screen and history show at the end, from the place of C to the place of D; after a command clears
 * the screen, its output starts at the top. Lines are taken as history drops them, so no limit of the history cuts them.
 * What a caller asked for is kept whole in a spool. Records are bounded: the oldest output goes first, then the record.
 */

import type { Clock } from "../../base/clock.ts";
import type { CommandRecord, CommandState } from "../../protocol/commands.ts";
import type { PtyExit } from "../../pty/port.ts";
import type { Spools } from "../output/spool.ts";
import type { StoredOutput } from "../output/stored-output.ts";
import type { ShellMark } from "../ports.ts";
import { nextPhase, type ShellPhase } from "../state/shell-phase.ts";
import { type KeptLines, PackedLines } from "../text/kept-lines.ts";
import { RunningOutput } from "../text/running-output.ts";
import type { RetiredLines, TerminalText, TextPosition } from "../text/text.ts";
import { signalOfExitCode } from "./exit-signal.ts";
import {
  type CommandOrigin,
  type Comparison,
  compare,
  cutCommand,
  doubt,
  doubtsOf,
  type Entry,
  GONE,
  MAX_COMMAND_LINE,
  type Sent,
  type ShellStatus,
  settleSent,
  startedRecord,
  storedOutput,
  typedBetween,
} from "./log-entry.ts";

export interface CommandLogLimits {
  /** Records kept. */
  readonly records: number;
  /** Bytes of output that one record keeps, half from its start and half from its end. */
  readonly recordBytes: number;
  /** Bytes of output that all records keep together. */
  readonly totalBytes: number;
}

/** 512 KiB a record exceeds what readers of a result take; 8 MiB in all keeps a busy session within its memory goal. */
export const defaultCommandLogLimits: CommandLogLimits = {
  records: 1_000,
  recordBytes: 512 * 1024,
  totalBytes: 8 * 1024 * 1024,
};

const LATE_END = "PROMPT_COMMAND was changed: what it printed may stand in the output, and its time in the duration";
const VERBOSE = "set -v is on: what bash printed of its hooks stands in the output";
const TYPED_INTO = "input was typed while it ran: its echo may stand in the output";
const CUT_OFF = "the shell was ended while the command ran: how it would have ended is not known";

export interface CommandLogPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  /** Directory of the shell, as far as it is known. */
  cwd(): string | null;
  /** Whether the shell's own process group holds the terminal; null when unknown. */
  shellHoldsTerminal(): boolean | null;
  /** Where output that a caller asked for goes past what memory keeps; null or absent: nowhere. */
  readonly spools?: Spools | null;
  /** Whether a caller asked for what starts now. */
  isAskedFor?(): boolean;
}

export interface CommandLogEvents {
  /** C: a command started. */
  started(record: CommandRecord): void;
  /** The command ended, was lost, or the program ended under it. */
  finished(record: CommandRecord): void;
  /** B: the shell takes input. */
  prompt(): void;
  /** The pane's program has ended, and its last command with it. */
  exited(): void;
  /** The command line was accepted: everything between the two places is the echo of input. */
  commandLine(from: TextPosition, to: TextPosition): void;
}

export class CommandLog {
  private readonly entries = new Map<number, Entry>();
  private readonly listeners = new Set<Partial<CommandLogEvents>>();
  private running: Entry | null = null;
  private heldBytes = 0;
  private lastId = 0;
  private current: ShellPhase = "none";
  private innerPhase: ShellPhase = "none";
  private sawVerified = false;
  private promptBegin: TextPosition | null = null;
  private promptEnd: TextPosition | null = null;
  private status: ShellStatus | null = null;
  private expected: Sent | null = null;

  constructor(
    private readonly port: CommandLogPort,
    private readonly limits: CommandLogLimits = defaultCommandLogLimits,
  ) {}

  /** Phase of the pane's shell. */
  get phase(): ShellPhase {
    return this.current;
  }

  /** Phase of a shell inside the running command, by marks that are not trusted. */
  get inner(): ShellPhase {
    return this.innerPhase;
  }

  /** Whether marks with the pane's nonce were seen. */
  get verified(): boolean {
    return this.sawVerified;
  }

  /** Whether any trusted marks were seen: there is shell integration. */
  get active(): boolean {
    return this.current !== "none";
  }

  /** Where the prompt ended, while the shell takes input. */
  get inputStart(): TextPosition | null {
    return this.current === "prompt" ? this.promptEnd : null;
  }

  /** Where the newest prompt began. */
  get promptStart(): TextPosition | null {
    return this.promptBegin;
  }

  /** What the newest D said, and where: a shell sends one without a command for text that it refused. */
  get lastStatus(): ShellStatus | null {
    return this.status;
  }

  /** Whether the shell's own process group holds the terminal; null when unknown. */
  shellHoldsTerminal(): boolean | null {
    return this.port.shellHoldsTerminal();
  }

  /** The running command, if any. */
  get runningCommand(): CommandRecord | null {
    return this.running?.record ?? null;
  }

  /** Records kept, oldest first. */
  list(): CommandRecord[] {
    return [...this.entries.values()].map((entry) => entry.record);
  }

  get(id: number): CommandRecord | null {
    return this.entries.get(id)?.record ?? null;
  }

  /** The newest record. */
  last(): CommandRecord | null {
    return this.get(this.lastId);
  }

  /** Id of the next command. */
  get nextId(): number {
    return this.lastId + 1;
  }

  /** Where a command came from; null when its record is not kept. */
  origin(id: number): CommandOrigin | null {
    return this.entries.get(id) ?? null;
  }

  /** Lines of a command's output, while it runs up to `end` (default: the cursor); null when the record is not kept. */
  output(id: number, end?: TextPosition): KeptLines | null {
    const output = this.entries.get(id)?.output;
    if (output === undefined) return null;
    return output instanceof PackedLines ? output.lines() : output.collect(end ?? this.port.text.position());
  }

  /** The same with what the spool has, to be disposed of. */
  stored(id: number): StoredOutput | null {
    const entry = this.entries.get(id) ?? null;
    return entry && storedOutput(entry, this.port.text);
  }

  /** A chunk was parsed. @param hidesInput asked only where there is a spool */
  chunk(hidesInput: () => boolean): void {
    const { output, spool = null } = this.running ?? {};
    if (spool !== null && output instanceof RunningOutput) output.chunk(hidesInput());
  }

  /** The running command's complete lines, and the place after them; null when it does not run. */
  soFar(id: number): { readonly kept: KeptLines; readonly end: TextPosition } | null {
    const output = this.running?.record.id === id ? this.running.output : null;
    if (!(output instanceof RunningOutput)) return null;
    const { begin } = output;
    const { line } = this.port.text.position();
    if (line <= begin.line) return { kept: { head: [], tail: [], omitted: 0 }, end: begin };
    const end = { line, index: 0 };
    return { kept: output.collect(end), end };
  }

  /** Listens until disposed. */
  on(events: Partial<CommandLogEvents>): Disposable {
    this.listeners.add(events);
    return { [Symbol.dispose]: () => void this.listeners.delete(events) };
  }

  /** The next command is this one: exec knows what it sends better than the shell's history does. Null clears it. */
  expect(sent: Sent | null): void {
    this.expected = sent;
  }

  /** What is known of the command that ran, besides what exec sent. */
  comparison(id: number): Comparison {
    const entry = this.entries.get(id);
    return entry === undefined ? { kind: "same" } : compare(entry);
  }

  /** A mark in the stream, once everything before it has been parsed. */
  mark(mark: ShellMark): void {
    if (mark.verified) this.sawVerified = true;
    if (mark.verified !== this.sawVerified) {
      this.innerPhase = nextPhase(this.innerPhase, mark.kind);
      return;
    }
    switch (mark.kind) {
      case "A":
        this.promptBegins(mark);
        break;
      case "B":
        this.current = "prompt";
        this.promptEnd = mark.position;
        this.emit((listener) => listener.prompt?.());
        break;
      case "E":
        this.nameCommand(mark.commandLine);
        break;
      case "C":
        this.begin(mark);
        break;
      case "D":
        this.status = { exitCode: mark.exitCode, offset: mark.offset, position: mark.position };
        if (mark.params?.verbose === "1" && this.running !== null) doubt(this.running, VERBOSE);
        if (mark.params?.late === "1" && this.running !== null) doubt(this.running, LATE_END);
        if (this.running !== null) this.end(mark.position, mark.offset, mark.exitCode, null, "finished");
        this.current = "ended";
        break;
    }
  }

  /** History drops lines. Costs nothing unless a command runs. */
  retired(lines: RetiredLines): void {
    const output = this.running?.output;
    if (output instanceof RunningOutput) output.retired(lines);
  }

  /** The normal screen was erased and is rewritten from line `top` on. */
  erased(top: number): void {
    const entry = this.running;
    if (!(entry?.output instanceof RunningOutput)) return;
    entry.output.erased(top);
    entry.record = { ...entry.record, first_line_id: Math.min(top, entry.record.first_line_id) };
  }

  /** Input is typed while the command runs, into a terminal that echoes. */
  typedInto(): void {
    const entry = this.running;
    if (entry !== null && !entry.doubts.includes(TYPED_INTO)) entry.doubts.push(TYPED_INTO);
  }

  /**
   * The pane's program has ended and its last output was parsed.
   * @param isCodeOfCommand whether the code belongs to the command that ran, as after `exit 3`
   */
  exited({ code, signal }: PtyExit, isCodeOfCommand = true): void {
    const entry = this.running;
    if (entry !== null) {
      const { text } = this.port;
      if (!isCodeOfCommand && signal === null) entry.doubts.push(CUT_OFF);
      const exitCode = isCodeOfCommand ? code : null;
      const known = exitCode !== null || signal !== null;
      this.end(text.position(), text.offset, exitCode, signal, known ? "finished" : "lost");
    }
    this.current = "none";
    this.innerPhase = "none";
    this.promptEnd = null;
    this.emit((listener) => listener.exited?.());
  }

  /** The shell's process runs another program: its command has no end, and marks of another shell count from now on. */
  replaced(): void {
    const { text } = this.port;
    if (this.running !== null) this.end(text.position(), text.offset, null, null, "replaced");
    this.current = "none";
    this.innerPhase = "none";
    this.sawVerified = false;
    this.promptEnd = null;
  }

  private promptBegins(mark: ShellMark): void {
    if (this.running !== null) {
      // A prompt while something else holds the terminal is not the shell's: a program printed it.
      if (this.port.shellHoldsTerminal() === false) return;
      this.end(mark.position, mark.offset, null, null, "finished");
    }
    this.current = "drawing";
    this.promptBegin = mark.position;
    this.innerPhase = "none";
    this.promptEnd = null;
  }

  private begin(mark: ShellMark): void {
    // A pasted block runs several commands without a prompt between them: it is one command until the next D.
    if (this.running !== null) return;
    const prompt = this.promptEnd;
    if (prompt !== null) this.emit((listener) => listener.commandLine?.(prompt, mark.position));
    const { clock } = this.port;
    const start = mark.position;
    const { expected } = this;
    const isLong = expected !== null && expected.line.length > MAX_COMMAND_LINE;
    const typed = isLong ? "" : typedBetween(this.port.text, prompt, start);
    const shown = typed.trim() === "" ? null : typed.trim();
    const line = expected?.command ?? mark.commandLine ?? shown;
    const id = ++this.lastId;
    const isAskedFor = expected !== null || this.port.isAskedFor?.();
    const spool = isAskedFor ? (this.port.spools?.open() ?? null) : null;
    const output = new RunningOutput(this.port.text, start, this.limits.recordBytes, spool);
    const entry: Entry = {
      record: startedRecord(mark, { id, line, cwd: this.port.cwd(), at: clock.wall() }),
      startedAt: clock.now(),
      scrolledAway: this.port.text.scrolledAway,
      sent: expected,
      shown,
      said: mark.commandLine,
      indented: /^\s/.test(typed),
      history: mark.params ?? {},
      verified: mark.verified,
      doubts: [],
      output,
      gaps: output.gaps,
      spool,
    };
    this.entries.set(id, entry);
    this.running = entry;
    this.expected = null;
    this.innerPhase = "none";
    this.current = "running";
    this.limit();
    this.emit((listener) => listener.started?.(entry.record));
  }

  /** The shell says what it runs, or ran. */
  private nameCommand(command: string | null): void {
    const entry = this.running ?? (this.current === "ended" ? this.entries.get(this.lastId) : undefined);
    if (command === null || entry === undefined) return;
    entry.said = command;
    if (entry.sent !== null) settleSent(entry);
    else entry.record = { ...entry.record, command: cutCommand(command) };
  }

  private end(
    position: TextPosition,
    offset: number,
    exitCode: number | null,
    signal: string | null,
    state: Exclude<CommandState, "running">,
  ): void {
    const entry = this.running;
    if (!(entry?.output instanceof RunningOutput)) return;
    this.running = null;
    const kept = entry.output.finish(position);
    entry.spool?.end();
    entry.output = new PackedLines(kept);
    this.heldBytes += entry.output.bytes;
    const count = kept.head.length + kept.tail.length + kept.omitted;
    const warnings = doubtsOf(entry, this.port.text);
    entry.record = {
      ...entry.record,
      ...(warnings.length > 0 ? { warnings } : {}),
      state,
      ended_at: this.port.clock.wall(),
      duration_ms: Math.max(0, Math.round(this.port.clock.now() - entry.startedAt)),
      exit_code: exitCode,
      signal: signal ?? signalOfExitCode(exitCode),
      output_end: offset,
      last_line_id: Math.max(entry.record.first_line_id, position.index > 0 ? position.line : position.line - 1),
      output_lines: count,
    };
    settleSent(entry);
    this.limit();
    this.emit((listener) => listener.finished?.(entry.record));
  }

  private limit(): void {
    for (const [id, entry] of this.entries) {
      const over = this.heldBytes > this.limits.totalBytes;
      const tooMany = this.entries.size > this.limits.records;
      if (!over && !tooMany) break;
      if (entry === this.running || id === this.lastId) continue;
      entry.spool?.drop(GONE);
      if (entry.output instanceof PackedLines && entry.output.bytes > 0) {
        this.heldBytes -= entry.output.bytes;
        entry.output = new PackedLines({ head: [], tail: [], omitted: entry.record.output_lines });
      }
      if (tooMany) this.entries.delete(id);
    }
  }

  private emit(call: (listener: Partial<CommandLogEvents>) => void): void {
    for (const listener of [...this.listeners]) call(listener);
  }
}
