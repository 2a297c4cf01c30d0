/**
 * The program's modes for a rendered terminal.
 *
 * Pure. Covers only modes that decide the outer terminal's input, its buffer and its cursor; modes of drawing (margins,
 * origin, wrap) belong to the renderer.
 */
import type { FrameModes } from "../protocol/frame.ts";
import type { MouseEncoding, MouseTracking, TerminalModes } from "../terminal/modes.ts";

const mouseModes: Readonly<Record<MouseTracking, FrameModes["mouse"]>> = {
  none: 0,
  x10: 9,
  vt200: 1000,
  drag: 1002,
  any: 1003,
};
const mouseEncodings: Readonly<Record<MouseEncoding, FrameModes["mouseEncoding"]>> = {
  default: 0,
  utf8: 1005,
  sgr: 1006,
  urxvt: 1015,
  "sgr-pixels": 1016,
};

/** @param alternate the program is on its alternate screen */
export function toFrameModes(modes: TerminalModes, alternate: boolean): FrameModes {
  return {
    alternate,
    reverseVideo: modes.reverseVideo,
    bracketedPaste: modes.bracketedPaste,
    mouse: mouseModes[modes.mouseTracking],
    mouseEncoding: mouseEncodings[modes.mouseEncoding],
    focus: modes.focusEvents,
    applicationCursor: modes.applicationCursor,
    applicationKeypad: modes.applicationKeypad,
    modifyOtherKeys: modes.modifyOtherKeys,
    kittyFlags: modes.kittyFlags,
    cursorChosen: modes.cursorChosen,
  };
}
