/** A row of cells as a line of a screen (docs/protocol.md, Terminal data). Pure. */
import {
  BLINK,
  BOLD,
  type Cell,
  FAINT,
  INVERSE,
  ITALIC,
  plainStyle,
  type Row,
  STRIKE,
  type Style,
  sameStyle,
  UNDERLINE,
} from "../protocol/grid.ts";
import { withoutPictures } from "../protocol/placeholder.ts";
import type { Format, Line, Span } from "../protocol/screen.ts";

const flagNames = [
  [BOLD, "bold"],
  [FAINT, "faint"],
  [ITALIC, "italic"],
  [UNDERLINE, "underline"],
  [STRIKE, "strikethrough"],
  [BLINK, "blink"],
  [INVERSE, "inverse"],
] as const;

/** Trailing spaces of the default style belong to no line. */
export function toLine(cells: Row, format: Format): Line {
  const row = withoutPictures(cells);
  let end = row.length;
  while (end > 0 && isBlank(row[end - 1])) end--;
  if (format === "plain") {
    return row
      .slice(0, end)
      .map(({ text }) => text)
      .join("")
      .trimEnd();
  }
  const spans: Span[] = [];
  let style: Style | null = null;
  for (let index = 0; index < end; index++) {
    const cell = row[index];
    if (cell === undefined) continue;
    const last = spans.at(-1);
    if (last !== undefined && style !== null && sameStyle(style, cell.style)) last.text += cell.text;
    else spans.push(toSpan(cell));
    style = cell.style;
  }
  return spans;
}

function isBlank(cell: Cell | undefined): boolean {
  return cell !== undefined && cell.text === " " && sameStyle(cell.style, plainStyle);
}

function toSpan({ text, style }: Cell): Span {
  const span: Span = { text };
  if (style.fg !== null) span.fg = style.fg;
  if (style.bg !== null) span.bg = style.bg;
  for (const [flag, name] of flagNames) if ((style.flags & flag) !== 0) span[name] = true;
  return span;
}
