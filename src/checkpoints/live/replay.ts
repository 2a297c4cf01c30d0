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
const LEAST_TAIL = 100;
const encoder = new TextEncoder();
const CommandsSchema = v.array(CommandRecordSchema);

export interface Replay {
  readonly record: PaneRecord;
  readonly restored: RestoredPane;
  /** The foreground command. */
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
  const above = withGaps(storedHistory.lines);
  // Unprinted lines need not be parsed.
  const tail = request.run ? Math.max(request.rows, LEAST_TAIL) : 0;
  // Lines after a gap keep their numbers.
  const first = storedHistory.first + storedHistory.lines.length - above.length;
  const lines = above.splice(0, Math.max(0, above.length - tail));
  const old = request.run ? oldLines(stored, above) : [];
  // New output begins below the old lines, and no earlier cursor points past it.
  const end = first + lines.length + old.length;
  const text = request.run ? continued(old, stored.record, request) : asItWas(stored);
  const restored = {
    history: { lines: encoder.encode([...lines.map(closed), ""].join(LINE_END)), first },
    text: encoder.encode(text),
    commands: commandsOf(stored),
    numbers: request.numbers ?? stored.record.numbers,
    places: stored.record.places?.map((place) =>
      request.run && place[1] >= end ? ([place[0], end, 0] as const) : place,
    ),
    hasCrashed: !request.run,
  };
  return { record: stored.record, restored, foreground: stored.record.foreground, history: storedHistory.file };
}

/** The lines in printable form; missing ones are replaced by their number. */
function withGaps(lines: readonly (string | null)[]): string[] {
  if (lines.every((line) => line !== null)) return [...lines];
  const out: string[] = [];
  let missing = 0;
  const flush = (): void => {
    if (missing > 0) out.push(`${DIM}[${plural(missing, "line")} of the checkpoint cannot be read]${RESET}`);
    missing = 0;
  };
  for (const line of lines) {
    if (line === null) missing++;
    else {
      flush();
      out.push(line);
    }
  }
  flush();
  return out;
}

const DAMAGED = [`${DIM}[the screen of the checkpoint cannot be read]${RESET}`];

function oldLines(stored: StoredPane, above: readonly string[]): readonly string[] {
  const old = [...above, ...(stored.screen ?? DAMAGED), ...(stored.alternate ?? [])];
  while (old.length > 0 && old.at(-1) === "") old.pop();
  return old;
}

/** The old lines above a rule; new output follows below it. */
function continued(old: readonly string[], { saved_at }: PaneRecord, { cols, why, notes }: ReplayRequest): string {
  const rule = ruleText(`restored: above as of ${moment(saved_at)}, ${why}`, cols);
  const dimmed = notes.map((note) => `${DIM}${note}${RESET}`);
  return [...old.map(closed), `${DIM}${rule}${RESET}`, ...dimmed, ""].join(LINE_END);
}

/** The screen alone. */
function asItWas({ screen, alternate, record: { cursor } }: StoredPane): string {
  const normal = (screen ?? DAMAGED).map(closed).join(LINE_END);
  const shown = alternate === null ? "" : `\x1b[?1049h\x1b[H${alternate.map(closed).join(LINE_END)}`;
  if (cursor === undefined) return normal + shown;
  return `${normal}${shown}\x1b[${cursor.row + 1};${cursor.col + 1}H${cursor.visible ? "" : "\x1b[?25l"}`;
}

/**
 * A line after which the next begins without styles. A line without styles stays unchanged: it is parsed three times as
 * fast.
 */
function closed(line: string): string {
  return line.includes("\x1b") ? line + RESET : line;
}

/** A line across the terminal with a text in it. */
function ruleText(words: string, cols: number): string {
  const text = ` ${words} `.slice(0, Math.max(0, cols - 4));
  return `──${text}${"─".repeat(Math.max(0, cols - 2 - text.length))}`;
}

/** Local time in the form `2026-11-22 10:31`. */
function moment(time: number): string {
  const date = new Date(time);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The commands; those that ran at that time ended with the pane. */
function commandsOf({ commands, record }: StoredPane): CommandRecord[] {
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
