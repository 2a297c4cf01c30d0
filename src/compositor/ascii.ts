/** Wsh's own signs for a terminal without UTF-8. Pure. */

const plainSigns: Readonly<Record<string, string>> = {
  "─": "-",
  "│": "|",
  "╭": "+",
  "╮": "+",
  "╰": "+",
  "╯": "+",
  "↑": "^",
  "↓": "v",
  "↕": "|",
  "↻": "*",
  "·": "-",
  "…": ".",
  "•": "*",
  "–": "-",
  "—": "-",
};

/** Replaces wsh's signs with ASCII characters of the same width. */
export function inAscii(text: string): string {
  return text.replace(/[─│╭╮╰╯↑↓↕↻·…•–—]/g, (sign) => plainSigns[sign] ?? sign);
}
