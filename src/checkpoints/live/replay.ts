/**
 * Prepares a crashed pane for display: the stored lines above a rule that marks them as old; for reading only, the
 * unchanged screen. Types nothing and starts nothing.
 */
import * as v from "valibot";
import type { RestoredPane } from "../../pane/types.ts";
import { type CommandRecord, CommandRecordSchema } from "../../protocol/commands.ts";
import { jsonOrNull } from "../../protocol/json.ts";
import { plural } from "../../protocol/plural.ts";
import { readHistory, readPane, type StoredPane } from "../files/part-reader.ts";
import type { HistoryFile } from "../files/part-writer.ts";
import type { Foreground, PaneNumbers, PaneRecord } from "../files/record.ts";

const DIM = "\x1b[0;2m";
const RESET = "\x1b[0m";
const LINE_END = "\r\n";
/** Minimum lines of history printed above the old screen, so that it keeps its position on a taller terminal. */
const MIN_TAIL_LINES = 100;
const encoder = new TextEncoder();
const CommandsSchema = v.array(CommandRecordSchema);

export interface Replay {
  readonly record: PaneRecord;
  readonly restored: RestoredPane;
  readonly foreground: Foreground | null;
  /** The file with its lines above the screen, if complete. */
  readonly history: HistoryFile | null;
}

interface ReplayRequest {
  readonly directory: string;
  readonly pane: number;
  /** How the session crashed, as text. */
  readonly why: string;
  /** Whether the program starts; otherwise the old contents are shown. */
  readonly run: boolean;
  readonly cols: number;
  readonly rows: number;
  /** Numbers that the pane has issued, if there are more than its checkpoint contains. */
  readonly numbers?: PaneNumbers | undefined;
  /** More facts for the rule: parts that could not be restored. */
  readonly notes: readonly string[];
}

/** @throws WshError checkpoint_not_found, checkpoint_damaged, checkpoint_too_new, unsafe_path */
export function replay(request: ReplayRequest): Replay {
  const stored = readPane(request.directory, request.pane);
  const storedHistory = readHistory(request.directory, stored);
  const above = markGaps(storedHistory.lines);
  // Unprinted lines need not be parsed.
  const tail = request.run ? Math.max(request.rows, MIN_TAIL_LINES) : 0;
  // Lines after a gap keep their numbers.
  const first = storedHistory.first + storedHistory.lines.length - above.length;
  const lines = above.splice(0, Math.max(0, above.length - tail));
  const old = request.run ? screenLines(stored, above) : [];
  // New output begins below the old lines, and no earlier cursor points past it.
  const end = first + lines.length + old.length;
  const text = request.run ? appendRule(old, stored.record, request) : unchangedScreen(stored);
  const restored = {
    history: { lines: encoder.encode([...lines.map(endStyles), ""].join(LINE_END)), first },
    text: encoder.encode(text),
    commands: parseCommands(stored),
    numbers: request.numbers ?? stored.record.numbers,
    places: stored.record.places?.map((place) =>
      request.run && place[1] >= end ? ([place[0], end, 0] as const) : place,
    ),
    hasCrashed: !request.run,
  };
  return { record: stored.record, restored, foreground: stored.record.foreground, history: storedHistory.file };
}

/** The lines in printable form; missing ones are replaced by their number. */
function markGaps(lines: readonly (string | null)[]): string[] {
  if (lines.every((line) => line !== null)) return [...lines];
  const printable: string[] = [];
  let missing = 0;
  const flush = (): void => {
    if (missing > 0) printable.push(`${DIM}[${plural(missing, "line")} of the checkpoint cannot be read]${RESET}`);
    missing = 0;
  };
  for (const line of lines) {
    if (line === null) missing++;
    else {
      flush();
      printable.push(line);
    }
  }
  flush();
  return printable;
}

const DAMAGED_SCREEN = [`${DIM}[the screen of the checkpoint cannot be read]${RESET}`];

function screenLines(stored: StoredPane, above: readonly string[]): readonly string[] {
  const old = [...above, ...(stored.screen ?? DAMAGED_SCREEN), ...(stored.alternate ?? [])];
  while (old.length > 0 && old.at(-1) === "") old.pop();
  return old;
}

/** The old lines above a rule; new output follows below it. */
function appendRule(old: readonly string[], { saved_at }: PaneRecord, { cols, why, notes }: ReplayRequest): string {
  const rule = formatRule(`restored: above as of ${formatTime(saved_at)}, ${why}`, cols);
  const dimmed = notes.map((note) => `${DIM}${note}${RESET}`);
  return [...old.map(endStyles), `${DIM}${rule}${RESET}`, ...dimmed, ""].join(LINE_END);
}

/** The screen alone. */
function unchangedScreen({ screen, alternate, record: { cursor } }: StoredPane): string {
  const normalScreen = (screen ?? DAMAGED_SCREEN).map(endStyles).join(LINE_END);
  const alternateScreen = alternate === null ? "" : `\x1b[?1049h\x1b[H${alternate.map(endStyles).join(LINE_END)}`;
  if (cursor === undefined) return normalScreen + alternateScreen;
  return `${normalScreen}${alternateScreen}\x1b[${cursor.row + 1};${cursor.col + 1}H${cursor.visible ? "" : "\x1b[?25l"}`;
}

/**
 * A line after which the next begins without styles. A line without styles stays unchanged: it is parsed three times as
 * fast.
 */
function endStyles(line: string): string {
  return line.includes("\x1b") ? line + RESET : line;
}

/** A line across the terminal with a text in it. */
function formatRule(words: string, cols: number): string {
  const text = ` ${words} `.slice(0, Math.max(0, cols - 4));
  return `──${text}${"─".repeat(Math.max(0, cols - 2 - text.length))}`;
}

/** Local time in the form `2026-11-22 10:31`. */
function formatTime(time: number): string {
  const date = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The commands; those that ran at that time ended with the pane. */
function parseCommands({ commands, record }: StoredPane): CommandRecord[] {
  const parsed = v.safeParse(CommandsSchema, jsonOrNull(commands));
  if (!parsed.success) return [];
  return parsed.output.map((command) => ({
    ...command,
    ...(command.state === "running" ? { state: "lost" as const, ended_at: record.saved_at } : {}),
    output_start: 0,
    output_end: 0,
    last_line_id: command.last_line_id ?? record.screen_line,
  }));
}
