/** `#{c:NAME}`: a colour as six hexadecimal digits. Pure. */

const basic = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
/** xterm's colours 0 to 15, with tmux's values. */
const sixteen = [
  ...["000000", "800000", "008000", "808000", "000080", "800080", "008080", "c0c0c0"],
  ...["808080", "ff0000", "00ff00", "ffff00", "0000ff", "ff00ff", "00ffff", "ffffff"],
];
const LEVELS = [0, 95, 135, 175, 215, 255];

/** Returns an empty text for an unknown colour and for `default`. */
export function colorHex(name: string): string {
  const lower = name.toLowerCase();
  if (/^#[0-9a-f]{6}$/.test(lower)) return lower.slice(1);
  const [, digits] = /^colou?r(\d+)$/.exec(lower) ?? [];
  if (digits !== undefined) return palette(Number(digits));
  const plain = basic.indexOf(lower.replace(/^bright/, ""));
  if (plain !== -1) return palette(plain + (lower.startsWith("bright") ? 8 : 0));
  const code = Number(lower);
  if (/^\d+$/.test(lower) && code <= 7) return palette(code);
  return /^9\d$/.test(lower) && code <= 97 ? palette(code - 82) : "";
}

function palette(index: number): string {
  if (index > 255) return "";
  if (index < 16) return sixteen[index] ?? "";
  const hex = (value: number): string => value.toString(16).padStart(2, "0");
  if (index >= 232) return hex(8 + (index - 232) * 10).repeat(3);
  const cube = index - 16;
  return [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((level) => hex(LEVELS[level] ?? 0)).join("");
}
