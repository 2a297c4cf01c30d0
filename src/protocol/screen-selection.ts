/** The part of a screen that a program shows as selected or focused: a menu's item, a dialog's button. Pure. */
import type { Span } from "./screen.ts";

export type SpanStyle = Omit<Span, "text">;

/** A position on the screen: its first cell, from 0, and its number of cells. */
export interface DialogRow {
  readonly text: string;
  readonly row: number;
  readonly col: number;
  readonly width: number;
  readonly style: SpanStyle;
}

type Rows = readonly (readonly Span[])[];
type Cursor = { readonly row: number; readonly visible: boolean };

/** A run with its cells before its text was trimmed. */
interface SelectedRun extends DialogRow {
  readonly from: number;
  readonly to: number;
  readonly whole: string;
  readonly key: string;
}

/**
 * The item of a list whose check mark is highlighted; otherwise the text in inverse video, the highlighted row of a
 * list, or the text with the rarest background; null: none.
 */
export function selectedPart(rows: Rows, cursor: Cursor): DialogRow | null {
  const lines = rows.map(runsOf);
  const runs = lines.flat().filter(({ text }) => text !== "");
  const inverse = runs.filter(({ style }) => style.inverse === true);
  const line =
    checkedItem(lines) ??
    nearest(inverse, cursor) ??
    nearest(listItems(lines), cursor) ??
    nearest(rarest(runs.filter(({ style }) => style.bg !== undefined)), cursor);
  if (line === null) return null;
  const { text, row, col, width, style } = line;
  return { text, row, col, width, style };
}

/** The run in the cursor's row, else the shortest: a bar at the edge is longer than a selected item. */
function nearest<F extends DialogRow>(runs: readonly F[], cursor: Cursor): F | null {
  const here = cursor.visible ? runs.find(({ row }) => row === cursor.row) : undefined;
  return here ?? [...runs].sort((a, b) => a.width - b.width)[0] ?? null;
}

function rarest(runs: readonly SelectedRun[]): readonly SelectedRun[] {
  const size = (group: readonly SelectedRun[]): number => group.reduce((sum, { width }) => sum + width, 0);
  const byBackground = Object.values(Object.groupBy(runs, ({ key }) => key)).map((group) => group ?? []);
  return byBackground.sort((a, b) => size(a) - size(b))[0] ?? [];
}

/** The item of a highlighted check mark, `[*] label`: only the mark between the brackets has a style of its own. */
function checkedItem(lines: readonly SelectedRun[][]): DialogRow | null {
  for (const line of lines) {
    for (const [at, mark] of line.entries()) {
      const before = line[at - 1];
      const after = line[at + 1];
      if (before === undefined || after === undefined || mark.to - mark.from !== 1 || before.key !== after.key)
        continue;
      if (!/[[(]$/.test(before.whole) || !/^[\])]/.test(after.whole)) continue;
      const text = `${before.whole.slice(-1)}${mark.whole}${after.whole}`.trimEnd();
      return { text, row: mark.row, col: mark.from - 1, width: cells(text), style: mark.style };
    }
  }
  return null;
}

/** Minimum share of the screen in the style of a list's other rows: a smaller one is a heading's. */
const COMMON_SHARE = 0.1;

/**
 * Highlighted rows of lists, one per list: rows above or below have text in the same columns, and a common style. A row
 * between two such rows counts more than one at an end, and as much as a completely highlighted row.
 */
function listItems(lines: readonly SelectedRun[][]): readonly SelectedRun[] {
  const area = new Map<string, number>();
  for (const { key, from, to } of lines.flat()) area.set(key, (area.get(key) ?? 0) + to - from);
  const total = lines.flat().reduce((sum, { from, to }) => sum + to - from, 0);
  const areaOf = (run: SelectedRun | undefined): number =>
    run?.style.bg === undefined ? Number.POSITIVE_INFINITY : (area.get(run.key) ?? 0);
  const isItem = (run: SelectedRun, line: readonly SelectedRun[] = []): boolean => {
    const over = line.filter(({ from, to }) => from < run.to && to > run.from);
    const text = over.map(({ whole, from }) => whole.slice(Math.max(0, run.from - from), run.to - from)).join("");
    const isOne = over.every(({ key }) => key === over[0]?.key && key !== run.key);
    return text.trim() !== "" && isOne && areaOf(over[0]) >= total * COMMON_SHARE;
  };
  const best = new Map<string, { readonly run: SelectedRun; readonly sides: number }>();
  for (const [row, line] of lines.entries()) {
    for (const [at, run] of line.entries()) {
      // Highlighted parts side by side are a heading or a bar of labels.
      const isBar = [line[at - 1], line[at + 1]].some((each) => each !== undefined && isHighlighted(each));
      const isLabel = row === lines.length - 1 && line.length > 1;
      if (!isHighlighted(run) || run.text === "" || isBar || isLabel) continue;
      const isWholeRow = line.length === 1 && run.from === 0 && row > 0;
      const sides = isWholeRow ? 2 : [lines[row - 1], lines[row + 1]].filter((other) => isItem(run, other)).length;
      const list = `${run.from} ${run.to}`;
      // A heading is above its list.
      if (sides > 0 && sides >= (best.get(list)?.sides ?? 0)) best.set(list, { run, sides });
    }
  }
  const most = Math.max(...[...best.values()].map(({ sides }) => sides));
  return [...best.values()].filter(({ sides }) => sides === most).map(({ run }) => run);

  function isHighlighted(run: SelectedRun): boolean {
    return run.style.bg !== undefined && areaOf(run) < Math.max(...area.values());
  }
}

/** Runs of text whose cells have one background and are all inverse or none. */
function runsOf(spans: readonly Span[], row: number): SelectedRun[] {
  const merged: { whole: string; from: number; style: SpanStyle; key: string }[] = [];
  let from = 0;
  for (const { text, ...style } of spans) {
    const key = JSON.stringify([style.bg ?? null, style.inverse ?? false]);
    const last = merged.at(-1);
    if (last?.key === key) last.whole += text;
    else merged.push({ whole: text, from, style, key });
    from += cells(text);
  }
  return merged.map((run) => {
    const { whole, from: start } = run;
    const text = whole.trim();
    const col = start + cells(whole.slice(0, whole.length - whole.trimStart().length));
    return { ...run, text, row, col, width: cells(text), to: start + cells(whole) };
  });
}

/** Ranges of code points that take two cells, as terminals draw them. */
const wide = [
  [0x1100, 0x115f],
  [0x2e80, 0xa4cf],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x1f300, 0x1faff],
  [0x20000, 0x3fffd],
] as const;

/** Number of cells of a text. */
export function cells(text: string): number {
  let sum = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code >= 0x300 && /^[\p{Mn}\p{Me}\p{Cf}]$/u.test(char)) continue;
    sum += wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
  }
  return sum;
}
