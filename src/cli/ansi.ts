/** Styled lines as text with SGR sequences, for terminals and for files that are shown in one. */
import type { Color, Span } from "../protocol/screen.ts";

export function spansToAnsi(spans: readonly Span[]): string {
  return spans.map(spanToAnsi).join("");
}

function spanToAnsi(span: Span): string {
  const codes = [
    ...attributes.flatMap(([name, code]) => (span[name] === true ? [code] : [])),
    ...(span.fg === undefined ? [] : [color(span.fg, 30)]),
    ...(span.bg === undefined ? [] : [color(span.bg, 40)]),
  ];
  return codes.length === 0 ? span.text : `\x1b[${codes.join(";")}m${span.text}\x1b[0m`;
}

const attributes = [
  ["bold", "1"],
  ["faint", "2"],
  ["italic", "3"],
  ["underline", "4"],
  ["blink", "5"],
  ["inverse", "7"],
  ["strikethrough", "9"],
] as const;

/** @param base 30 for text, 40 for what is behind it */
function color(color: Color, base: 30 | 40): string {
  if ("rgb" in color) return `${base + 8};2;${color.rgb.r};${color.rgb.g};${color.rgb.b}`;
  const { indexed } = color;
  if (indexed < 8) return String(base + indexed);
  return indexed < 16 ? String(base + 60 + indexed - 8) : `${base + 8};5;${indexed}`;
}
