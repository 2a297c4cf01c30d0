/**
 * Serializes the state of the terminal: output that puts a freshly reset terminal of the same size into it.
 *
 * Implemented here rather than by the serialize addon, which loses links, underline styles, margins, saved cursors, tab
 * stops and charsets. The order matters: contents while wrapping is on and margins are off, then sequences that home
 * the cursor, then the cursor, then the pen, then modes that change the effect of printing.
 */
import type { IBuffer, Terminal } from "@xterm/headless";
import { hasAgreedWidth } from "../protocol/agreed-width.ts";
import type { History } from "./history/history.ts";
import type { HotWindow } from "./history/hot-window.ts";
import { RUN_WORDS, runEnd, runExtra, type Segment, unitOffset } from "./history/segment.ts";
import { defaultTabs, type ModeTracker, SIZE_REPORTS } from "./modes.ts";
import type { QueryResponder } from "./queries.ts";
import type { LinkTable } from "./rows/hyperlinks.ts";
import { extraAt } from "./rows/row-text.ts";
import { type CellExtra, extraOf, sgrOf } from "./rows/styles.ts";
import {
  BG_VISIBLE,
  CELL_WORDS,
  cellText,
  cellWidth,
  HAS_CONTENT,
  type Pen,
  penOf,
  type StoredRow,
  storedRow,
  UNWRITTEN,
  usedCells,
} from "./rows/xterm-row.ts";

const RESET = "\x1b[0m";
/** A wide blank: makes the terminal wrap in front of a wide character. */
const WIDE_BLANK = "\u3000";

interface SerializeSource {
  readonly terminal: Terminal;
  readonly history: History;
  readonly hot: HotWindow;
  readonly links: LinkTable;
  readonly modes: ModeTracker;
  readonly queries: QueryResponder;
}

interface SerializeOptions {
  /** Number of rows above the screen at the beginning. */
  readonly historyRows: number;
  /** Empty: none is set. */
  readonly title: string;
}

export function serialize(source: SerializeSource, { historyRows, title }: SerializeOptions): string {
  const { terminal, modes } = source;
  const alternate = terminal.buffer.active.type === "alternate";
  let out = rowsAboveOutput(source, historyRows) + screenOutput(source, terminal.buffer.normal);
  const normal = modes.bufferState("normal");
  if (alternate) {
    out += kittyStack(normal.kitty);
    const { savedCursor } = normal;
    out +=
      savedCursor === null
        ? cursorAt(terminal.buffer.normal.cursorY, terminal.buffer.normal.cursorX)
        : cursorAt(savedRow(savedCursor.y, terminal.buffer.normal, terminal.rows), savedCursor.x) +
          penText(source, savedCursor.pen);
    out += `\x1b[?1049h${RESET}\x1b]8;;\x1b\\\x1b[H\x1b[2J${screenOutput(source, terminal.buffer.alternate)}`;
  }
  out += source.queries.colorSequences();
  if (title !== "") out += `\x1b]2;${title}\x1b\\`;
  return out + cursorOutput(source, alternate) + modeOutput(source, alternate);
}

/** Rows above the screen, each with its line end. */
function rowsAboveOutput({ history, hot, links, terminal }: SerializeSource, limit: number): string {
  const rows = Math.max(0, Math.min(limit, history.rows + hot.above));
  const packed = Math.max(0, rows - hot.above);
  let out = "";
  let last: Segment | null = null;
  let segmentStart = 0;
  let segmentEnd = 0;
  const flush = (): void => {
    if (last !== null) out += segmentText(last, segmentStart, segmentEnd);
  };
  for (const { segment, from, to } of history.rowsBetween(history.rows - packed, history.rows)) {
    if (last !== null && last.id === segment.id && last.offset === segment.offset) {
      segmentEnd = to;
      continue;
    }
    flush();
    const goesOn = last !== null && last.id === segment.id && segmentEnd % terminal.cols === 0;
    if (last !== null && !goesOn) out += "\r\n";
    last = segment;
    segmentStart = from;
    segmentEnd = to;
  }
  flush();
  const first = hot.above - Math.min(rows, hot.above);
  if (last !== null) out += "\r\n";
  for (let i = first; i < hot.above; i++) out += rowOutput(hot.row(i), hot.row(i + 1), terminal.cols, links);
  return out;
}

/** The cells from `from` to `to` of a segment, with their styles. */
export function segmentText(segment: Segment, from: number, to: number): string {
  const { runs } = segment;
  if (runs === null) return segment.text.slice(unitOffset(segment, from), unitOffset(segment, to));
  let out = "";
  let start = 0;
  let link: string | null = null;
  for (let index = 0; index < runs.length && start < to; index += RUN_WORDS) {
    const end = runEnd(runs[index] ?? 0);
    if (end > from) {
      const extra = segment.extras?.[runExtra(runs[index] ?? 0) - 1] ?? null;
      out +=
        sgrOf(runs[index + 1] ?? 0, (runs[index + 2] ?? 0) & BG_VISIBLE, extra) + linkText(link, extra?.link ?? null);
      link = extra?.link ?? null;
      out += segment.text.slice(unitOffset(segment, Math.max(start, from)), unitOffset(segment, Math.min(end, to)));
    }
    start = end;
  }
  return out + RESET + linkText(link, null);
}

/** The rows of a screen; the cursor ends anywhere. */
function screenOutput({ terminal, links }: SerializeSource, buffer: IBuffer): string {
  let out = "";
  for (let y = 0; y < terminal.rows; y++) {
    const next = y + 1 < terminal.rows ? storedRow(buffer, buffer.baseY + y + 1) : null;
    out += rowOutput(storedRow(buffer, buffer.baseY + y), next, terminal.cols, links);
  }
  return out;
}

/**
 * One row from its first column on, and the move to the next row's first column. Rows of the alternate screen retain
 * cells cut off by a narrower size, and editing can leave half a wide character: neither is shown.
 */
function rowOutput(row: StoredRow, next: StoredRow | null, cols: number, links: LinkTable): string {
  const data = row._data;
  const last = contentAt(data, cols - 1, cols);
  // A trailing space counts if the line continues.
  const used = next?.isWrapped && (last & HAS_CONTENT) !== 0 ? cols : Math.min(usedCells(row), cols);
  let out = "";
  let link: string | null = null;
  let pen = "";
  for (let x = 0; x < used; ) {
    const offset = x * CELL_WORDS;
    const content = data[offset] ?? 0;
    const fg = data[offset + 1] ?? 0;
    const bg = (data[offset + 2] ?? 0) & BG_VISIBLE;
    const extra = extraAt(row, x, bg, links);
    const sgr = fg === 0 && bg === 0 ? (pen === "" ? "" : RESET) : sgrOf(fg, bg, extra);
    if (sgr !== pen && !(sgr === "" && pen === RESET)) {
      out += sgr;
      pen = sgr;
    }
    out += linkText(link, extra?.link ?? null);
    link = extra?.link ?? null;
    if ((content & HAS_CONTENT) === 0 || isHalfCell(data, x, cols)) {
      let end = x + 1;
      while (end < used && isBlankLike(data, end, offset)) end++;
      // Erase rather than print: unwritten cells are not text. The cursor cannot pass the last column.
      out += `${(data[offset + 2] ?? 0) === 0 ? "" : `\x1b[${end - x}X`}\x1b[${end - x}C`;
      x = end;
      continue;
    }
    const text = cellText(row, x);
    out += text;
    x += Math.max(1, cellWidth(content));
    // Neighbours must not join either.
    if (!hasAgreedWidth(text) && x < cols) out += `\x1b[${x + 1}G`;
  }
  if (pen !== "" && pen !== RESET) out += RESET;
  out += linkText(link, null);
  return next === null ? out : out + rowEnd(row, next, used, cols);
}

/** The content word of a cell for the output. */
function contentAt(data: Uint32Array, x: number, cols: number): number {
  return isHalfCell(data, x, cols) ? UNWRITTEN : (data[x * CELL_WORDS] ?? 0);
}

/** A wide cell without its right half. */
function isHalfCell(data: Uint32Array, x: number, cols: number): boolean {
  if (cellWidth(data[x * CELL_WORDS] ?? 0) !== 2) return false;
  return x + 1 >= cols || cellWidth(data[(x + 1) * CELL_WORDS] ?? 0) !== 0;
}

function isBlankLike(data: Uint32Array, x: number, offset: number): boolean {
  const other = x * CELL_WORDS;
  return (
    ((data[other] ?? 0) & HAS_CONTENT) === 0 &&
    cellWidth(data[other] ?? 0) === 1 &&
    data[other + 1] === data[offset + 1] &&
    data[other + 2] === data[offset + 2]
  );
}

/** A line end, or a sequence that makes the terminal wrap. */
function rowEnd(row: StoredRow, next: StoredRow, used: number, cols: number): string {
  if (!next.isWrapped) return "\r\n";
  const last = contentAt(row._data, cols - 1, cols);
  const written = used === cols && ((last & HAS_CONTENT) !== 0 || cellWidth(last) === 0);
  const blank = ((next._data[0] ?? 0) & HAS_CONTENT) === 0;
  // The next row must not get the pen's background, so a plain blank wraps and is overwritten.
  if (written) return blank ? " \r\x1b[X" : " \r";
  const before = contentAt(row._data, cols - 2, cols);
  const early = used === cols - 1 && ((before & HAS_CONTENT) !== 0 || cellWidth(before) === 0);
  return early ? `${WIDE_BLANK}\r\x1b[2X` : "\r\n";
}

function cursorOutput(source: SerializeSource, alternate: boolean): string {
  const { terminal, modes } = source;
  const buffer = terminal.buffer.active;
  const state = modes.bufferState(alternate ? "alternate" : "normal");
  const { rows, cols } = terminal;
  let out = "";
  if (state.savedCursor !== null) {
    out += `${cursorAt(savedRow(state.savedCursor.y, buffer, rows), Math.min(state.savedCursor.x, cols - 1))}${penText(source, state.savedCursor.pen)}\x1b7`;
  }
  if (!hasDefaultTabs(state.tabStops, cols)) {
    out += "\x1b[3g";
    for (const x of state.tabStops) if (x < cols) out += `\x1b[${x + 1}G\x1bH`;
  }
  if (state.top !== 0 || state.bottom !== rows - 1) out += `\x1b[${state.top + 1};${state.bottom + 1}r`;
  const { origin } = modes.modes;
  if (origin) out += "\x1b[?6h";
  out += `${RESET}\x1b]8;;\x1b\\`;
  const y = buffer.cursorY - (origin ? state.top : 0);
  if (buffer.cursorX < cols) out += cursorAt(y, buffer.cursorX);
  else {
    // A wrap is pending: only printing in the last column produces that state.
    const row = storedRow(buffer, buffer.baseY + buffer.cursorY);
    const x = cellWidth(row._data[(cols - 1) * CELL_WORDS] ?? 0) === 0 ? cols - 2 : cols - 1;
    const at = x * CELL_WORDS;
    const bg = (row._data[at + 2] ?? 0) & BG_VISIBLE;
    const extra = extraAt(row, x, bg, source.links);
    out += cursorAt(y, x) + styleText(row._data[at + 1] ?? 0, bg, extra) + (cellText(row, x) || " ");
  }
  for (const [set, final] of modes.charsets.entries()) if (final !== "B") out += `\x1b${"()*+"[set]}${final}`;
  out += ["", "\x0e", "\x1bn", "\x1bo"][modes.activeCharset] ?? "";
  return out + penText(source, penOf(terminal));
}

function modeOutput({ modes }: SerializeSource, alternate: boolean): string {
  const now = modes.modes;
  let out = kittyStack(modes.bufferState(alternate ? "alternate" : "normal").kitty);
  if (now.applicationCursor) out += "\x1b[?1h";
  if (now.applicationKeypad) out += "\x1b=";
  if (now.bracketedPaste) out += "\x1b[?2004h";
  if (now.reverseWrap) out += "\x1b[?45h";
  if (now.focusEvents) out += "\x1b[?1004h";
  if (now.mouseTracking !== "none")
    out += { x10: "\x1b[?9h", vt200: "\x1b[?1000h", drag: "\x1b[?1002h", any: "\x1b[?1003h" }[now.mouseTracking];
  for (const [mode, on] of modes.extraModes) if (mode !== SIZE_REPORTS) out += `\x1b[?${mode}${on ? "h" : "l"}`;
  if (now.mouseEncoding === "sgr") out += "\x1b[?1006h";
  else if (now.mouseEncoding === "sgr-pixels") out += "\x1b[?1016h";
  if (now.modifyOtherKeys !== 0) out += `\x1b[>4;${now.modifyOtherKeys}m`;
  if (modes.cursorStyle !== 0) out += `\x1b[${modes.cursorStyle} q`;
  else if (now.cursorBlink) out += "\x1b[?12h";
  if (!now.cursorVisible) out += "\x1b[?25l";
  if (now.newLine) out += "\x1b[20h";
  if (now.insert) out += "\x1b[4h";
  if (!now.wrap) out += "\x1b[?7l";
  return out;
}

function kittyStack(stack: readonly number[]): string {
  return stack.map((flags) => `\x1b[>${flags}u`).join("");
}

function savedRow(y: number, buffer: IBuffer, rows: number): number {
  return Math.min(Math.max(y - buffer.baseY, 0), rows - 1);
}

function cursorAt(row: number, col: number): string {
  return `\x1b[${row + 1};${col + 1}H`;
}

function penText({ links }: SerializeSource, { fg, bg, extended }: Pen): string {
  return styleText(fg, bg & BG_VISIBLE, extraOf(extended, links.target(extended.urlId)));
}

function styleText(fg: number, bg: number, extra: CellExtra | null): string {
  return `${sgrOf(fg, bg, extra)}\x1b]8;;${extra?.link ?? ""}\x1b\\`;
}

function linkText(from: string | null, to: string | null): string {
  return from === to ? "" : `\x1b]8;;${to ?? ""}\x1b\\`;
}

export function hasDefaultTabs(tabs: ReadonlySet<number>, cols: number): boolean {
  const usual = defaultTabs(cols);
  const present = [...tabs].filter((x) => x < cols);
  return present.length === usual.size && present.every((x) => usual.has(x));
}
