/**
 * The private modes with a known value, for XTSAVE and DECRQM. Pure. Switches between the two screens are excluded:
 * restoring one would move the cursor and erase.
 */
import type { Terminal } from "@xterm/headless";
import type { ModeTracker } from "./modes.ts";

/** Whether private mode `mode` is set; null for an unknown one. */
export function privateMode(terminal: Terminal, tracker: ModeTracker, mode: number): boolean | null {
  const now = tracker.modes;
  switch (mode) {
    case 1:
      return now.applicationCursor;
    case 6:
      return now.origin;
    case 7:
      return now.wrap;
    case 9:
      return now.mouseTracking === "x10";
    case 12:
      return terminal.options.cursorBlink === true;
    case 25:
      return now.cursorVisible;
    case 45:
      return now.reverseWrap;
    case 66:
      return now.applicationKeypad;
    case 1000:
      return now.mouseTracking === "vt200";
    case 1002:
      return now.mouseTracking === "drag";
    case 1003:
      return now.mouseTracking === "any";
    case 1004:
      return now.focusEvents;
    case 1006:
      return now.mouseEncoding === "sgr";
    case 1016:
      return now.mouseEncoding === "sgr-pixels";
    case 2004:
      return now.bracketedPaste;
    case 2026:
      return now.synchronizedOutput;
    default:
      return tracker.extraMode(mode);
  }
}
