/**
 * The frame that an attached terminal shows: the program's screen with panels around it and overlays above it.
 *
 * Pure. Everything is redrawn for each frame, so cells under an overlay reappear when it is removed. Invariants: the
 * frame has exactly the size of the client's terminal, whatever the session's; elements are clipped to their box and
 * the screen; an element's text can only be displayed. Rows on which nothing changed are the same objects as before
 * when the grid's were, so that two frames are compared quickly. Runs once per frame rendered.
 */
import type { ElementColor, ElementSpan, ElementText, Overlay, Panel } from "../protocol/drawing.ts";
import { elementColorNames } from "../protocol/drawing-limits.ts";
import {
  BOLD,
  blankRow,
  type Grid,
  type GridCursor,
  ITALIC,
  plainStyle,
  type Style,
  UNDERLINE,
} from "../protocol/grid.ts";
import type { Color } from "../protocol/screen.ts";
import type { Size } from "../protocol/size.ts";
import { Canvas, type CanvasBox, sliceRow } from "./canvas.ts";
import { cleanText, clusters } from "./graphemes.ts";
import { type Layout, outerSize, statusRow } from "./panel-layout.ts";
import { theme } from "./theme.ts";

/** The part of the session's frame that a smaller terminal does not show, above and to the left. */
export interface Offset {
  readonly top: number;
  readonly left: number;
}

/** A frame for a client of any size. */
export interface ClientFrame extends Grid {
  readonly offset: Offset;
}

interface FrameInput {
  readonly grid: Grid;
  /** Layout of the panels below, on the session's outer size. */
  readonly layout: Layout;
  /** In drawing order, lowest first. */
  readonly overlays: readonly Overlay[];
  readonly panels: readonly Panel[];
  /** The text of the status line, for this client's width; absent: it is not drawn. */
  readonly status?: readonly ThemedSpan[] | null;
  /** Size of this client's terminal. */
  readonly outer: Size;
  /** A line of wsh above everything else, on the client's last row: the keyboard's holder, or help. */
  readonly lastRowText?: string | null;
  /** Whether the session's size is shown even where it covers a corner of the program's last row. */
  readonly showsSize?: boolean;
  /** Whether the line around a smaller session is drawn with ASCII characters. */
  readonly ascii?: boolean;
}

/** Maximum rows of a terminal (docs/protocol.md, Limits), so no text needs more lines. */
const MAX_ROWS = 1000;

const noOffset: Offset = { top: 0, left: 0 };

export function composeFrame(input: FrameInput): ClientFrame {
  const { grid, layout, outer } = input;
  const session = outerSize(layout);
  const canvas = new Canvas(session.rows, session.cols);
  grid.lines.slice(0, layout.ptyRows).forEach((line, index) => {
    canvas.putRow(layout.top + index, line);
  });
  const placed = new Map(layout.panels.map((panel) => [panel.id, panel]));
  for (const panel of input.panels) {
    const place = placed.get(panel.id);
    if (place?.visible)
      drawElement(canvas, panel, { row: place.row, col: 0, height: place.height, width: session.cols });
  }
  const cursor = placeCursor(grid.cursor, layout, session, input.overlays);
  for (const { x, y, width, height, ...element } of input.overlays) {
    drawElement(canvas, element, { row: y, col: x, width, height });
  }
  const statusRowIndex = input.status == null ? null : statusRow(layout);
  const isSameSize = session.rows === outer.rows && session.cols === outer.cols;
  if (statusRowIndex !== null && isSameSize) drawStatus(canvas, input.status ?? [], statusRowIndex);
  const sessionFrame = { ...session, lines: canvas.finish(), cursor, offset: noOffset };
  const clientFrame = isSameSize ? sessionFrame : fitToClient(sessionFrame, statusRowIndex, input);
  return input.lastRowText == null ? clientFrame : drawLastRow(clientFrame, input.lastRowText);
}

function drawStatus(canvas: Canvas, spans: readonly ThemedSpan[], row: number): void {
  drawElement(canvas, { spans }, { row, col: 0, height: 1, width: canvas.cols });
}

/** The cursor on the outer screen; hidden where an overlay lies on it or the program's screen is cut. */
export function placeCursor(
  cursor: GridCursor,
  layout: Layout,
  session: Size,
  overlays: readonly Overlay[],
): GridCursor {
  const row = layout.top + Math.min(cursor.row, layout.ptyRows - 1);
  const col = Math.min(cursor.col, session.cols - 1);
  const isCovered = overlays.some(({ x, y, width, height }) => {
    return row >= y && row < y + height && col >= x && col < x + width;
  });
  return { ...cursor, row, col, visible: cursor.visible && !isCovered && cursor.row < layout.ptyRows };
}

type DrawnElement = Pick<Overlay, "background" | "region_writes"> & { readonly spans: readonly ElementSpan[] };

function drawElement(canvas: Canvas, element: DrawnElement, box: CanvasBox): void {
  const background = element.background === undefined ? null : toColor(element.background.bg);
  if (background !== null) canvas.fill(box, { ...plainStyle, bg: background });
  else if (element.spans.some(isThemed)) canvas.fill(box, theme.status);
  drawSpans(canvas, element.spans, background, box);
  for (const write of element.region_writes ?? []) {
    if (write.row >= box.height || write.col >= box.width) continue;
    const style = toStyle(write, background);
    for (const [index, line] of cleanLines(write).entries()) {
      if (write.row + index >= box.height) break;
      const visiblePart = line.slice(0, maxUnitsFor(box.width - write.col));
      canvas.text(box.row + write.row + index, box.col + write.col, clusters(visiblePart), style, box);
    }
  }
}

function drawSpans(canvas: Canvas, spans: DrawnElement["spans"], background: Color | null, box: CanvasBox): void {
  const bottom = Math.min(box.row + box.height, canvas.rows);
  const right = Math.min(box.col + box.width, canvas.cols);
  let row = box.row;
  let col = box.col;
  for (const span of spans) {
    const style = toStyle(span, background);
    for (const [index, line] of cleanLines(span).entries()) {
      if (index > 0) {
        row++;
        col = box.col;
      }
      if (row >= bottom) return;
      // Nothing right of the box is shown until the next line, so nothing needs measuring.
      if (col >= right) continue;
      const pieces = clusters(line.slice(0, maxUnitsFor(box.col + box.width - col)));
      canvas.text(row, col, pieces, style, box);
      col += pieces.reduce((sum, { width }) => sum + width, 0);
    }
  }
}

/** Cleaned once per text, since frames are many and texts may be long. Texts are replaced, never changed. */
const cleaned = new WeakMap<ElementText, readonly string[]>();

function cleanLines(text: ElementText): readonly string[] {
  const cached = cleaned.get(text);
  if (cached !== undefined) return cached;
  const lines = cleanText(text.text).split("\n", MAX_ROWS);
  cleaned.set(text, lines);
  return lines;
}

/** UTF-16 units that always fill this many cells, generous for graphemes of many code points. */
function maxUnitsFor(cells: number): number {
  return Math.max(0, cells) * 16 + 64;
}

function toColor(color: ElementColor): Color {
  if (typeof color === "object") return { rgb: color };
  return { indexed: elementColorNames.indexOf(color) };
}

/** Text of wsh in an element, with a style of the theme or one made from it. */
export interface ThemedSpan extends ElementSpan {
  readonly style: Style;
}

function isThemed(text: ElementText): text is ThemedSpan {
  return "style" in text;
}

/** Luminance from which black has more contrast than white (WCAG 2.2, contrast ratio), from 0 to 1. */
const BRIGHT_LUMINANCE = 0.179;
/** Named colours that terminals show bright: green, yellow, cyan, white. */
const brightNames: ReadonlySet<number> = new Set([2, 3, 6, 7]);
const black: Color = { rgb: { r: 0, g: 0, b: 0 } };
const white: Color = { rgb: { r: 255, g: 255, b: 255 } };

/** Black or white, which is read on a colour whatever the terminal's own colours are. */
function contrastingColor(bg: Color): Color {
  if ("indexed" in bg) return brightNames.has(bg.indexed) ? black : white;
  const linear = (level: number): number => {
    const share = level / 255;
    return share <= 0.040_45 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  const { r, g, b } = bg.rgb;
  return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > BRIGHT_LUMINANCE ? black : white;
}

/**
 * Text without its own background uses the element's; text without its own colour, one that is readable on that
 * background.
 */
function toStyle(text: ElementText, background: Color | null): Style {
  if (isThemed(text)) return text.style;
  const bg = text.bg === undefined ? background : toColor(text.bg);
  return {
    fg: text.fg !== undefined ? toColor(text.fg) : bg === null ? null : contrastingColor(bg),
    bg,
    flags: (text.bold ? BOLD : 0) | (text.italic ? ITALIC : 0) | (text.underline ? UNDERLINE : 0),
    link: null,
  };
}

/**
 * The session's frame on a terminal of another size. A larger frame is cut so that the cursor stays in view; a smaller
 * one is at the top left, with a line around it. The session's size is written below that line; without room below, it
 * covers a corner of the last row if `showsSize` is set. The client's own status line is complete at the edge, in place
 * of the session's in the row `statusRowIndex`.
 */
function fitToClient(sessionFrame: Grid, statusRowIndex: number | null, input: FrameInput): ClientFrame {
  const { outer, showsSize = false, ascii = false, status } = input;
  // One row for the program, and one for the line.
  if (statusRowIndex === null || status == null || outer.rows < 2)
    return fitFrame(sessionFrame, outer, sessionFrame, { showsSize, ascii });
  const lines = sessionFrame.lines.toSpliced(statusRowIndex, 1);
  const { cursor } = sessionFrame;
  const row = cursor.row > statusRowIndex ? cursor.row - 1 : cursor.row;
  const frame = { ...sessionFrame, rows: sessionFrame.rows - 1, lines, cursor: { ...cursor, row } };
  const room = { rows: outer.rows - 1, cols: outer.cols };
  const rest = fitFrame(frame, room, sessionFrame, { showsSize, ascii });
  const canvas = new Canvas(1, outer.cols);
  drawStatus(canvas, status, 0);
  const [line = blankRow(outer.cols)] = canvas.finish();
  const isTop = statusRowIndex === 0;
  return {
    ...rest,
    rows: outer.rows,
    lines: isTop ? [line, ...rest.lines] : [...rest.lines, line],
    cursor: isTop ? { ...rest.cursor, row: rest.cursor.row + 1 } : rest.cursor,
  };
}

function fitFrame(
  frame: Grid,
  outer: Size,
  session: Size,
  { showsSize, ascii }: { readonly showsSize: boolean; readonly ascii: boolean },
): ClientFrame {
  const [right, below, edge] = ascii ? ["|", "-", "+"] : ["│", "─", "┘"];
  const top = Math.max(0, Math.min(frame.cursor.row - outer.rows + 1, frame.rows - outer.rows));
  const left = Math.max(0, Math.min(frame.cursor.col - outer.cols + 1, frame.cols - outer.cols));
  const rows = Math.min(frame.rows, outer.rows);
  const cols = Math.min(frame.cols, outer.cols);
  const canvas = new Canvas(outer.rows, outer.cols);
  for (let row = 0; row < rows; row++) {
    canvas.putCells(row, 0, sliceRow(frame.lines[top + row] ?? blankRow(frame.cols), left, left + cols));
  }
  const screen: CanvasBox = { row: 0, col: 0, height: outer.rows, width: outer.cols };
  if (outer.cols > cols) {
    for (let row = 0; row < rows; row++) canvas.text(row, cols, clusters(right), theme.border, screen);
  }
  if (outer.rows > rows) {
    const corner = outer.cols > cols ? edge : "";
    canvas.text(rows, 0, clusters(below.repeat(cols) + corner), theme.border, screen);
  }
  if (showsSize || outer.rows > rows) {
    const sign = clusters(` session ${session.cols}x${session.rows} `);
    canvas.text(outer.rows - 1, Math.max(0, outer.cols - sign.length), sign, theme.message, screen);
  }
  const cursor = { ...frame.cursor, row: frame.cursor.row - top, col: frame.cursor.col - left };
  const visible = cursor.visible && cursor.row >= 0 && cursor.row < rows && cursor.col >= 0 && cursor.col < cols;
  const clamped = {
    row: Math.max(0, Math.min(cursor.row, outer.rows - 1)),
    col: Math.max(0, Math.min(cursor.col, outer.cols - 1)),
  };
  return {
    rows: outer.rows,
    cols: outer.cols,
    lines: canvas.finish(),
    cursor: { ...cursor, ...clamped, visible },
    offset: { top, left },
  };
}

function drawLastRow(frame: ClientFrame, text: string): ClientFrame {
  const canvas = Canvas.over(frame);
  const line = clusters(cleanText(text).replaceAll("\n", " ").slice(0, maxUnitsFor(frame.cols)));
  const box: CanvasBox = { row: frame.rows - 1, col: 0, height: 1, width: frame.cols };
  canvas.fill(box, theme.message);
  canvas.text(box.row, 0, line, theme.message, box);
  return { ...frame, lines: canvas.finish() };
}
