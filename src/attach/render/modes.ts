/**
 * The outer terminal: its abilities, its modes, and the bytes that restore it.
 *
 * Pure. Invariants: a mode is set only by difference from the terminal's known state, or absolutely when that is
 * unknown. `restoreTerminal` undoes everything that a program or wsh may have set, however wsh ends, and may be written
 * to a terminal in any state, even twice.
 */

import type { FrameModes } from "../../protocol/frame.ts";
import type { GridCursor } from "../../protocol/grid.ts";
import type { LastingChange } from "../../protocol/lasting-changes.ts";
import { defaultWidths, type OuterWidths } from "../width-probe.ts";
import type { ColorDepth } from "./color-depth.ts";

/** The outer terminal's abilities, from its environment and its answers. */
export interface OuterCaps {
  readonly colors: ColorDepth;
  /** DEC 2026: shows a frame at once. */
  readonly synchronized: boolean;
  /** Erasing fills cells with the background colour. */
  readonly bce: boolean;
  /** Blanks are written: xterm keeps a picture's pixels below cells that were only erased, and may show them again. */
  readonly writesBlanks?: boolean;
  /** The client always draws on the outer terminal's alternate screen (`--alt-screen`). */
  readonly altScreen: boolean;
  readonly hyperlinks: boolean;
  /** Underline shapes and colours, in their colon forms, which most terminals that lack them ignore. */
  readonly underlineStyles: boolean;
  /** Kitty's keyboard protocol. A terminal without it ignores its sequences; the consoles do not. */
  readonly kittyKeyboard: boolean;
  /** How it measures the characters on which terminals differ. */
  readonly widths: OuterWidths;
}

const unknownTerminals = /^(dumb|unknown|)$/;
/** Terminals that may print or misread unknown sequences. */
const consoles = /^(dumb|unknown|linux|vt\d+|)$/;

/** Abilities according to the environment; answers to probes may replace single ones. */
export function capsFromEnvironment(env: Readonly<Record<string, string | undefined>>): OuterCaps {
  const term = env.TERM ?? "";
  return {
    colors: colorDepth(env),
    // A terminal that lacks it ignores it, so it costs only its bytes; the consoles below print nothing either.
    synchronized: !unknownTerminals.test(term) && term !== "linux",
    bce: !/^(screen|tmux|dumb|vt100|vt220)/.test(term) && term !== "",
    altScreen: false,
    hyperlinks: !/^(linux|dumb|vt\d+|screen)/.test(term) && term !== "",
    underlineStyles: !consoles.test(term) && readsControlStrings(env),
    widths: defaultWidths,
    kittyKeyboard: !consoles.test(term),
  };
}

/** The setting `colours`: the terminal's colours as the person states them, or `auto`. */
type ColorSetting = "auto" | "truecolor" | "256" | "16" | "none";

/** The setting `underlines`: shapes and colours of underlines, or plain ones. */
type UnderlineSetting = "auto" | "styled" | "plain";

/** The person's settings for their terminal. */
export interface StyleSettings {
  readonly colors: ColorSetting;
  readonly underlines: UnderlineSetting;
}

/** Abilities with the person's settings, which override the environment. */
export function capsWithSettings(
  env: Readonly<Record<string, string | undefined>>,
  { colors, underlines }: StyleSettings,
): OuterCaps {
  const found = capsFromEnvironment(env);
  const caps = underlines === "auto" ? found : { ...found, underlineStyles: underlines === "styled" };
  if (colors === "auto") return caps;
  return { ...caps, colors: colors === "256" ? 256 : colors === "16" ? 16 : colors };
}

/** Terminals with true colour, by their TERM or TERM_PROGRAM. */
const trueColorTerminals = /direct|truecolor|24bit|alacritty|contour|foot|ghostty|iterm|kitty|rio\b|vscode|wezterm/i;

/**
 * True colour by COLORTERM, otherwise the depth by terminal names. NO_COLOR is not checked: it concerns a program's own
 * output, and the rendered output comes from other programs.
 */
export function colorDepth(env: Readonly<Record<string, string | undefined>>): ColorDepth {
  const term = env.TERM ?? "";
  if (unknownTerminals.test(term) || /^vt\d+/.test(term)) return "none";
  if (/^(truecolor|24bit)$/i.test(env.COLORTERM ?? "")) return "truecolor";
  // Inside a multiplexer, TERM_PROGRAM may describe the surrounding terminal.
  const program = /^(screen|tmux)/.test(term) ? "" : (env.TERM_PROGRAM ?? "");
  if (trueColorTerminals.test(`${term} ${program}`)) return "truecolor";
  return /256color/.test(term) ? 256 : 16;
}

/** Whether device control strings are read; Apple's terminal prints them, GNU screen passes them outwards. */
export function readsControlStrings(env: Readonly<Record<string, string | undefined>>): boolean {
  const screen = /^screen/.test(env.TERM ?? "") && env.TMUX === undefined;
  return !screen && env.TERM_PROGRAM !== "Apple_Terminal";
}

/** Whether application commands are ignored, if unknown sequences are; multiplexers use them as a title. */
export function ignoresApplicationCommands(env: Readonly<Record<string, string | undefined>>): boolean {
  return !/^(screen|tmux)/.test(env.TERM ?? "") && readsControlStrings(env) && showsUtf8(env);
}

/** Bytes that remove images from the terminal's current screen. */
export function removeImages(ids: readonly number[]): string {
  return ids.map((id) => `\x1b_Ga=d,d=I,i=${id},q=2\x1b\\`).join("");
}

/** Whether the terminal shows UTF-8, by the locale; assumed without one. */
export function showsUtf8(env: Readonly<Record<string, string | undefined>>): boolean {
  const locale = env.LC_ALL || env.LC_CTYPE || env.LANG || "";
  return locale === "" || /utf-?8/i.test(locale);
}

const setMode = (mode: number) => `\x1b[?${mode}h`;
const resetMode = (mode: number) => `\x1b[?${mode}l`;

/** Bytes that take the terminal from one set of modes to another; null means an unknown set. */
export function switchModes(prev: FrameModes | null, next: FrameModes, caps: OuterCaps): string {
  // Kitty's flags are separate for each screen.
  const flags = prev?.alternate === next.alternate ? prev.kittyFlags : null;
  let bytes = "";
  const switchFlag = (mode: number, key: "reverseVideo" | "bracketedPaste" | "focus" | "applicationCursor") => {
    if (prev?.[key] !== next[key]) bytes += next[key] ? setMode(mode) : resetMode(mode);
  };
  switchFlag(5, "reverseVideo");
  switchFlag(2004, "bracketedPaste");
  switchFlag(1004, "focus");
  switchFlag(1, "applicationCursor");
  if (prev?.applicationKeypad !== next.applicationKeypad) bytes += next.applicationKeypad ? "\x1b=" : "\x1b>";
  bytes += switchMouse(prev, next);
  // Apple's terminal takes it for an underline: attributes are reset after it.
  if (prev?.modifyOtherKeys !== next.modifyOtherKeys) bytes += `\x1b[>4;${next.modifyOtherKeys}m\x1b[m`;
  if (caps.kittyKeyboard && flags !== next.kittyFlags) bytes += `\x1b[=${next.kittyFlags};1u`;
  return bytes;
}

function switchMouse(prev: FrameModes | null, next: FrameModes): string {
  let bytes = "";
  if (prev?.mouse !== next.mouse) {
    // Resetting any of them turns tracking off in most terminals, so off comes first.
    if (prev === null) bytes += "\x1b[?9;1000;1002;1003l";
    else if (prev.mouse !== 0) bytes += resetMode(prev.mouse);
    if (next.mouse !== 0) bytes += setMode(next.mouse);
  }
  if (prev?.mouseEncoding !== next.mouseEncoding) {
    if (prev === null) bytes += "\x1b[?1005;1006;1015;1016l";
    else if (prev.mouseEncoding !== 0) bytes += resetMode(prev.mouseEncoding);
    if (next.mouseEncoding !== 0) bytes += setMode(next.mouseEncoding);
  }
  return bytes;
}

/** DECSCUSR of the program's cursor; 0, the person's own, when it chose none. */
export function cursorStyle(cursor: GridCursor, isChosen: boolean): string {
  if (!isChosen) return "\x1b[0 q";
  const shape = { block: 1, underline: 3, bar: 5 }[cursor.shape];
  return `\x1b[${cursor.blink ? shape : shape + 1} q`;
}

/**
 * Resets state that a passed-through program may have left: margins, origin, insert mode, charsets,
 * attributes. Wrapping is off while rendering, so that a character that the terminal draws wider than we
 * expect cannot scroll the screen.
 */
export const renderingReset =
  "\x1b[?6l\x1b[?69l\x1b[r\x1b[4l\x1b[20l\x1b(B\x1b)B\x0f\x1b]8;;\x1b\\\x1b[?5l\x1b[?7l\x1b[m";

/** Includes modes that a session's programs cannot set: KAM (locks the keyboard) and SRM (echoes locally). */
const modesReset =
  "\x1b[?2026l\x1b[?9;1000;1002;1003l\x1b[?1005;1006;1015;1016l\x1b[?1004;2004;2031;2048l\x1b[?1;45l\x1b>\x1b[>4;0m" +
  "\x1b[2l\x1b[12h";
const drawingReset =
  '\x1b[?6l\x1b[?69l\x1b[r\x1b[4l\x1b[20l\x1b(B\x1b)B\x1b*B\x1b+B\x0f\x1b]8;;\x1b\\\x1b[?5l\x1b[?7h\x1b[0"q\x1b[m';

/** Alternate scrolling and the meta key: modes whose initial value is the person's configuration, not a standard's. */
const PERSON_MODES = "1007;1034;1035;1036;1039";

/** Saves (XTSAVE) and restores (XTRESTORE) the modes whose initial value is unknown. */
export const savePersonModes = `\x1b[?${PERSON_MODES}s`;
const restorePersonModes = `\x1b[?${PERSON_MODES}r`;

/**
 * Saves and restores the title (XTWINOPS 22 and 23, window and icon); terminals without these sequences
 * ignore them. A program that ends between saving and restoring leaves another title on top: that one is
 * restored, as the program's own end would have done.
 */
export const saveTitle = "\x1b[22;0t";
export const restoreTitle = "\x1b[23;0t";

/** Levels to pop from kitty's keyboard stack: more than any terminal keeps. */
const ALL_LEVELS = 99;

/** Pops every level of kitty's keyboard protocol on the screen in use. */
function resetKeyboard({ kittyKeyboard }: Pick<OuterCaps, "kittyKeyboard">, flags = 0): string {
  return kittyKeyboard ? `\x1b[<${ALL_LEVELS}u\x1b[=${flags};1u` : "";
}

/**
 * Brings the terminal to its state after a reset, on its normal screen, empty, the cursor at home: where the session
 * process's restore of a session begins. Rows are erased one by one, since some terminals move the screen into the
 * scrollback when it is erased at once.
 */
export function enterPassThrough(
  { rows, cols }: { readonly rows: number; readonly cols: number },
  caps: Pick<OuterCaps, "kittyKeyboard">,
  changes: ReadonlySet<LastingChange>,
): string {
  const keyboard = resetKeyboard(caps);
  const undone = undoLasting(changes, cols);
  const erase = Array.from({ length: rows }, (_, row) => `\x1b[${row + 1};1H\x1b[2K`).join("");
  const modes = modesReset.replace("\x1b[?2026l", "");
  const own = caps.kittyKeyboard ? restorePersonModes : "";
  return `${modes}${own}${keyboard}${resetMode(1049)}${keyboard}${drawingReset}${undone}\x1b[0 q${erase}\x1b[H\x1b[?25h`;
}

interface RestoreOptions {
  /**
   * The cause of the alternate screen that the terminal shows: wsh itself (`--alt-screen`), which saved the shell's
   * cursor; the program inside; false: none; `maybe`: unknown.
   */
  readonly alternate: false | "own" | "program" | "maybe";
  /** `savePersonModes` was written to it earlier. */
  readonly hasSavedModes?: boolean;
  /** Kitty's keyboard flags that the person's own programs had set. */
  readonly keyboardFlags?: number;
}

/**
 * Bytes that restore the outer terminal. The cursor ends at the start of the last row of the normal screen, or at its
 * earlier place when wsh used the alternate screen. For every end of an attachment, and for `wsh reset-terminal`
 * (`maybe`).
 */
export function restoreTerminal(caps: Pick<OuterCaps, "kittyKeyboard">, options: RestoreOptions): Uint8Array {
  const { alternate, hasSavedModes = false, keyboardFlags } = options;
  const ownReset = hasSavedModes ? restorePersonModes : "";
  // Separate for each screen, so written on both.
  const keyboard = resetKeyboard(caps);
  const cursor = "\x1b[0 q\x1b[?25h";
  const bottom = "\x1b[9999;1H";
  const screens = {
    own: resetMode(1049),
    program: resetMode(1049) + bottom,
    // 1049 restores the saved cursor: save it at the bottom, for a terminal that was on the normal screen.
    maybe: `${bottom}\x1b7${resetMode(1049)}`,
  };
  const screen = alternate === false ? bottom : screens[alternate];
  return new TextEncoder().encode(
    modesReset + ownReset + keyboard + drawingReset + screen + resetKeyboard(caps, keyboardFlags) + cursor,
  );
}

/** Bytes that undo such changes on a terminal of that width. */
export function undoLasting(changes: ReadonlySet<LastingChange>, cols: number): string {
  let bytes = "";
  if (changes.has("colors")) {
    for (const code of [104, 105, 110, 111, 112, 113, 114, 115, 116, 117, 118, 119]) bytes += `\x1b]${code}\x1b\\`;
  }
  if (changes.has("pointer")) bytes += "\x1b]22;\x1b\\";
  if (changes.has("progress")) bytes += "\x1b]9;4;0\x1b\\";
  if (changes.has("tabs")) bytes += `\x1b[3g${tabStops(cols)}\x1b[?5W\r`;
  return bytes;
}

/** Sets a stop at every eighth column; leaves the cursor there. */
function tabStops(cols: number): string {
  let stops = "\r";
  for (let col = 8; col < cols; col += 8) stops += `\x1b[${col + 1}G\x1bH`;
  return stops;
}
