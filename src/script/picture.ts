/** A screen as HTML and SVG for traces, and as text with its styles for snapshots. Pure. */

import type { Screen, SpanStyle } from "../client/terminal/language.ts";
import { xtermColor } from "../protocol/palette.ts";
import type { Color } from "../protocol/screen.ts";
import { cells } from "../protocol/screen-selection.ts";

/** The first sixteen colours of xterm's palette. */
const base = [
  ...["#000000", "#cd3131", "#0dbc79", "#e5e510", "#2472c8", "#bc3fbc", "#11a8cd", "#e5e5e5"],
  ...["#666666", "#f14c4c", "#23d18b", "#f5f543", "#3b8eea", "#d670d6", "#29b8db", "#ffffff"],
];
const FOREGROUND = "#d8d8d8";
const BACKGROUND = "#181818";
/** Size of a cell, in units of SVG. */
const CELL = { width: 8.4, height: 18, baseline: 13.5 };

function cssColor(color: Color): string {
  const named = "indexed" in color ? base[color.indexed] : undefined;
  const { r, g, b } = "rgb" in color ? color.rgb : xtermColor(color.indexed);
  return named ?? `rgb(${r},${g},${b})`;
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`).replace(/[\x00-\x08\x0b-\x1f]/g, "�");
}

/** A style as CSS, with colours apart from the other properties. */
interface ResolvedStyle {
  readonly color: string;
  readonly background: string;
  readonly css: string;
}

function resolveStyle({ fg, bg, bold, faint, italic, underline, strikethrough, inverse }: SpanStyle): ResolvedStyle {
  const [color, background] = [
    fg === undefined ? FOREGROUND : cssColor(fg),
    bg === undefined ? BACKGROUND : cssColor(bg),
  ];
  const lines = [underline === true ? "underline" : "", strikethrough === true ? "line-through" : ""].join(" ").trim();
  const css = [
    bold === true ? "font-weight:bold" : "",
    faint === true ? "opacity:.6" : "",
    italic === true ? "font-style:italic" : "",
    lines === "" ? "" : `text-decoration:${lines}`,
  ];
  const [front, back] = inverse === true ? [background, color] : [color, background];
  return { color: front, background: back, css: css.filter((each) => each !== "").join(";") };
}

export function asHtml(screen: Screen): string {
  const rows = screen.styles.map((spans) =>
    spans
      .map(({ text, ...style }) => {
        const { color, background, css } = resolveStyle(style);
        return `<span style="color:${color};background:${background};${css}">${escapeHtml(text)}</span>`;
      })
      .join(""),
  );
  return `<pre class="screen">${rows.join("\n")}</pre>`;
}

export function asSvg(screen: Screen): string {
  const { cols, rows } = screen.size;
  const [width, height] = [cols * CELL.width, rows * CELL.height];
  const parts: string[] = [];
  for (const [row, spans] of screen.styles.entries()) {
    let col = 0;
    for (const { text, ...style } of spans) {
      const { color, background, css } = resolveStyle(style);
      const [x, y, length] = [col * CELL.width, row * CELL.height, cells(text) * CELL.width];
      if (background !== BACKGROUND) {
        parts.push(
          `<rect x="${round(x)}" y="${y}" width="${round(length)}" height="${CELL.height}" fill="${background}"/>`,
        );
      }
      if (text.trim() !== "") {
        const fitted = `textLength="${round(length)}" xml:space="preserve"`;
        const shown = css === "" ? "" : ` style="${css}"`;
        parts.push(
          `<text x="${round(x)}" y="${y + CELL.baseline}" fill="${color}" ${fitted}${shown}>${escapeHtml(text)}</text>`,
        );
      }
      col += cells(text);
    }
  }
  const { row, col, visible } = screen.cursor;
  if (visible) {
    const at = `x="${round(col * CELL.width)}" y="${row * CELL.height}"`;
    parts.push(`<rect ${at} width="${CELL.width}" height="${CELL.height}" fill="${FOREGROUND}" fill-opacity=".5"/>`);
  }
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${round(width)} ${height}" font-family="monospace" font-size="14">`;
  return `${head}\n<rect width="100%" height="100%" fill="${BACKGROUND}"/>\n${parts.join("\n")}\n</svg>\n`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The rows, followed by the styles of their text: snapshots compare this. */
export function asText(screen: Screen): string {
  const { size, cursor } = screen;
  const shown = cursor.visible ? `cursor ${cursor.row + 1}:${cursor.col + 1}` : "cursor hidden";
  const styles = screen.styles.flatMap((spans, row) => {
    let col = 0;
    return spans.flatMap(({ text, ...style }) => {
      const from = col;
      col += cells(text);
      const description = describeStyle(style);
      return description === "" ? [] : [`${row + 1}:${from + 1}-${col} ${description}`];
    });
  });
  return [
    `${size.cols}x${size.rows}, ${shown}`,
    ...screen.text.split("\n").map((row) => `│${row}`),
    ...styles,
    "",
  ].join("\n");
}

function describeStyle(style: SpanStyle): string {
  const { fg, bg, ...flags } = style;
  const set = Object.entries(flags).filter(([, value]) => value === true);
  return [
    ...set.map(([name]) => name),
    ...(fg === undefined ? [] : [`fg=${colorName(fg)}`]),
    ...(bg === undefined ? [] : [`bg=${colorName(bg)}`]),
  ].join(" ");
}

function colorName(color: Color): string {
  return "indexed" in color ? String(color.indexed) : `${color.rgb.r},${color.rgb.g},${color.rgb.b}`;
}
