/** The part of a screen that a program shows as selected or focused: a menu's item, a dialog's button. Pure. */
import type { Span } from "./screen.ts";

export type SpanStyle = Omit<Span, "text">;

/** A place on the screen: the cell where it begins, from 0, and how many cells it takes. */
export interface Found {
  readonly text: string;
  readonly row: number;
  readonly col: number;
  readonly width: number;
  readonly style: SpanStyle;
}

type Rows = readonly (readonly Span[])[];
type Cursor = { readonly row: number; readonly visible: boolean };

/** What is in inverse video, else with the rarest background; null: nothing is. */
export function selectedPart(rows: Rows, cursor: Cursor): Found | null {
  const runs = runsOf(rows);
  const inverse = runs.filter(({ style }) => style.inverse === true);
  if (inverse.length > 0) return nearest(inverse, cursor);
  const byBackground = new Map<string, Found[]>();
  for (const run of runs.filter(({ style }) => style.bg !== undefined)) {
    const key = JSON.stringify(run.style.bg);
    byBackground.set(key, [...(byBackground.get(key) ?? []), run]);
  }
  const size = (group: readonly Found[]): number => group.reduce((sum, { width }) => sum + width, 0);
  const [rarest] = [...byBackground.values()].sort((a, b) => size(a) - size(b));
  return rarest === undefined ? null : nearest(rarest, cursor);
}

/** The run in the cursor's row, else the shortest: a bar at the edge is longer than a selected item. */
function nearest(runs: readonly Found[], cursor: Cursor): Found | null {
  const here = cursor.visible ? runs.find(({ row }) => row === cursor.row) : undefined;
  return here ?? [...runs].sort((a, b) => a.width - b.width)[0] ?? null;
}

/** Runs of text whose cells have one background and are all inverse or none. */
function runsOf(rows: Rows): Found[] {
  return rows.flatMap((spans, row) => {
    const merged: { text: string; index: number; style: SpanStyle; key: string }[] = [];
    let index = 0;
    for (const { text, ...style } of spans) {
      const key = JSON.stringify([style.bg ?? null, style.inverse ?? false]);
      const last = merged.at(-1);
      if (last?.key === key) last.text += text;
      else merged.push({ text, index, style, key });
      index += text.length;
    }
    const whole = spans.map(({ text }) => text).join("");
    return merged
      .filter(({ text }) => text.trim() !== "")
      .map(({ text, index: from, style }) => {
        const col = cells(whole.slice(0, from)) + cells(text.slice(0, text.length - text.trimStart().length));
        return { text: text.trim(), row, col, width: cells(text.trim()), style };
      });
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

/** Cells that a text takes. */
export function cells(text: string): number {
  let sum = 0;
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (code >= 0x300 && /^[\p{Mn}\p{Me}\p{Cf}]$/u.test(char)) continue;
    sum += wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
  }
  return sum;
}
