/** A terminal's screen for programs: text, styles, the cursor, and the selected part. Pure. */
import type { OperationOutput } from "../../operations/table.ts";
import type { Span } from "../../protocol/screen.ts";

export type SpanStyle = Omit<Span, "text">;

/** A place on the screen: the cell where it begins, from 0, and how many cells it takes. */
export interface Found {
  readonly text: string;
  readonly row: number;
  readonly col: number;
  readonly width: number;
  readonly style: SpanStyle;
}

export class Screen {
  /** Each row as text, without blanks at its end. */
  readonly rows: readonly string[];
  /** The rows, without blank ones at the end. */
  readonly text: string;
  /** Each row as spans with their styles. */
  readonly styles: readonly (readonly Span[])[];
  readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
  readonly size: { readonly cols: number; readonly rows: number };
  /** Whether a full-screen program draws on the alternate screen. */
  readonly alternate: boolean;
  readonly title: string;
  readonly state: string;
  /** The place in the output that has been seen. */
  readonly output_cursor: number;
  readonly generation: number;

  constructor(shown: OperationOutput<"screen.get">) {
    this.styles = shown.lines.map((line) => (typeof line === "string" ? [{ text: line }] : line));
    this.rows = this.styles.map((spans) => trimEnd(spans.map(({ text }) => text).join("")));
    this.text = trimEnd(this.rows.join("\n"));
    this.cursor = shown.cursor;
    this.size = { cols: shown.cols, rows: shown.rows };
    this.alternate = shown.alternate_active;
    this.title = shown.title;
    this.state = shown.state;
    this.output_cursor = shown.output_cursor;
    this.generation = shown.generation;
  }

  toString(): string {
    return this.text;
  }

  /** A printed or returned screen is its text. */
  toJSON(): string {
    return this.text;
  }

  /** The first place of a text, or of a match within a row. */
  find(what: string | RegExp): Found | null {
    return this.findAll(what)[0] ?? null;
  }

  findAll(what: string | RegExp): Found[] {
    const pattern = typeof what === "string" ? null : new RegExp(what.source, `${what.flags.replace(/[gy]/g, "")}g`);
    return this.rows.flatMap((row, at) => {
      const places =
        typeof what === "string"
          ? occurrences(row, what)
          : [...row.matchAll(pattern ?? /$^/g)].map(({ index, 0: text }) => ({ index, text }));
      return places.filter(({ text }) => text !== "").map(({ index, text }) => this.found(at, index, text));
    });
  }

  /** The part that a program shows as selected or focused: in inverse video, else with the rarest background. */
  get selected(): Found | null {
    const runs = this.runs();
    const inverse = runs.filter(({ style }) => style.inverse === true);
    if (inverse.length > 0) return this.nearest(inverse);
    const byBackground = new Map<string, Found[]>();
    for (const run of runs.filter(({ style }) => style.bg !== undefined)) {
      const key = JSON.stringify(run.style.bg);
      byBackground.set(key, [...(byBackground.get(key) ?? []), run]);
    }
    const size = (group: readonly Found[]): number => group.reduce((sum, { width }) => sum + width, 0);
    const [rarest] = [...byBackground.values()].sort((a, b) => size(a) - size(b));
    return rarest === undefined ? null : this.nearest(rarest);
  }

  /** The run in the cursor's row, else the shortest: a bar at the edge is longer than a selected item. */
  private nearest(runs: readonly Found[]): Found | null {
    const here = this.cursor.visible ? runs.find(({ row }) => row === this.cursor.row) : undefined;
    return here ?? [...runs].sort((a, b) => a.width - b.width)[0] ?? null;
  }

  /** Runs of text whose cells have one background and are all inverse or none. */
  private runs(): Found[] {
    return this.styles.flatMap((spans, row) => {
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

  private found(row: number, index: number, text: string): Found {
    const spans = this.styles[row] ?? [];
    let at = 0;
    let style: SpanStyle = {};
    for (const { text: own, ...rest } of spans) {
      if (index < at + own.length) {
        style = rest;
        break;
      }
      at += own.length;
    }
    return { text, row, col: cells((this.rows[row] ?? "").slice(0, index)), width: cells(text), style };
  }
}

function occurrences(row: string, text: string): { index: number; text: string }[] {
  const found: { index: number; text: string }[] = [];
  for (let at = text === "" ? -1 : row.indexOf(text); at >= 0; at = row.indexOf(text, at + text.length)) {
    found.push({ index: at, text });
  }
  return found;
}

function trimEnd(text: string): string {
  return text.replace(/\s+$/, "");
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
