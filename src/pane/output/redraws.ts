/**
 * Cuts output where a program begins to draw over what it has drawn, so that a caller that follows the screen
 * also sees text that a program shows and replaces in one write. A synchronized update is one picture. Pure.
 */

/** Pieces of one read, which is 4 KB unless the program floods; the rest is not cut. */
const MAX_PIECES = 1_024;

/** A sequence, a control character, or printed text. */
const TOKEN =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]|\r\n|[\x00-\x20]|[^\x00-\x20]+/g;
/** Carriage return, backspace, cursor up, erase in display, the other screen. */
const REDRAW = /^(?:[\r\b]|\x1b\[\d*[AF]|\x1b\[[0-3]?J|\x1b\[\?1049[hl])$/;
/** The cursor's row is set. */
const ROW = /^\x1b\[(\d*)(?:;\d*)?[Hfd]$/;

export function cutAtRedraws(bytes: Uint8Array): Uint8Array[] {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  const pieces: Uint8Array[] = [];
  let from = 0;
  let row = 0;
  let isDrawn = false;
  let isOneUpdate = false;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token > "\x20" && token[0] !== "\x7f") {
      isDrawn = true;
      continue;
    }
    const [, given] = ROW.exec(token) ?? [];
    const isBack = given !== undefined && Number(given || 1) <= row;
    if (given !== undefined) row = Number(given || 1);
    if (isDrawn && !isOneUpdate && (isBack || token === "\x1b[?2026h" || REDRAW.test(token))) {
      pieces.push(bytes.subarray(from, index));
      from = index;
      isDrawn = false;
      if (pieces.length === MAX_PIECES) break;
    }
    if (/^\x1b\[\?2026[hl]$/.test(token)) isOneUpdate = token.endsWith("h");
  }
  return [...pieces, bytes.subarray(from)];
}
