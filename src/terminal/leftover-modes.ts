/**
 * Finds modes that a program left on when it ended, and the output that switches them off, as `reset` would.
 * The shell's own modes are off while a command runs; settings that people want to last (colours of the
 * palette, tab stops, the cursor's shape) are kept.
 */
import type { Terminal } from "@xterm/headless";
import type { ModeTracker } from "./modes.ts";
import { hasPlainPen } from "./rows/xterm-row.ts";

/** Extra modes that make a terminal send, or change its whole look: DECSCNM, colour scheme and size reports. */
const REVERSE_VIDEO = 5;
const EXTRA_OFF = [REVERSE_VIDEO, 2031, 2048] as const;

/** A mode that is on: its name, and the output that switches it off. */
interface Leftover {
  /** Empty: not worth reporting. */
  readonly name: string;
  readonly resetSequence: string;
  /** Whether line editors set it themselves. */
  readonly isEditorMode?: true;
  /** Whether the terminal shows text incorrectly, or sends input that nobody typed. */
  readonly isDisruptive?: true;
}

/** Empty: nothing was left on. The cursor does not move on the normal screen. */
export function leftoverModesOff(terminal: Terminal, modes: ModeTracker): string {
  return joinResets(leftovers(terminal, modes));
}

/** The same except for the modes of an editor that reads a line. */
export function disruptiveModesOff(terminal: Terminal, modes: ModeTracker, isEditing: boolean): string {
  return joinResets(leftovers(terminal, modes).filter(({ isEditorMode }) => !isEditing || isEditorMode !== true));
}

/**
 * Names of the modes that make a terminal show text incorrectly or send input that nobody typed, unless a program needs
 * them.
 */
export function disruptiveModes(terminal: Terminal, modes: ModeTracker): string[] {
  return leftovers(terminal, modes).flatMap(({ name, isDisruptive }) => (isDisruptive === true ? [name] : []));
}

function joinResets(found: readonly Leftover[]): string {
  return found.map((each) => each.resetSequence).join("");
}

function leftovers(terminal: Terminal, modes: ModeTracker): Leftover[] {
  const { active, normal } = terminal.buffer;
  const now = modes.modes;
  const { top, bottom } = modes.bufferState("normal");
  const found: Leftover[] = [];
  const disorder = (isOn: boolean, name: string, text: string): void => {
    if (isOn) found.push({ name, resetSequence: text, isDisruptive: true });
  };
  const plain = (isOn: boolean, text: string): void => {
    if (isOn) found.push({ name: "", resetSequence: text });
  };
  const editors = (isOn: boolean, text: string): void => {
    if (isOn) found.push({ name: "", resetSequence: text, isEditorMode: true });
  };
  const isAlternate = active.type === "alternate";
  disorder(isAlternate, "alternate screen", `${kittyOff(modes.bufferState("alternate").kitty, 0)}\x1b[?1049l`);
  disorder(top !== 0 || bottom !== terminal.rows - 1, "scroll region", "\x1b[r");
  disorder(now.origin, "origin mode", "\x1b[?6l");
  plain(found.length > 0, `\x1b[${normal.cursorY + 1};${Math.min(normal.cursorX, terminal.cols - 1) + 1}H`);
  disorder(
    now.mouseTracking !== "none" || now.mouseEncoding !== "default",
    "mouse reports",
    "\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l",
  );
  disorder(now.focusEvents, "focus reports", "\x1b[?1004l");
  editors(now.bracketedPaste, "\x1b[?2004l");
  disorder(now.synchronizedOutput, "synchronized output", "\x1b[?2026l");
  editors(now.applicationCursor, "\x1b[?1l");
  editors(now.applicationKeypad, "\x1b>");
  const kitty = kittyOff(modes.bufferState("normal").kitty, modes.kittyLevelsAtCommand);
  editors(kitty !== "", kitty);
  editors(now.modifyOtherKeys !== 0, "\x1b[>4;0m");
  disorder(now.insert, "insert mode", "\x1b[4l");
  disorder(now.newLine, "new line mode", "\x1b[20l");
  plain(now.reverseWrap, "\x1b[?45l");
  disorder(!now.wrap, "no wrapping", "\x1b[?7h");
  disorder(!now.cursorVisible, "hidden cursor", "\x1b[?25h");
  for (const mode of EXTRA_OFF) {
    const isOn = modes.extraModes.get(mode) === true;
    if (mode === REVERSE_VIDEO) disorder(isOn, "reverse video", `\x1b[?${mode}l`);
    else plain(isOn, `\x1b[?${mode}l`);
  }
  const isOtherSet = modes.activeCharset !== 0 || modes.charsets.some((final) => final !== "B");
  disorder(isOtherSet, "line drawing or another character set", "\x1b(B\x1b)B\x1b*B\x1b+B\x0f");
  // Leaving the alternate screen also restores a pen that is unknown here.
  plain(!hasPlainPen(terminal) || isAlternate, "\x1b[m\x1b]8;;\x1b\\");
  return found;
}

/** Removes levels pushed beyond the first `kept`; flags set without a push become 0. */
function kittyOff(stack: readonly number[], kept: number): string {
  const pushed = stack.length - kept;
  if (pushed > 0) return `\x1b[<${pushed}u`;
  return (stack.at(-1) ?? 0) === 0 ? "" : "\x1b[=0;1u";
}
