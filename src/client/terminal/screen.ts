/** A terminal's screen for programs: text, styles, the cursor, and the selected part. Pure. */
import type { OperationOutput } from "../../operations/table.ts";
import type { Span } from "../../protocol/screen.ts";
import { cells, type DialogRow, type SpanStyle, selectedPart } from "../../protocol/screen-selection.ts";

import { briefOf, compact, printedAs } from "./printing.ts";

export type { DialogRow as Found, SpanStyle } from "../../protocol/screen-selection.ts";

export class Screen {
  /** Each row as text, without trailing blanks. */
  readonly rows: readonly string[];
  /** The rows, without trailing blank ones. */
  readonly text: string;
  /** Each row as spans with their styles. */
  readonly styles: readonly (readonly Span[])[];
  readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
  readonly size: { readonly cols: number; readonly rows: number };
  /** Whether a full-screen program draws on the alternate screen. */
  readonly alternate: boolean;
  readonly title: string;
  readonly state: string;
  /** The output cursor of this screen. */
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
    printedAs(this, () => compact(this.rows));
  }

  /** Prints only the rows with a match, if it has any. */
  showing(pattern: RegExp): this {
    const found = new Set(this.findAll(pattern).map(({ row }) => this.rows[row] ?? ""));
    return found.size === 0 ? this : printedAs(this, () => compact([...found]));
  }

  toString(): string {
    return this.text;
  }

  /** The first position of a text, or of a match within a row. */
  find(what: string | RegExp): DialogRow | null {
    return this.findAll(what)[0] ?? null;
  }

  findAll(what: string | RegExp): DialogRow[] {
    const pattern = typeof what === "string" ? null : new RegExp(what.source, `${what.flags.replace(/[gy]/g, "")}g`);
    return this.rows.flatMap((row, at) => {
      const places =
        typeof what === "string"
          ? occurrences(row, what)
          : [...row.matchAll(pattern ?? /$^/g)].map(({ index, 0: text }) => ({ index, text }));
      return places.filter(({ text }) => text !== "").map(({ index, text }) => this.dialogRow(at, index, text));
    });
  }

  /** The part that a program shows as selected or focused. */
  get selected(): DialogRow | null {
    const part = selectedPart(this.styles, this.cursor);
    return part === null ? null : place(part);
  }

  private dialogRow(row: number, index: number, text: string): DialogRow {
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
    return place({ text, row, col: cells((this.rows[row] ?? "").slice(0, index)), width: cells(text), style });
  }
}

function place(found: DialogRow): DialogRow {
  return briefOf(found, "text", "row", "col");
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
