/**
 * Modes that a program left on when it ended, and the output that switches them off again: what `reset` would do. The
 * shell's own modes are off while a command runs, and settings that people intend to last (colours of the palette, tab
 * stops, the cursor's shape) stay.
 */
import type { Terminal } from "@xterm/headless";
import type { ModeTracker } from "./modes.ts";
import { hasPlainPen } from "./rows/xterm-row.ts";

/** Extra modes that make a terminal send, or change its whole look: DECSCNM, colour scheme and size reports. */
const EXTRA_OFF = [5, 2031, 2048] as const;

/** Empty when nothing was left on. The cursor does not move on the normal screen. */
export function leftoversOff(terminal: Terminal, modes: ModeTracker): string {
  const { active, normal } = terminal.buffer;
  const now = modes.modes;
  const { top, bottom } = modes.of("normal");
  let out = "";
  if (active.type === "alternate") out += `${kittyOff(modes.of("alternate").kitty, 0)}\x1b[?1049l`;
  const hasMargins = top !== 0 || bottom !== terminal.rows - 1;
  if (hasMargins) out += "\x1b[r";
  if (now.origin) out += "\x1b[?6l";
  if (out !== "") out += `\x1b[${normal.cursorY + 1};${Math.min(normal.cursorX, terminal.cols - 1) + 1}H`;
  if (now.mouseTracking !== "none" || now.mouseEncoding !== "default") {
    out += "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l";
  }
  if (now.focusEvents) out += "\x1b[?1004l";
  if (now.bracketedPaste) out += "\x1b[?2004l";
  if (now.synchronizedOutput) out += "\x1b[?2026l";
  if (now.applicationCursor) out += "\x1b[?1l";
  if (now.applicationKeypad) out += "\x1b>";
  out += kittyOff(modes.of("normal").kitty, modes.kittyBefore);
  if (now.modifyOtherKeys !== 0) out += "\x1b[>4;0m";
  if (now.insert) out += "\x1b[4l";
  if (now.newLine) out += "\x1b[20l";
  if (now.reverseWrap) out += "\x1b[?45l";
  if (!now.wrap) out += "\x1b[?7h";
  if (!now.cursorVisible) out += "\x1b[?25h";
  for (const mode of EXTRA_OFF) if (modes.extra.get(mode) === true) out += `\x1b[?${mode}l`;
  if (modes.shift !== 0 || modes.charsets.some((final) => final !== "B")) out += "\x1b(B\x1b)B\x1b*B\x1b+B\x0f";
  // Leaving the alternate screen also restores a pen that is not known here.
  if (!hasPlainPen(terminal) || active.type === "alternate") out += "\x1b[m\x1b]8;;\x1b\\";
  return out;
}

/** Removes levels pushed beyond the first `kept`; flags set without a push become 0. */
function kittyOff(stack: readonly number[], kept: number): string {
  const pushed = stack.length - kept;
  if (pushed > 0) return `\x1b[<${pushed}u`;
  return (stack.at(-1) ?? 0) === 0 ? "" : "\x1b[=0;1u";
}
