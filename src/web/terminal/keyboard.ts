/**
 * A browser's key events as the key names of wsh, encoded by the terminal layer. Keys that themselves type a character
 * (dead keys, AltGr, an input method) are left to the text input (text-input.ts). Pure.
 */
import { encodeKeys, type KeyModes } from "../../keys/encode.ts";
import { findKey } from "../../keys/names.ts";

/** The properties of a key event that are used. */
export interface KeyPress {
  readonly key: string;
  readonly code: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  readonly metaKey: boolean;
  /** AltGr of the keyboard: it types a character, even if Ctrl and Alt are set. */
  readonly altGraph: boolean;
  /** Whether Alt is a Mac's Option key, which types characters. */
  readonly option: boolean;
  /** Composing, or a dead key. */
  readonly composing: boolean;
}

/** Characters of punctuation keys in the layout by which codes are named; letters and digits are in the code itself. */
const punctuation: Readonly<Record<string, string>> = {
  Backquote: "`",
  Minus: "-",
  Equal: "=",
  BracketLeft: "[",
  BracketRight: "]",
  Backslash: "\\",
  Semicolon: ";",
  Quote: "'",
  Comma: ",",
  Period: ".",
  Slash: "/",
};

/** With Ctrl+Shift these belong to the browser, whatever a program requests: paste, and the developer tools. */
const browserCodes: ReadonlySet<string> = new Set(["KeyV", "KeyI", "KeyJ"]);

/** Kitty flag: all keys are reported as escape codes. */
const ALL_KEYS = 8;

const browserKeyNames: Readonly<Record<string, string>> = {
  Enter: "Enter",
  Tab: "Tab",
  Escape: "Escape",
  Backspace: "Backspace",
  Delete: "Delete",
  Insert: "Insert",
  Home: "Home",
  End: "End",
  PageUp: "PageUp",
  PageDown: "PageDown",
  ArrowUp: "Up",
  ArrowDown: "Down",
  ArrowLeft: "Left",
  ArrowRight: "Right",
};

/** Keys of the numeric pad by code, if programs distinguish them. */
const keypad: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Array.from({ length: 10 }, (_, digit) => [`Numpad${digit}`, `KP${digit}`])),
  NumpadEnter: "KPEnter",
  NumpadDecimal: "KP.",
  NumpadDivide: "KP/",
  NumpadMultiply: "KP*",
  NumpadSubtract: "KP-",
  NumpadAdd: "KP+",
  NumpadEqual: "KP=",
};

/**
 * Whether the browser handles the key: paste, zoom, developer tools, tabs. Ctrl+Shift with a letter types the same as
 * Ctrl in terminals, so no program misses it unless it has asked to distinguish them.
 */
function isBrowserKey({ key, code, ctrlKey, altKey, shiftKey, altGraph }: KeyPress, modes: KeyModes): boolean {
  if (altKey || altGraph) return false;
  if (!ctrlKey) return shiftKey && key === "Insert";
  if (/^[-+=0]$/.test(key)) return true;
  if (!shiftKey || !/^Key[A-Z]$/.test(code)) return false;
  return browserCodes.has(code) || (modes.kittyFlags === 0 && modes.modifyOtherKeys === 0);
}

/**
 * Name of the key with its modifiers; null for a key that terminals do not have, or that belongs to the browser or the
 * text input.
 */
export function keyNameOf(event: KeyPress, modes: KeyModes): string | null {
  if (event.composing || event.metaKey || event.key === "Dead" || event.key === "Unidentified") return null;
  if (isBrowserKey(event, modes)) return null;
  const functionKey = /^F([1-9]|1\d|2[0-4])$/.test(event.key) ? event.key : undefined;
  const pad = padName(event);
  const name = browserKeyNames[event.key] ?? functionKey;
  if (pad !== undefined) return withModifiers(pad, event);
  if (name !== undefined) return withModifiers(name, event);
  const isText = [...event.key].length === 1;
  if (!isText) return null;
  // A browser types nothing while Ctrl is held.
  if (isThirdLevel(event)) return withoutModifiers(event);
  const hasModifier = (event.ctrlKey || event.altKey) && !event.altGraph && !event.option;
  if (!hasModifier)
    return (modes.kittyFlags & ALL_KEYS) !== 0 || modes.modifyOtherKeys === 2 ? withoutModifiers(event) : null;
  return withModifiers(event.key === " " ? "Space" : event.key, { ...event, shiftKey: false });
}

/**
 * Whether Ctrl and Alt stand for an unnamed AltGr, as remote desktops send it: the key alone does not type this
 * character. Ctrl+Alt with a letter or a digit is taken literally.
 */
function isThirdLevel({ key, code, ctrlKey, altKey, shiftKey, altGraph }: KeyPress): boolean {
  if (!ctrlKey || !altKey || shiftKey || altGraph || /^[a-z0-9 ]$/i.test(key)) return false;
  return /^(Key[A-Z]|Digit\d)$/.test(code) || (punctuation[code] !== undefined && punctuation[code] !== key);
}

function withoutModifiers({ key, shiftKey }: KeyPress): string | null {
  if (key === " ") return shiftKey ? "Shift+Space" : "Space";
  return key;
}

/** The numeric pad's digits and signs; its arrows and the like have the names of those keys. */
function padName({ code, key }: KeyPress): string | undefined {
  const pad = keypad[code];
  if (pad === undefined) return undefined;
  return key === "Enter" || [...key].length === 1 ? pad : undefined;
}

function withModifiers(name: string, { ctrlKey, altKey, shiftKey, altGraph }: KeyPress): string {
  const held = `${ctrlKey && !altGraph ? "Ctrl+" : ""}${altKey && !altGraph ? "Alt+" : ""}${shiftKey ? "Shift+" : ""}`;
  return held + name;
}

/** The bytes of a key; null: the text input types it. */
export function keyBytes(event: KeyPress, modes: KeyModes): Uint8Array | null {
  const name = keyNameOf(event, modes);
  return name === null ? null : namedBytes([name], modes);
}

/** The bytes of keys that exist. */
export function namedBytes(names: readonly string[], modes: KeyModes): Uint8Array {
  return encodeKeys(
    names.flatMap((name) => findKey(name) ?? []),
    modes,
  );
}
