/**
 * One command of the log besides its record: the text that exec sent, the text that the shell showed and reported, and
 * reasons why its result is not exact. Functions over one entry; the log decides when they apply.
 */
import type { CommandRecord } from "../../protocol/commands.ts";
import type { Spool } from "../output/spool.ts";
import { StoredOutput } from "../output/stored-output.ts";
import type { ShellMark } from "../ports.ts";
import { PackedLines } from "../text/retained-lines.ts";
import { type OutputGaps, RunningOutput } from "../text/running-output.ts";
import type { TerminalText, TextPosition } from "../text/text.ts";
import type { ChildShell } from "./child-shells.ts";

/** Maximum characters of a stored command line. */
export const MAX_COMMAND_LINE = 65_536;

/** Counters of output that is not shown as printed, at the command's start. */
interface Counters {
  readonly scrolledAway: number;
  readonly replacedParts: number;
}

export function countersOf({ scrolledAway, replacedParts }: TerminalText): Counters {
  return { scrolledAway, replacedParts };
}

/** One command of the log. */
export interface CommandEntry extends Counters {
  record: CommandRecord;
  readonly startedAt: number;
  /** The text that exec sent, if any. */
  readonly sent: SentCommand | null;
  /** The text between B and C, and the command that the shell reports: both are compared with `sent`. */
  readonly shownText: string | null;
  reportedText: string | null;
  /** Whether blanks preceded the typed text. */
  readonly indented: boolean;
  /** The shell's report with C about its own history. */
  readonly history: ShellHistoryParams;
  /** The command's number in the shell; null without one. */
  readonly number: number | null;
  /** The shell that ran it; null: the session's own. */
  readonly shell: ChildShell | null;
  /** Whether its marks were trusted, and each arrived in time. */
  verified: boolean;
  /** Reasons why its result is not exact, in the order of their discovery. */
  readonly doubts: string[];
  /** Its output while it runs; afterwards the retained part. */
  output: RunningOutput | PackedLines;
  /** Takes output beyond memory's limit; null when that is lost. */
  readonly spool: Spool | null;
  readonly gaps: OutputGaps;
  /** Whether only its record was restored with the session. */
  readonly isRestored?: true;
}

/** The status of a D, and its position. */
export interface ShellStatus {
  readonly exitCode: number | null;
  readonly offset: number;
  readonly position: TextPosition;
}

/**
 * Parameters of C by which a shell reports whether its own history keeps a command. `history`: `no`, or
 * `later` when only the next C can say (`kept`: 1 or 0). `entry`: 1 if its history has grown by one entry. A
 * shell without these parameters has kept the command that it reports with E.
 */
interface ShellHistoryParams {
  readonly history?: string | undefined;
  readonly kept?: string | undefined;
  readonly entry?: string | undefined;
}

/** Origin of a command, which decides whether a history of commands may keep it. */
export interface CommandOrigin {
  readonly sent: SentCommand | null;
  readonly reportedText: string | null;
  readonly shownText: string | null;
  readonly indented: boolean;
  readonly history: ShellHistoryParams;
  readonly shell: ChildShell | null;
}

/** A command typed by exec. */
export interface SentCommand {
  readonly command: string;
  /** The line that the editor should hold. */
  readonly line: string;
  /** Whether a program requested it: an agent, or a script over an API. */
  readonly byProgram: boolean;
}

/** Whether the command that ran is the one sent. `open`: the shell may still report. `ran` is null when unknown. */
export type Comparison =
  | { readonly kind: "same"; readonly ran?: null }
  | { readonly kind: "open" | "differs"; readonly ran: string | null };

const PRIVATE_REASON = "output during a password prompt is not stored";
const NOT_REQUESTED = "only output of commands started by exec or run is kept whole (spool_command_bytes)";
const NOT_RESTORED = "the command ran before the session crashed, and checkpoints do not contain command outputs";
const NOT_COMPARED = "the command that the shell ran could not be verified";
/** Why an output was dropped. */
export const REPLACED_BY_NEWER = "newer commands replaced it";

/** The retained output of a command. */
export function storedOutput({ output, spool, gaps, isRestored }: CommandEntry, text: TerminalText): StoredOutput {
  const isOver = output instanceof PackedLines;
  const lines = isOver ? output.lines() : output.collect(text.position());
  const isGone = isOver && output.bytes === 0;
  const why = isRestored ? NOT_RESTORED : isGone ? REPLACED_BY_NEWER : spool === null ? NOT_REQUESTED : PRIVATE_REASON;
  return new StoredOutput(lines, spool?.openView() ?? null, gaps.cutLines, why);
}

/** The record of a command that begins at a mark. */
export function startedRecord(
  { verified, offset, position }: ShellMark,
  { id, line, cwd, at }: { id: number; line: string | null; cwd: string | null; at: number },
): CommandRecord {
  return {
    id,
    command: line === null ? null : cutCommand(line),
    cwd,
    state: "running",
    started_at: at,
    ended_at: null,
    duration_ms: null,
    exit_code: null,
    signal: null,
    verified,
    output_start: offset,
    output_end: null,
    first_line_id: position.line,
    last_line_id: null,
    output_lines: 0,
  };
}

/** A command whose record alone was restored. */
export function restoredEntry(record: CommandRecord): CommandEntry {
  const { command, verified, output_lines: omitted } = record;
  return {
    record,
    startedAt: 0,
    scrolledAway: 0,
    replacedParts: 0,
    sent: null,
    shownText: command,
    reportedText: command,
    indented: false,
    history: {},
    number: null,
    shell: null,
    verified,
    doubts: [],
    output: new PackedLines({ head: [], tail: [], omitted }),
    spool: null,
    gaps: { cutLines: 0, isPrivate: false },
    isRestored: true,
  };
}

export function cutCommand(command: string): string {
  return command.slice(0, MAX_COMMAND_LINE);
}

/** Records whether the command that ran is the one sent, if known. */
export function settleSent(entry: CommandEntry): void {
  const { sent: _earlier, warnings = [], ...record } = entry.record;
  const { sent, verified } = entry;
  if (sent === null) return;
  const { kind, ran = null } = compare(entry);
  const doubts = warnings.filter((each) => each !== NOT_COMPARED);
  if (kind !== "same" && ran === null && record.state !== "running") doubts.push(NOT_COMPARED);
  const doubted = doubts.length === 0 ? record : { ...record, warnings: doubts };
  if (kind === "same") entry.record = { ...doubted, command: cutCommand(sent.command), verified };
  else if (ran === null) entry.record = { ...doubted, verified: false };
  else entry.record = { ...doubted, command: cutCommand(ran), verified: false, sent: sent.command };
}

/** Marks a running command's result as not exact. */
export function addDoubt(entry: CommandEntry, why: string): void {
  if (entry.doubts.includes(why)) return;
  entry.doubts.push(why);
  entry.verified = false;
  entry.record = { ...entry.record, verified: false };
}

/** Reasons why the screen does not show everything that a command printed. */
export function doubtsOf(
  { scrolledAway, replacedParts, doubts: known, output }: Counters & Pick<CommandEntry, "doubts" | "output">,
  text: TerminalText,
): string[] {
  const lost = text.scrolledAway - scrolledAway;
  const doubts = [...known];
  if (text.alternate) {
    doubts.push("the command ended on the alternate screen, whose text is not in the output");
  }
  if (lost > 0) {
    doubts.push(`${lost} rows left a scroll region and are not in the output`);
  }
  const replaced = text.replacedParts - replacedParts;
  if (replaced > 0) doubts.push(`${replaced} parts of the output are not UTF-8; each is shown as U+FFFD`);
  if (output instanceof RunningOutput && output.isOverprinted()) {
    doubts.push("lines were overwritten, moved or erased after the cursor moved up; the output may lack some");
  }
  return doubts;
}

export function compare({
  sent,
  shownText,
  reportedText,
}: Pick<CommandEntry, "sent" | "shownText" | "reportedText">): Comparison {
  if (sent === null) return { kind: "same" };
  if (reportedText !== null)
    return isSame(sent.line, reportedText) ? { kind: "same" } : { kind: "differs", ran: reportedText };
  return isShown(sent.line, shownText) ? { kind: "same" } : { kind: "open", ran: shownText };
}

/** Whether the line is the one that ran, ignoring blanks, which shells change in their histories. */
function isSame(line: string, ran: string): boolean {
  if (line === ran) return true;
  const blanks = /\s+/g;
  return line.replace(blanks, " ").trim() === ran.replace(blanks, " ").trim();
}

/** Like isSame for text on the terminal, where lines are wrapped and tabs are blanks. */
function isShown(line: string, shown: string | null): boolean {
  const blanks = /\s+/g;
  return shown !== null && line.replace(blanks, "") === shown.replace(blanks, "");
}

/** The text between B and C, including surrounding blanks, until the shell names the command. */
export function typedBetween(text: TerminalText, from: TextPosition | null, end: TextPosition): string {
  if (from === null) return "";
  return text
    .lines(from.line, end.line)
    .map(({ id, text: line }) => line.slice(id === from.line ? from.index : 0, id === end.line ? end.index : undefined))
    .join("\n");
}
