/** A browser's pointer events as a terminal's mouse reports, in cells of the whole picture. Pure. */
import { encodeReport, MOTION, type MouseReport, WHEEL_DOWN, WHEEL_UP } from "../../keys/mouse.ts";
import type { FrameModes } from "../../protocol/frame.ts";

const SHIFT = 4;
const ALT = 8;
const CTRL = 16;
/** Button of a motion without one. */
const NO_BUTTON = 3;

const encodings: Readonly<Record<FrameModes["mouseEncoding"], MouseReport["encoding"]>> = {
  0: "x10",
  1005: "utf8",
  1006: "sgr",
  1015: "urxvt",
  1016: "sgr",
};

export interface CellPointer {
  /** 0-based cell of the picture. */
  readonly row: number;
  readonly col: number;
  /** 0 left, 1 middle, 2 right; null: none is down. */
  readonly button: number | null;
  readonly kind: "press" | "release" | "move" | "wheel-up" | "wheel-down";
  readonly shiftKey: boolean;
  readonly altKey: boolean;
  readonly ctrlKey: boolean;
}

/** The report; null: the mode does not request it. */
export function mouseBytes(
  pointer: CellPointer,
  modes: Pick<FrameModes, "mouse" | "mouseEncoding">,
): Uint8Array | null {
  const { mouse } = modes;
  if (mouse === 0) return null;
  if (mouse === 9 && pointer.kind !== "press") return null;
  if (pointer.kind === "move" && (mouse === 1000 || (mouse === 1002 && pointer.button === null))) return null;
  const held = (pointer.shiftKey ? SHIFT : 0) | (pointer.altKey ? ALT : 0) | (pointer.ctrlKey ? CTRL : 0);
  return encodeReport({
    button: buttonOf(pointer) | (mouse === 9 ? 0 : held),
    col: pointer.col + 1,
    row: pointer.row + 1,
    release: pointer.kind === "release",
    encoding: encodings[modes.mouseEncoding],
  });
}

function buttonOf({ kind, button }: CellPointer): number {
  if (kind === "wheel-up") return WHEEL_UP;
  if (kind === "wheel-down") return WHEEL_DOWN;
  if (kind === "move") return MOTION | (button ?? NO_BUTTON);
  return button ?? 0;
}
