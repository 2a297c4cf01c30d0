/**
 * The commands that ran at the session's prompt: when each began and ended, how, and what it printed (design §6.2).
 *
 * Fed in stream order with the shell's marks, with lines that leave the emulator's hot window, and with the child's end.
 * Only D ends a command; a prompt without D, while the shell's own group holds the terminal, ends it with exit code null;
 * the child's end ends it with the child's code. Once a mark with the session's nonce was seen, marks without it count
 * for nothing but the state of a shell inside what runs.
 *
 * Output is what the screen and history show at the end, from the place where C stood to the place where D stands; lines
 * above C belong to it when they were rewritten meanwhile (a command that clears the screen). Lines that leave are taken
 * as they go, so no limit of the history cuts them. Records, and the bytes they hold, are bounded: the oldest output
 * goes first, then the oldest record.
 */
import type { CommandRecord } from "../protocol/commands.ts";
import type { PtyExit } from "../pty/port.ts";
import { HeadTail, type KeptLines, signalOfExitCode } from "./commands.ts";
import type { Clock, ShellMark, TerminalText, TextPosition } from "./exec-port.ts";
import type { ShellPhase } from "./program-state.ts";

export interface RecorderLimits {
  /** Records kept. */
  readonly records: number;
  /** Bytes of output that one record keeps, half from its start and half from its end. */
  readonly recordBytes: number;
  /** Bytes of output that all records keep together. */
  readonly totalBytes: number;
}

/** 512 KiB a record is more than a reader of a result takes; 8 MiB in all keeps a busy session within its memory goal. */
export const defaultRecorderLimits: RecorderLimits = {
  records: 1_000,
  recordBytes: 512 * 1024,
  totalBytes: 8 * 1024 * 1024,
};

/** Characters of a command line that are kept. */
const MAX_COMMAND_LINE = 65_536;

export interface RecorderPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  /** Directory of the shell, as far as it is known. */
  cwd(): string | null;
  /** Whether the shell's own process group holds the terminal; null when unknown. */
  shellHoldsTerminal(): boolean | null;
}

export interface RecorderEvents {
  /** C: a command began. */
  started(record: CommandRecord): void;
  /** It ended, was lost, or the child ended under it. */
  finished(record: CommandRecord): void;
  /** B: the shell takes input. */
  prompt(): void;
  /** The session's child has ended, and its last command with it. */
  exited(): void;
  /** The command line has been taken: everything between the two places is the echo of input. */
  commandLine(from: TextPosition, to: TextPosition): void;
}

interface Entry {
  record: CommandRecord;
  readonly start: TextPosition;
  readonly startedAt: number;
  /** Lines taken as they left; the rest is read at the end. */
  readonly taken: HeadTail;
  /** Id of the next line to take. */
  next: number;
  /** Text of the screen above C when it began: what differs later was rewritten by the command. */
  readonly above: ReadonlyMap<number, string>;
  /** Whether a line above C was found to be output and taken. */
  raised: boolean;
  /** Complete when the command has ended. */
  kept: KeptLines | null;
  keptBytes: number;
}

export class CommandRecorder {
  private readonly entries = new Map<number, Entry>();
  private readonly listeners = new Set<Partial<RecorderEvents>>();
  private running: Entry | null = null;
  private heldBytes = 0;
  private lastId = 0;
  private current: ShellPhase = "none";
  private innerPhase: ShellPhase = "none";
  private sawVerified = false;
  private promptBegin: TextPosition | null = null;
  private promptEnd: TextPosition | null = null;
  private status: { readonly exitCode: number | null; readonly offset: number } | null = null;
  private commandText: string | null = null;
  private expected: string | null = null;

  constructor(
    private readonly port: RecorderPort,
    private readonly limits: RecorderLimits = defaultRecorderLimits,
  ) {}

  /** Where the session's shell is. */
  get phase(): ShellPhase {
    return this.current;
  }

  /** Where a shell inside what runs is, by marks that are not trusted. */
  get inner(): ShellPhase {
    return this.innerPhase;
  }

  /** Whether marks with the session's nonce were seen. */
  get verified(): boolean {
    return this.sawVerified;
  }

  /** Whether any marks that count were seen: there is shell integration. */
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

  /** What the newest D said and where: a shell sends one without a command for text that it refused. */
  get lastStatus(): { readonly exitCode: number | null; readonly offset: number } | null {
    return this.status;
  }

  /** Whether the shell's own process group holds the terminal; null when unknown. */
  shellHoldsTerminal(): boolean | null {
    return this.port.shellHoldsTerminal();
  }

  /** The command that runs, if one does. */
  get runningCommand(): CommandRecord | null {
    return this.running?.record ?? null;
  }

  /** Records that are kept, oldest first. */
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

  /** Id that the next command will get. */
  get nextId(): number {
    return this.lastId + 1;
  }

  /** Lines of a command's output, up to now while it runs; null when the record is not kept. */
  output(id: number): KeptLines | null {
    const entry = this.entries.get(id);
    if (entry === undefined) return null;
    return entry.kept ?? this.collect(entry, this.port.text.position());
  }

  /** Listens until disposed. */
  on(events: Partial<RecorderEvents>): Disposable {
    this.listeners.add(events);
    return { [Symbol.dispose]: () => void this.listeners.delete(events) };
  }

  /** The next command is this one: exec knows what it sends better than the shell's history does. Null forgets it. */
  expect(command: string | null): void {
    this.expected = command;
  }

  /** A mark of the stream, when everything before it has been parsed. */
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
        this.commandText = mark.commandLine;
        break;
      case "C":
        this.begin(mark);
        break;
      case "D":
        this.status = { exitCode: mark.exitCode, offset: mark.offset };
        if (this.running !== null) this.end(mark.position, mark.offset, mark.exitCode, null, "finished");
        this.current = "ended";
        break;
    }
  }

  /**
   * Lines `first` to `last` are leaving the emulator's hot window and can still be read. Must be called before they
   * cannot. Costs nothing unless a command runs, and reads no line that would be dropped again.
   */
  retired(first: number, last: number): void {
    const entry = this.running;
    if (entry === null) return;
    const rewritten = this.firstRewritten(entry, last);
    if (rewritten !== null) {
      entry.raised = true;
      entry.next = rewritten;
    }
    if (last >= entry.next) this.take(entry, Math.max(first, entry.next), last);
  }

  /** The session's child has ended and its last output was parsed. */
  exited(exit: PtyExit): void {
    if (this.running !== null) {
      const { text } = this.port;
      const known = exit.code !== null || exit.signal !== null;
      this.end(text.position(), text.offset, exit.code, exit.signal, known ? "finished" : "lost");
    }
    this.current = "none";
    this.innerPhase = "none";
    this.promptEnd = null;
    this.emit((listener) => listener.exited?.());
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
    const { text, clock } = this.port;
    const start = mark.position;
    const line = (this.expected ?? mark.commandLine ?? this.commandText ?? this.typedLine(start))?.slice(
      0,
      MAX_COMMAND_LINE,
    );
    const id = ++this.lastId;
    const above = new Map<number, string>();
    for (let n = text.screenTop(); n < start.line; n++) above.set(n, text.line(n) ?? "");
    const entry: Entry = {
      record: {
        id,
        command: line ?? null,
        cwd: this.port.cwd(),
        state: "running",
        started_at: clock.wall(),
        ended_at: null,
        duration_ms: null,
        exit_code: null,
        signal: null,
        verified: mark.verified,
        output_start: mark.offset,
        output_end: null,
        first_line_id: start.line,
        last_line_id: null,
        output_lines: 0,
      },
      start,
      startedAt: clock.now(),
      taken: new HeadTail(this.limits.recordBytes),
      next: start.line,
      above,
      raised: false,
      kept: null,
      keptBytes: 0,
    };
    this.entries.set(id, entry);
    this.running = entry;
    this.expected = null;
    this.commandText = null;
    this.innerPhase = "none";
    this.current = "running";
    this.limit();
    this.emit((listener) => listener.started?.(entry.record));
  }

  /** What stands between B and C, when the shell did not say what it runs. */
  private typedLine(end: TextPosition): string | null {
    const from = this.promptEnd;
    if (from === null) return null;
    const lines: string[] = [];
    for (let n = from.line; n <= end.line; n++) {
      const whole = this.port.text.line(n) ?? "";
      lines.push(whole.slice(n === from.line ? from.index : 0, n === end.line ? end.index : undefined));
    }
    const typed = lines.join("\n").trim();
    return typed === "" ? null : typed;
  }

  private end(
    position: TextPosition,
    offset: number,
    exitCode: number | null,
    signal: string | null,
    state: "finished" | "lost",
  ): void {
    const entry = this.running;
    if (entry === null) return;
    this.running = null;
    const kept = this.collect(entry, position);
    entry.kept = kept;
    entry.keptBytes = [...kept.head, ...kept.tail].reduce((sum, line) => sum + line.length, 0);
    this.heldBytes += entry.keptBytes;
    const count = kept.head.length + kept.tail.length + kept.omitted;
    entry.record = {
      ...entry.record,
      state,
      ended_at: this.port.clock.wall(),
      duration_ms: Math.max(0, Math.round(this.port.clock.now() - entry.startedAt)),
      exit_code: exitCode,
      signal: signal ?? signalOfExitCode(exitCode),
      output_end: offset,
      last_line_id: Math.max(entry.record.first_line_id, position.index > 0 ? position.line : position.line - 1),
      output_lines: count,
    };
    this.limit();
    this.emit((listener) => listener.finished?.(entry.record));
  }

  /** The whole output as of `end`: what was taken, and what still stands on the screen. */
  private collect(entry: Entry, end: TextPosition): KeptLines {
    const all = new HeadTail(this.limits.recordBytes);
    const taken = entry.taken.kept();
    for (const line of taken.head) all.push(line);
    all.skip(taken.omitted);
    for (const line of taken.tail) all.push(line);
    for (let n = this.firstRewritten(entry, end.line) ?? entry.next; n <= end.line; n++) {
      // A line that is not there has been erased together with the history.
      const line = this.lineOf(entry, n, n === end.line ? end.index : undefined);
      if (line !== null && (n < end.line || line !== "")) all.push(line);
    }
    return all.kept();
  }

  /** The first line above C, at most `last`, that the command has rewritten; null when there is none (any more). */
  private firstRewritten(entry: Entry, last: number): number | null {
    if (entry.raised || entry.next !== entry.start.line) return null;
    for (const [id, before] of entry.above) {
      if (id > last) return null;
      const now = this.port.text.line(id);
      if (now !== null && now !== before) return id;
    }
    return null;
  }

  private take(entry: Entry, first: number, last: number): void {
    const { taken } = entry;
    let n = first;
    for (; n <= last && !taken.headFull; n++) taken.push(this.lineOf(entry, n) ?? "");
    // Of the rest only the end can stay: find how far back it reaches before reading forward.
    let bytes = 0;
    let from = last + 1;
    while (from > n && bytes <= taken.tailBudget) bytes += (this.port.text.line(--from)?.length ?? 0) + 1;
    taken.skip(from - n);
    for (n = from; n <= last; n++) taken.push(this.lineOf(entry, n) ?? "");
    entry.next = last + 1;
  }

  /** The part of a line that is output, up to `end`; null when the line is not there. */
  private lineOf(entry: Entry, id: number, end?: number): string | null {
    const { start } = entry;
    return this.port.text.line(id)?.slice(id === start.line ? start.index : 0, end) ?? null;
  }

  private limit(): void {
    for (const [id, entry] of this.entries) {
      const over = this.heldBytes > this.limits.totalBytes;
      if (!over && this.entries.size <= this.limits.records) break;
      if (entry === this.running || id === this.lastId) continue;
      if (over && entry.kept !== null && entry.keptBytes > 0) {
        this.heldBytes -= entry.keptBytes;
        entry.kept = { head: [], tail: [], omitted: entry.record.output_lines };
        entry.keptBytes = 0;
      }
      if (this.entries.size > this.limits.records) this.entries.delete(id);
    }
  }

  private emit(call: (listener: Partial<RecorderEvents>) => void): void {
    for (const listener of [...this.listeners]) call(listener);
  }
}

function nextPhase(phase: ShellPhase, kind: ShellMark["kind"]): ShellPhase {
  switch (kind) {
    case "A":
      return "drawing";
    case "B":
      return "prompt";
    case "C":
      return "running";
    case "D":
      return "ended";
    case "E":
      return phase;
  }
}
