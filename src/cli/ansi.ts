/** Styled lines as text with SGR sequences, for terminals and for files that are shown in one. */
import { BLINK, BOLD, FAINT, INVERSE, ITALIC, STRIKE, UNDERLINE } from "../protocol/grid.ts";
import { visibleRendered } from "../protocol/harmless-text.ts";
import type { Span } from "../protocol/screen.ts";
import { sgrParameters } from "../protocol/sgr.ts";

const attributes = [
  ["bold", BOLD],
  ["faint", FAINT],
  ["italic", ITALIC],
  ["underline", UNDERLINE],
  ["blink", BLINK],
  ["inverse", INVERSE],
  ["strikethrough", STRIKE],
] as const;

export function spansToAnsi(spans: readonly Span[]): string {
  return spans.map(spanToAnsi).join("");
}

function spanToAnsi(span: Span): string {
  const flags = attributes.reduce((set, [name, flag]) => (span[name] === true ? set | flag : set), 0);
  const parameters = sgrParameters(flags, span.fg ?? null, span.bg ?? null);
  const text = visibleRendered(span.text);
  return parameters === "" ? text : `\x1b[${parameters.slice(1)}m${text}\x1b[0m`;
}
