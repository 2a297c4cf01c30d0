/** Signs of ours at a terminal that shows no UTF-8. Pure. */

const plainSigns: Readonly<Record<string, string>> = {
  ...{ "─": "-", "│": "|", "╭": "+", "╮": "+", "╰": "+", "╯": "+" },
  ...{ "↑": "^", "↓": "v", "↕": "|", "↻": "*", "·": "-", "…": ".", "•": "*", "–": "-", "—": "-" },
};

/** The text with signs of ours as ASCII characters, each as wide as it was. */
export function inAscii(text: string): string {
  return text.replace(/[─│╭╮╰╯↑↓↕↻·…•–—]/g, (sign) => plainSigns[sign] ?? sign);
}
