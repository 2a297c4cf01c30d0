/**
 * One command of the log beside its record: what exec sent for it, what the shell showed and said of it, and what keeps
 * its result from being exact. Functions over one entry; the log decides when they apply.
 */
import type { CommandRecord } from "../../protocol/commands.ts";
import type { PackedLines } from "../text/kept-lines.ts";
import type { RunningOutput } from "../text/running-output.ts";
import type { TerminalText } from "../text/text.ts";

/** Characters of a command line that are kept. */
export const MAX_COMMAND_LINE = 65_536;

/** One command of the log. */
export interface Entry {
  record: CommandRecord;
  readonly startedAt: number;
  /** Rows that had been lost by then. */
  readonly scrolledAway: number;
  /** What exec has sent, when it did. */
  readonly sent: Sent | null;
  /** The text between B and C, and what the shell says that it ran: what is compared with `sent`. */
  readonly shown: string | null;
  said: string | null;
  /** Whether its marks were, and each came in time. */
  verified: boolean;
  /** What keeps its result from being exact, as it becomes known. */
  readonly doubts: string[];
  /** While it runs, what it has printed; once it has ended, what is kept of that. */
  output: RunningOutput | PackedLines;
}

/** A command that exec types. */
export interface Sent {
  readonly command: string;
  /** The line as the editor is to hold it. */
  readonly line: string;
}

/** Whether what ran is what was sent. `open`: the shell may still say. `ran` is null where nothing tells. */
export type Comparison =
  | { readonly kind: "same"; readonly ran?: null }
  | { readonly kind: "open" | "differs"; readonly ran: string | null };

export function cutCommand(command: string): string {
  return command.slice(0, MAX_COMMAND_LINE);
}

/** Says in the record whether what ran is what was sent, as far as it is known. */
export function settleSent(entry: Entry): void {
  const { sent: _earlier, ...record } = entry.record;
  const { sent, verified } = entry;
  if (sent === null) return;
  const { kind, ran = null } = compare(entry);
  if (kind === "same") entry.record = { ...record, command: cutCommand(sent.command), verified };
  else if (ran === null) entry.record = { ...record, verified: false };
  else entry.record = { ...record, command: cutCommand(ran), verified: false, sent: sent.command };
}

/** A running command's result is not exact. */
export function doubt(entry: Entry, why: string): void {
  if (entry.doubts.includes(why)) return;
  entry.doubts.push(why);
  entry.verified = false;
  entry.record = { ...entry.record, verified: false };
}

/** Why the screen does not show all that a command has printed. */
export function doubtsOf({ scrolledAway, doubts: known }: Entry, text: TerminalText): string[] {
  const lost = text.scrolledAway - scrolledAway;
  const doubts = [...known];
  if (text.alternate) {
    doubts.push("the command ended on the alternate screen: what it showed there is not in the output");
  }
  if (lost > 0) {
    doubts.push(`${lost} rows left a scroll region that the terminal was given: they are not in the output`);
  }
  return doubts;
}

export function compare({ sent, shown, said }: Pick<Entry, "sent" | "shown" | "said">): Comparison {
  if (sent === null) return { kind: "same" };
  if (said !== null) return isSame(sent.line, said) ? { kind: "same" } : { kind: "differs", ran: said };
  return isShown(sent.line, shown) ? { kind: "same" } : { kind: "open", ran: shown };
}

/** Blanks apart, which shells change in their histories, the line is the one that ran. */
function isSame(line: string, ran: string): boolean {
  if (line === ran) return true;
  const blanks = /\s+/g;
  return line.replace(blanks, " ").trim() === ran.replace(blanks, " ").trim();
}

/** The same of what the terminal shows, where a line is wrapped and a tab is blanks. */
function isShown(line: string, shown: string | null): boolean {
  const blanks = /\s+/g;
  return shown !== null && line.replace(blanks, "") === shown.replace(blanks, "");
}
