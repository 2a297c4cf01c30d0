/**
 * Cells per character, equal to the C library's `wcwidth`, with which programs in the session compute their cursor.
 * Emoji of several code points are still one character of two cells, as in terminals and multiplexers. A program that
 * requests clusters (mode 2027) gets all of them.
 *
 * The table is glibc 2.36's; code points that it does not know (-1) take one cell. tests/unit/terminal/widths.test.ts
 * compares all of Unicode with the C library of the machine.
 */
import type * as Graphemes from "@xterm/addon-unicode-graphemes";
import type { IUnicodeVersionProvider, Terminal } from "@xterm/headless";

/** Ranges of code points, in base 36: distance from the end of the previous one, and length minus one. */
const ZERO =
  "lc+33 7o+6 7c+18 2 2+1 2+1 2 21+a 2 1b+k h 2u+6 3+5 3+1 2+3 10 v+q 2k+a 1n+8 a p+3 2+8 2+2 2+4 18+2 1p+7 17+n " +
  "2+v 1k 2 5+7 5 4+6 b+1 u 1n 5+3 9 l+1 r 3+1 1m 5+1 5+1 3+2 4 v+1 4 c+1 1m 5+4 2+1 5 l+1 n+5 2 1n 3 2+3 9 8+1 c+1 " +
  "v 1q d 1f 4 1k 2+2 6+2 2+3 8+1 c+1 u 1n 3 7 6+1 l+1 t+1 1m+1 5+3 9 l+1 u 21 8+2 2 2j 3+6 d+7 2r 3+8 c+5 23+1 s 2 " +
  "2 1k+d 2+4 2+1 6+a 2+z a 2v+3 2+5 2+1 3+1 q+1 5+2 h+3 e 3+1 7 g 5f+4f 9q+2 qb+2 u+1 v+1 v+1 1t+1 2+6 9 3+a a " +
  "1a+4 3a+1 z 3b+2 5+1 a 7+2 64+1 3 1n 2+6 2 2 3+7 7+9 3 1d+u 1e+3 1d 2+4 2 6 15+8 d+1 x+3 3+1 2+2 1l 2+1 4 2+2 " +
  "1n+7 3+1 49+2 2+c 2+6 5 7 4+1 5j+1r ek+4 r+4 1e+4 2+9 2p+w 2db+2 3y 2p+v ff+3 30+1 n9x+3 2+9 x+1 29+1 7l 4 5 q+1 " +
  "6 48+1 r+h e 13+7 q+a 1b+2 1d 3+3 3+1 14 1w+5 3+1 3+1 d 9 1c 1g 2+2 3+1 6+1 2 17+1 9 6n 3 5 8n7+m 5+1c 6xv ki+f " +
  "h+f 5s 6y+2 ea 6b 46+4 1af+2 2+1 6+3 15+2 5 4m+1 fy+3 as+1 4a+a 1e+3 3g 1j+e 16 3+1 b+2 1e+3 3+1 8 1q+2 11+4 2+7 " +
  "1r d+1 1h+8 b+3 3 2o+2 3 2+1 7 4h 4+7 m+1 1m+1 4 12+6 4+4 5g+7 3+2 2 o 2d+5 2 5+1 2+1 6n+3 7+1 2+1 s+1 2e+7 3 " +
  "2+1 2z 2 3+5 2 2u+2 3+3 2+4 78+8 2+1 75+1 2 5 41+3 3+1 5 x+9 15+5 3+3 9 a+5 3+2 1b+c 2+1 bb+6 2+5 2 2b+l 3+6 2+1 " +
  "2+1 3f+5 4 2+1 2+6 2 21+1 4 2 9o+1 470+8 at4+4 1o+6 t5 1s+3 2a f5l+1 2+3 3ml+19 3+m f5+2 a+f 3+6 v+3 45+2 1j0+1i " +
  "5+1d 9 f n+4 2+e 11t+6 2+g 3+6 2+1 2+4 7a+6 ag 1q+3 15t+6 32+6 gzav v+2n 3l+6n";
const WIDE =
  "3cw+2n 3i3+1 e+1 5b+3 4 3 ei+1 m+1 1f+b 18 k e 9+1 i+1 6+1 9 6 m 8+1 2 5 3 8 5+1 t 10 2 5+2 2 1q+2 p f nw+1 1g 5 " +
  "mj+p 2+2g d+5x r+b 5+15 5+g 3+2d 5+2s 6+16 2+2l 2+2b d+1a 2+mlo 4+1i wq+s hw+8mb 6l9+a5 3+2x mv+9 n+y 2+i 2+3 " +
  "46+2n 3k+6 m4a+3 d+1 f+4qf 9+yd 17+8 6w8+3 2+6 2+1 2+82 1a+2 i+3 9+az c21 5n 5b 3+9 2u+2 e+17 5+8 8+1 f+5 4b+w " +
  "d+8 2+1x 2+l d+16 5+4 d+g 4 4+1y 2 2+56 3+1q e+3 2+n j r+1 e 2f+2c 1d+1x 7 4+2 3+2 6+2 c+1 8+8 6c+b 5 7w+1a 2+9 " +
  "2+54 35+4 4+4 4+6 a+s 4+a 6+5 b+9 7+7 9+6 zu+wyn x+37c 8+65 3+4g1 f+5rk 2e8+f1 15v+3t6";

const BY_CODE_POINT = "wcwidth";
const CLUSTERS = "15-graphemes";
/** VS16: turns a sign into an emoji of two cells. */
const EMOJI_STYLE = 0xfe0f;
/** Below this all characters have one cell except NUL, which is never printed. */
const FIRST = 0x300;

/**
 * End of the planes stored as a table (128 KB), which have hundreds of ranges; for others, a search in a few ranges
 * suffices.
 */
const TABLE_END = 0x2_0000;

interface Widths {
  readonly table: Uint8Array;
  readonly above: { readonly from: number; readonly to: number; readonly width: 0 | 2 }[];
}

const addRanges = (text: string, width: 0 | 2, { table, above }: Widths): void => {
  let last = 0;
  for (const range of text.split(" ")) {
    const [distance = "", more = "0"] = range.split("+");
    const from = last + Number.parseInt(distance, 36);
    last = from + Number.parseInt(more, 36);
    table.fill(width, from, last + 1);
    if (last >= TABLE_END) above.push({ from, to: last, width });
  }
};

let widths: Widths | null = null;

/** Cells of a code point from 0x300 on. */
function widthOf(codepoint: number): number {
  if (widths === null) {
    widths = { table: new Uint8Array(TABLE_END).fill(1), above: [] };
    addRanges(ZERO, 0, widths);
    addRanges(WIDE, 2, widths);
  }
  const { table, above } = widths;
  return table[codepoint] ?? above.find(({ from, to }) => codepoint >= from && codepoint <= to)?.width ?? 1;
}

/** xterm packs a character's properties like this: bit 0 joins it to the previous one, bits 1 and 2 are the width. */
const widthIn = (properties: number): number => (properties >> 1) & 3;

const isFlag = (codepoint: number): boolean => codepoint >= 0x1_f1e6 && codepoint <= 0x1_f1ff;

/** Properties of ASCII after ASCII, or after nothing (0): one cell, nothing joined. */
const PLAIN = 2;

const isPlain = (codepoint: number, preceding: number): boolean =>
  codepoint >= 0x20 && codepoint < 0x7f && (preceding === PLAIN || preceding === 0);

const byCodePoint: IUnicodeVersionProvider = {
  version: BY_CODE_POINT,
  wcwidth: (codepoint) => (codepoint < FIRST ? 1 : widthOf(codepoint)) as 0 | 1 | 2,
  charProperties(codepoint, preceding) {
    if (isPlain(codepoint, preceding)) return PLAIN;
    const joined = clusterWidths().charProperties(codepoint, preceding);
    if (codepoint < FIRST || codepoint === EMOJI_STYLE) return joined;
    const width = widthOf(codepoint);
    // After a cursor movement there is no previous character to join: such a character gets a cell of its own.
    if (width === 0) return preceding === 0 ? joined : (joined & ~7) | (widthIn(preceding) << 1) | 1;
    // A spacing mark, or a character after a prepended sign, has its own cell; flags and parts of emoji do not.
    return width === 1 && (joined & 1) !== 0 && !isFlag(codepoint) ? (joined & ~7) | (width << 1) : joined;
  },
};

let clusters: IUnicodeVersionProvider | null = null;

function isProvider(value: unknown): value is IUnicodeVersionProvider {
  return typeof value === "object" && value !== null && "version" in value && "charProperties" in value;
}

/**
 * Widths and joining of graphemes. The addon passes its providers to whatever it is activated on. It unpacks
 * its tables when it is loaded (2 to 4 ms, 1.2 MB): a session that has shown only ASCII does without it.
 */
function clusterWidths(): IUnicodeVersionProvider {
  if (clusters !== null) return clusters;
  const { UnicodeGraphemesAddon }: typeof Graphemes = require("@xterm/addon-unicode-graphemes");
  const registered: unknown[] = [];
  const unicode = { register: (provider: unknown) => registered.push(provider), versions: [], activeVersion: "" };
  const addon: { activate(terminal: { readonly unicode: object }): void } = new UnicodeGraphemesAddon();
  addon.activate({ unicode });
  const found = registered.filter(isProvider).find(({ version }) => version === CLUSTERS);
  if (found === undefined) throw new Error(`the graphemes addon registers no provider ${CLUSTERS}`);
  clusters = found;
  return found;
}

/** Counting for programs that request clusters. */
export const byCluster: IUnicodeVersionProvider = {
  version: CLUSTERS,
  wcwidth: (codepoint) => clusterWidths().wcwidth(codepoint),
  charProperties: (codepoint, preceding) =>
    isPlain(codepoint, preceding) ? PLAIN : clusterWidths().charProperties(codepoint, preceding),
};

/** Registers both ways of counting with the emulator. */
export function addWidths(terminal: Terminal): void {
  terminal.unicode.register(byCluster);
  terminal.unicode.register(byCodePoint);
  countClusters(terminal, false);
}

/** Mode 2027. */
export function countClusters(terminal: Terminal, on: boolean): void {
  terminal.unicode.activeVersion = on ? CLUSTERS : BY_CODE_POINT;
}
