/** Wsh's own signs for a terminal without UTF-8. Pure. */

const asciiSigns: Readonly<Record<string, string>> = {
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
export function toAscii(text: string): string {
  return text.replace(/[─│╭╮╰╯↑↓↕↻·…•–—]/g, (sign) => asciiSigns[sign] ?? sign);
}
