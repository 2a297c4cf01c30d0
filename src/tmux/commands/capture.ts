/** Reads rows of history and screen for `capture-pane`: raw or joined, with or without colours. */
import type { OperationOutput } from "../../operations/table.ts";
import type { Span } from "../../protocol/screen.ts";
import { TmuxError } from "../error.ts";
import type { Pane, ResolvedTarget } from "../model.ts";
import { optionAt } from "../options/options.ts";
import type { Arguments } from "../parse/arguments.ts";
import type { Run } from "../run.ts";

/** Rows per page of history. */
const PAGE = 10_000;
const LINES_PAGE = 2_000;

interface Row {
  readonly spans: readonly Span[];
  /** Whether the row continues in the next one. */
  readonly wrapped: boolean;
}

/** Returns null if -q ignores a screen that does not exist. */
export async function capture(run: Run, args: Arguments, place: ResolvedTarget): Promise<string | null> {
  const { pane } = place;
  const screen = await run.backend.call("screen.get", { format: "styled" }, pane.target);
  if (args.has("a")) {
    if (screen.alternate_active) throw new TmuxError("the screen behind the alternate one is not kept for reading");
    if (args.has("q")) return null;
    throw new TmuxError("no alternate screen");
  }
  const rows = screen.lines.map(plainRow);
  const [from, to] = [lineOf(args.get("S"), 0, screen.rows), lineOf(args.get("E"), screen.rows - 1, screen.rows)];
  const [first, last] = from <= to ? [from, to] : [to, from];
  const isJoined = args.has("J") && !screen.alternate_active;
  const history = first < 0 || isJoined ? Math.max(0, screen.total_lines - screen.rows) : 0;
  const above = history === 0 ? [] : await historyRows(run, pane, history);
  const read = [...above, ...rows];
  const all = [...(isJoined ? await withWraps(run, pane, read) : read), ...(await endOf(run, place))];
  // Rows above the screen; the status line of an ended pane moves the screen up.
  const hidden = all.length - rows.length;
  return textOf(all.slice(hidden + Math.max(first, -hidden), hidden + Math.min(last, screen.rows - 1) + 1), args);
}

/** The status line that tmux prints in a pane whose program has ended. */
async function endOf(run: Run, place: ResolvedTarget): Promise<Row[]> {
  if (place.pane.info.state !== "exited") return [];
  const { state } = await run.load();
  const format = optionAt(state, place, "remain-on-exit-format") ?? "";
  return format === "" || optionAt(state, place, "remain-on-exit") === "off"
    ? []
    : [{ spans: [{ text: await run.format(format, place) }], wrapped: false }];
}

function lineOf(text: string | undefined, usual: number, rows: number): number {
  if (text === undefined) return usual;
  if (text === "-") return usual === 0 ? Number.NEGATIVE_INFINITY : rows - 1;
  const value = Number(text);
  return /^-?\d+$/.test(text) ? value : usual;
}

function plainRow(line: string | readonly Span[]): Row {
  return { spans: typeof line === "string" ? [{ text: line }] : line, wrapped: false };
}

/** The rows above the screen, oldest first. */
async function historyRows(run: Run, pane: Pane, total: number): Promise<Row[]> {
  const all: Row[] = [];
  while (all.length < total) {
    const limit = Math.min(PAGE, total - all.length);
    const page = await run.backend.call("scrollback.get", { offset: all.length, limit, format: "styled" }, pane.target);
    if (page.lines.length === 0) break;
    all.push(...page.lines.map(plainRow));
  }
  return all;
}

/** Marks the rows that continue in the next one. The rows end where the pane's text does. */
async function withWraps(run: Run, pane: Pane, rows: readonly Row[]): Promise<readonly Row[]> {
  const wraps: boolean[] = [];
  const first = await run.backend.call("lines.get", { limit: 1 }, pane.target);
  for (let from: { line: number; col: number } | null = { line: first.first_line, col: 0 }; from !== null; ) {
    const input = { from_line: from.line, from_col: from.col, limit: LINES_PAGE };
    const page: OperationOutput<"lines.get"> = await run.backend.call("lines.get", input, pane.target);
    wraps.push(...page.rows.map(({ wrapped }) => wrapped === true));
    from = page.next;
  }
  // The text ends above the blank rows.
  const missing = Math.max(0, rows.length - wraps.length);
  return rows.map((row, i) => ({ ...row, wrapped: wraps[i + wraps.length - rows.length + missing] ?? false }));
}

function textOf(rows: readonly Row[], args: Arguments): string {
  const keepsBlanks = args.has("J") || args.has("N");
  let text = "";
  let style = PLAIN;
  for (const [i, { spans, wrapped }] of rows.entries()) {
    let line = "";
    for (const span of spans) {
      if (args.has("e")) {
        const next = styleOf(span);
        line += changeOf(style, next);
        style = next;
      }
      line += span.text;
    }
    const isLast = i === rows.length - 1;
    if (!keepsBlanks && !args.has("e")) line = line.replace(/ +$/, "");
    text += wrapped && args.has("J") && !isLast ? line : isLast ? line : `${line}\n`;
  }
  return text;
}

/** SGR parameters. */
interface Style {
  readonly flags: readonly string[];
  readonly fg: string;
  readonly bg: string;
}

const PLAIN: Style = { flags: [], fg: "39", bg: "49" };

function styleOf({ fg, bg, ...span }: Span): Style {
  const all = { bold: 1, faint: 2, italic: 3, underline: 4, blink: 5, inverse: 7, strikethrough: 9 } as const;
  const flags = (Object.keys(all) as (keyof typeof all)[]).flatMap((flag) =>
    span[flag] === true ? [String(all[flag])] : [],
  );
  return { flags, fg: colorOf(fg, 30), bg: colorOf(bg, 40) };
}

/**
 * The SGR sequence that changes one style into another, as tmux writes it: it resets all attributes if a flag is
 * removed.
 */
function changeOf(from: Style, to: Style): string {
  const isReset = from.flags.some((flag) => !to.flags.includes(flag));
  const flags = isReset ? ["0", ...to.flags] : to.flags.filter((flag) => !from.flags.includes(flag));
  const colors = (["fg", "bg"] as const).flatMap((side) =>
    isReset || from[side] !== to[side] ? [`\x1b[${to[side]}m`] : [],
  );
  return `${flags.length === 0 ? "" : `\x1b[${flags.join(";")}m`}${colors.join("")}`;
}

function colorOf(color: Span["fg"], base: number): string {
  if (color === undefined) return String(base + 9);
  if ("rgb" in color) return `${base + 8};2;${color.rgb.r};${color.rgb.g};${color.rgb.b}`;
  if (color.indexed < 8) return String(base + color.indexed);
  return color.indexed < 16 ? String(base + 52 + color.indexed) : `${base + 8};5;${color.indexed}`;
}
