/**
 * Box drawing, blocks, shades and powerline triangles as shapes of exactly one cell: lines of neighbouring cells meet
 * whatever the font has. A shape is an SVG used as a mask over the text's colour, in device pixels; a cell is a whole
 * number of them (cell-size.ts). Its CSS rule is made when a character is first shown in cells of that size.
 */
import type { CellSize } from "./cell-size.ts";

/**
 * Arms of U+2500–U+257F: up, right, down, left; 0 none, 1 light, 2 heavy, 3 double. Dashed lines and shapes without
 * arms (arcs, diagonals) have "" here and are handled below.
 */
const arms = (
  "0101 0202 1010 2020 - - - - - - - - 0110 0210 0120 0220 0011 0012 0021 0022 1100 1200 2100 2200 1001 1002 2001 2002 " +
  "1110 1210 2110 1120 2120 2210 1220 2220 1011 1012 2011 1021 2021 2012 1022 2022 " +
  "0111 0112 0211 0212 0121 0122 0221 0222 1101 1102 1201 1202 2101 2102 2201 2202 " +
  "1111 1112 1211 1212 2111 1121 2121 2112 2211 1122 1221 2212 1222 2122 2221 2222 " +
  "- - - - 0303 3030 0310 0130 0330 0013 0031 0033 1300 3100 3300 1003 3001 3003 1310 3130 3330 1013 3031 3033 " +
  "0313 0131 0333 1303 3101 3303 1313 3131 3333 - - - - - - - " +
  "0001 1000 0100 0010 0002 2000 0200 0020 0201 1020 0102 2010"
).split(" ");

const BOX = 0x2500;
const BLOCKS = 0x2580;
const BLOCKS_END = 0x259f;
const POWERLINE = 0xe0b0;
const POWERLINE_END = 0xe0b3;

/** Dashes of a dashed line: code → number of dashes, whether it is vertical, whether it is heavy. */
const dashed: ReadonlyMap<number, readonly [count: number, upright: boolean, heavy: boolean]> = new Map(
  [0x2504, 0x2508, 0x254c].flatMap((first, index) => {
    const count = [3, 4, 2][index] ?? 2;
    return [0, 1, 2, 3].map((at) => [first + at, [count, at >= 2, at % 2 === 1]] as const);
  }),
);
/** Quadrants of U+2596–U+259F: bits upper left, upper right, lower left, lower right. */
const quadrants = [0b0010, 0b0001, 0b1000, 0b1011, 0b1001, 0b1110, 0b1101, 0b0100, 0b0110, 0b0111];

export function isBoxGlyph(text: string): boolean {
  if (text.length !== 1) return false;
  const code = text.charCodeAt(0);
  return (code >= BOX && code <= BLOCKS_END) || (code >= POWERLINE && code <= POWERLINE_END);
}

/** The class of a character's shape, which selects its rule. */
export function boxClass(text: string): string {
  return `x${text.charCodeAt(0).toString(16)}`;
}

/** The class of terminals with cells of this size, for which shapes are generated. */
export function cellClass(size: CellSize): string {
  const { width, height } = inDevicePixels(size);
  return `cell-${width}x${height}`;
}

function inDevicePixels({ width, height }: CellSize): { readonly width: number; readonly height: number } {
  const ratio = globalThis.devicePixelRatio;
  return { width: Math.round(width * ratio), height: Math.round(height * ratio) };
}

export class BoxGlyphs {
  readonly sheet = new CSSStyleSheet();
  private readonly madeRules = new Set<string>();

  /** The font has changed: terminals request their shapes again. */
  clear(): void {
    this.madeRules.clear();
    this.sheet.replaceSync("");
  }

  ensureRule(text: string, size: CellSize): void {
    const selector = `.${cellClass(size)} .${boxClass(text)}::before`;
    if (this.madeRules.has(selector)) return;
    this.madeRules.add(selector);
    const { width, height } = inDevicePixels(size);
    const shape = shapeOf(text.charCodeAt(0), width, height);
    // With crisp edges a line of one device pixel may vanish where a browser draws in whole CSS pixels.
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">${shape}</svg>`;
    const url = `url("data:image/svg+xml,${encodeURIComponent(svg)}")`;
    this.sheet.insertRule(`${selector}{mask-image:${url}}`);
  }
}

/** The shape in a cell of this many device pixels. */
function shapeOf(code: number, width: number, height: number): string {
  if (code >= POWERLINE) return powerline(code, width, height);
  if (code >= BLOCKS) return block(code, width, height);
  const light = Math.max(1, Math.round(Math.min(width, height) / 8));
  const dashes = dashed.get(code);
  if (dashes !== undefined) return dashedLine(dashes, width, height, light);
  const own = arms[code - BOX];
  if (own !== undefined && own !== "-") return lineArms(own, width, height, light);
  if (code >= 0x256d && code <= 0x2570) return arc(code, width, height, light);
  return diagonal(code, width, height, light);
}

function rect(x: number, y: number, width: number, height: number): string {
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}"/>`;
}

/**
 * Lines from the edges to the middle. An arm ends after the widest crossing line, so that corners are filled; a double
 * line's inner half, and a single line beside a continuing double one, end before it.
 */
function lineArms(own: string, width: number, height: number, light: number): string {
  const [up = 0, right = 0, down = 0, left = 0] = [...own].map(Number);
  const flat = { before: left, after: right, length: width, breadth: height, crossing: [up, down] as const };
  const upright = { before: up, after: down, length: height, breadth: width, crossing: [left, right] as const };
  return lineOf(flat, light, (at, across, size, thick) => rect(at, across, size, thick)).concat(
    lineOf(upright, light, (at, across, size, thick) => rect(across, at, thick, size)),
  );
}

interface LineGlyph {
  /** Kinds of the two arms. */
  readonly before: number;
  readonly after: number;
  readonly length: number;
  readonly breadth: number;
  readonly crossing: readonly [number, number];
}

function lineOf(
  { before, after, length, breadth, crossing }: LineGlyph,
  light: number,
  draw: (at: number, across: number, size: number, thick: number) => string,
): string {
  const thickness = (kind: number): number => (kind === 3 ? light * 3 : kind === 2 ? light * 2 + (light % 2) : light);
  const [one, other] = crossing;
  const room = Math.max(...crossing.map(thickness));
  const near = Math.floor((length - room) / 2);
  const far = near + room;
  const isCrossed = one !== 0 && other !== 0 && Math.max(one, other) === 3 && (before === 0 || after === 0);
  const arm = (kind: number, isFirst: boolean): string => {
    if (kind === 0) return "";
    const halves: readonly (readonly [across: number, thick: number, inner: boolean])[] =
      kind === 3
        ? [
            [Math.floor((breadth - light * 3) / 2), light, one === 3],
            [Math.floor((breadth - light * 3) / 2) + light * 2, light, other === 3],
          ]
        : [[Math.floor((breadth - thickness(kind)) / 2), thickness(kind), isCrossed]];
    return halves
      .map(([across, thick, inner]) => {
        const end = isFirst ? (inner ? near + light : far) : inner ? far - light : near;
        return isFirst ? draw(0, across, end, thick) : draw(end, across, length - end, thick);
      })
      .join("");
  };
  return arm(before, true) + arm(after, false);
}

function dashedLine(
  [count, upright, heavy]: readonly [number, boolean, boolean],
  width: number,
  height: number,
  light: number,
): string {
  const thick = heavy ? light * 2 + (light % 2) : light;
  const length = upright ? height : width;
  const gap = Math.max(1, Math.round(length / count / 3));
  return Array.from({ length: count }, (_, index) => {
    const from = Math.round((index * length) / count) + Math.floor(gap / 2);
    const to = Math.round(((index + 1) * length) / count) - Math.ceil(gap / 2);
    const size = Math.max(1, to - from);
    return upright
      ? rect(Math.floor((width - thick) / 2), from, thick, size)
      : rect(from, Math.floor((height - thick) / 2), size, thick);
  }).join("");
}

function arc(code: number, width: number, height: number, light: number): string {
  const x = Math.floor((width - light) / 2) + light / 2;
  const y = Math.floor((height - light) / 2) + light / 2;
  const radius = Math.min(width, height) / 2;
  // ╭ ╮ ╯ ╰: to the right or left, down or up.
  const side = code === 0x256d || code === 0x2570 ? 1 : -1;
  const way = code === 0x256d || code === 0x256e ? 1 : -1;
  const edgeX = side === 1 ? width : 0;
  const edgeY = way === 1 ? height : 0;
  const path = `M${x} ${edgeY}V${y + way * radius}Q${x} ${y} ${x + side * radius} ${y}H${edgeX}`;
  return `<path d="${path}" fill="none" stroke="#000" stroke-width="${light}"/>`;
}

function diagonal(code: number, width: number, height: number, light: number): string {
  const rising = code === 0x2571 || code === 0x2573;
  const falling = code === 0x2572 || code === 0x2573;
  const path = `${rising ? `M0 ${height}L${width} 0` : ""}${falling ? `M0 0L${width} ${height}` : ""}`;
  return `<path d="${path}" fill="none" stroke="#000" stroke-width="${light}"/>`;
}

/** Light, medium and dark shade: opacity of the ground. */
const shades = [0.25, 0.5, 0.75];

function block(code: number, width: number, height: number): string {
  const blockIndex = code - BLOCKS;
  const part = (side: number, eighths: number): number => Math.round((side * eighths) / 8);
  if (blockIndex === 0) return rect(0, 0, width, part(height, 4));
  if (blockIndex <= 8) return rect(0, height - part(height, blockIndex), width, part(height, blockIndex));
  if (blockIndex <= 15) return rect(0, 0, part(width, 16 - blockIndex), height);
  if (blockIndex === 16) return rect(part(width, 4), 0, width - part(width, 4), height);
  if (blockIndex <= 19) return `<rect width="${width}" height="${height}" opacity="${shades[blockIndex - 17] ?? 1}"/>`;
  if (blockIndex === 20) return rect(0, 0, width, part(height, 1));
  if (blockIndex === 21) return rect(width - part(width, 1), 0, part(width, 1), height);
  const bits = quadrants[blockIndex - 22] ?? 0;
  const [halfX, halfY] = [part(width, 4), part(height, 4)];
  return [
    (bits & 0b1000) === 0 ? "" : rect(0, 0, halfX, halfY),
    (bits & 0b0100) === 0 ? "" : rect(halfX, 0, width - halfX, halfY),
    (bits & 0b0010) === 0 ? "" : rect(0, halfY, halfX, height - halfY),
    (bits & 0b0001) === 0 ? "" : rect(halfX, halfY, width - halfX, height - halfY),
  ].join("");
}

function powerline(code: number, width: number, height: number): string {
  const right = code < 0xe0b2;
  const [from, to] = right ? [0, width] : [width, 0];
  const path = `M${from} 0L${to} ${height / 2}L${from} ${height}`;
  if (code % 2 === 0) return `<path d="${path}Z"/>`;
  return `<path d="${path}" fill="none" stroke="#000" stroke-width="1"/>`;
}
