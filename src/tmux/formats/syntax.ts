/** The nesting of formats: `#{` opens, `}` closes, `#,` and `#}` are literal. Pure. */

/** Index of the first character of `ends` outside of any `#{…}`, from `from` on; -1 without one. */
export function skipTo(text: string, from: number, endCharacters: string): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const char = text[at] ?? "";
    const next = text[at + 1];
    if (char === "#" && next === "{") depth++;
    if (char === "#" && next !== undefined && ",#{}:".includes(next)) {
      at++;
      continue;
    }
    if (char === "}") depth--;
    if (endCharacters.includes(char) && depth === 0) return at;
  }
  return -1;
}

/** The two sides of `LEFT,RIGHT`; null without a comma. */
export function splitAtComma(text: string): readonly [string, string] | null {
  const comma = skipTo(text, 0, ",");
  return comma === -1 ? null : [text.slice(0, comma), text.slice(comma + 1)];
}

export function isTrue(value: string): boolean {
  return value !== "" && value !== "0";
}
