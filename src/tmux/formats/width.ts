/** Widths of texts in cells; `#[…]` styles take none. Pure. */

const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

interface FormatPart {
  readonly text: string;
  readonly width: number;
}

/** Splits a text into characters and styles, with their widths. */
function partsOf(text: string): FormatPart[] {
  const parts: FormatPart[] = [];
  for (const piece of text.split(/(#\[[^\]]*\])/)) {
    if (piece.startsWith("#[")) parts.push({ text: piece, width: 0 });
    else
      for (const { segment } of segmenter.segment(piece))
        parts.push({ text: segment, width: Bun.stringWidth(segment) });
  }
  return parts;
}

export function displayWidth(text: string): number {
  return partsOf(text).reduce((sum, { width }) => sum + width, 0);
}

/** The first cells of a text; the last ones for a negative limit, all for 0. */
export function trimmed(text: string, limit: number): string {
  if (limit === 0) return text;
  const parts = partsOf(text);
  const most = Math.abs(limit);
  if (parts.reduce((sum, { width }) => sum + width, 0) <= most) return text;
  let sum = 0;
  const fitting = (limit > 0 ? parts : parts.toReversed()).filter(({ width }) => {
    sum += width;
    return width === 0 || sum <= most;
  });
  return (limit > 0 ? fitting : fitting.toReversed()).map((part) => part.text).join("");
}

/** Pads a text on the right to a width; on the left for a negative width. */
export function padded(text: string, width: number): string {
  const blanks = " ".repeat(Math.max(0, Math.abs(width) - Bun.stringWidth(text)));
  return width > 0 ? text + blanks : blanks + text;
}
