/** A command in the history, and as a line of a journal: types and the form of a line. Pure. */
import type { HistoryCommand } from "../operations/history.ts";
import { defined } from "../protocol/defined.ts";
import { jsonOrNull } from "../protocol/json.ts";

/** Longest stored command line, in UTF-16 units: longer ones are scripts, found by their beginning. */
export const MAX_COMMAND = 16 * 1024;
/** Maximum stored output of a command, in UTF-16 units. */
export const MAX_OUTPUT = 64 * 1024;

const historyActors = ["person", "agent", "import"] as const satisfies readonly HistoryCommand["by"][];

export interface HistoryRecord extends Readonly<Omit<HistoryCommand, "id" | "server" | "output">> {
  /** Output, cut to head and tail. */
  readonly output: string | null;
}

/** A line of a journal: a record, and its number in this journal, from 1. */
interface JournalLine {
  readonly seq: number;
  /** Number of the line for the command's start, which this line replaces. */
  readonly begun?: number | undefined;
  readonly record: HistoryRecord;
}

export function writeLine({ seq, begun, record }: JournalLine): string {
  return `${JSON.stringify({ seq, ...defined({ begun }), ...record })}\n`;
}

/** A command that has begun: this line is read only if the line of its end is missing. */
const BEGIN = '{"begin":';
const CLOSING_BRACE = 0x7d;
/** Position of the letter that identifies these lines: most others have an `s` there. */
const KIND_AT = 2;
const BEGIN_LETTER = 0x62;
const MOVED_LETTER = 0x6d;
/** A command of another line continues in another journal. */
const MOVED = '{"moved":';

export function writeBegin(seq: number, record: HistoryRecord): string {
  return `${BEGIN}${seq},${JSON.stringify({ seq, ...record }).slice(1)}\n`;
}

export function writeMoved(seq: number, begun: number): string {
  return `${MOVED}${begun},"seq":${seq}}\n`;
}

/** A session was renamed. */
const NAMED = '{"named":';

/** @param at Unix time in ms */
export function writeNamed(id: string, name: string, at: number): string {
  return `${NAMED}${JSON.stringify(name)},"id":${JSON.stringify(id)},"at":${at}}\n`;
}

/** Returns null for any other line. */
export function readNamed(text: string): { readonly id: string; readonly name: string; readonly at: number } | null {
  if (!text.startsWith(NAMED)) return null;
  try {
    const { id, named: name, at } = JSON.parse(text);
    return typeof id === "string" && typeof name === "string" && Number.isFinite(at) ? { id, name, at } : null;
  } catch {
    return null;
  }
}

/**
 * The kind of a line, judged by its beginning. Half of the lines need no more.
 * @param text contains the line, from `start` to before `end`
 */
export function kindOf(
  text: string,
  start: number,
  end: number,
): { readonly kind: "begin" | "moved"; readonly begun: number } | null {
  const letter = text.charCodeAt(start + KIND_AT);
  const kind = letter === BEGIN_LETTER ? "begin" : letter === MOVED_LETTER ? "moved" : null;
  if (kind === null || !text.startsWith(kind === "begin" ? BEGIN : MOVED, start)) return null;
  if (text.charCodeAt(end - 1) !== CLOSING_BRACE) return null;
  const begun = Number.parseInt(text.slice(start + BEGIN.length, end), 10);
  return Number.isSafeInteger(begun) && begun > 0 ? { kind, begun } : null;
}

/** Returns null for other text: a piece that a full disk cut off, or another program's. */
export function readLine(text: string): JournalLine | null {
  const value = jsonOrNull(text);
  // Not copied without its number: that would take as long as reading it.
  return isLine(value) ? { seq: value.seq, begun: value.begun, record: value } : null;
}

const texts = ["cwd", "signal", "session", "session_id", "pane_id", "shell", "output"] as const;
const numbers = ["started_at", "duration_ms", "exit_code"] as const;

/** Checked by hand: a schema would take as long as the rest of an import. */
function isLine(value: unknown): value is HistoryRecord & { readonly seq: number; readonly begun?: number } {
  if (typeof value !== "object" || value === null) return false;
  const line = value as Readonly<Record<string, unknown>>;
  const { seq, begun, command, by } = line;
  if (begun !== undefined && typeof begun !== "number") return false;
  if (typeof seq !== "number" || !Number.isSafeInteger(seq) || seq < 1 || typeof command !== "string") return false;
  return (
    historyActors.some((actor) => actor === by) &&
    texts.every((key) => line[key] === null || typeof line[key] === "string") &&
    numbers.every((key) => line[key] === null || Number.isFinite(line[key]))
  );
}
