/**
 * Adapts an attached terminal's input for a program that has only a part of the screen, beside panels or scrolled:
 * mouse events get the program's own coordinates, and those outside it never reach it. Other input passes unchanged.
 */

import { decodeKeys, initialKeyState } from "../keys/decode.ts";
import { translateMouse } from "../keys/mouse.ts";
import type { Session } from "./session.ts";

/** Prefix of a mouse event. */
const ESCAPE = 0x1b;

/** @param offset rows and columns of the session's screen that the terminal does not show, from its top left */
export function forProgram(
  bytes: Uint8Array,
  { layout, pane }: Session,
  offset: { readonly top: number; readonly left: number },
): Uint8Array {
  if (!bytes.includes(ESCAPE)) return bytes;
  const { mouseTracking, mouseEncoding } = pane.terminal.modes;
  const isElsewhere = layout.top + layout.bottom + offset.top + offset.left > 0;
  if (!isElsewhere || mouseTracking === "none" || mouseEncoding === "sgr-pixels") return bytes;
  const { events, state } = decodeKeys(initialKeyState, bytes);
  const area = { rows: layout.ptyRows, cols: layout.ptyCols };
  const parts = events.flatMap(({ kind, raw }) =>
    kind === "mouse" ? (translateMouse(raw, layout.top - offset.top, area, -offset.left) ?? []) : [raw],
  );
  return new Uint8Array(Buffer.concat([...parts, state.rest]));
}
