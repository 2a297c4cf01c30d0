/**
 * Keys to bytes, as a terminal would send them to the program that runs in it.
 *
 * Owns the encodings: xterm's (as the terminfo entry xterm-256color names them), application cursor and keypad,
 * modifyOtherKeys 1 and 2, and the kitty keyboard flags. Pure. Sources: terminfo(5) xterm-256color; XTerm Control
 * Sequences, "Alt and Meta Keys" and "modifyOtherKeys"; the kitty keyboard protocol.
 */
import { ALT, CTRL, type Key, type NamedKey, SHIFT } from "./names.ts";

/** The keyboard modes that the program has set. */
export interface KeyModes {
  /** DECCKM: arrows, Home and End as SS3. */
  readonly applicationCursor: boolean;
  /** DECKPAM: the keypad as SS3. */
  readonly applicationKeypad: boolean;
  /** `CSI > 4 ; n m`. */
  readonly modifyOtherKeys: 0 | 1 | 2;
  /** Kitty keyboard flags: 1 disambiguate, 4 alternate keys, 8 all keys, 16 text. Only presses are sent. */
  readonly kittyFlags: number;
}

const KITTY_DISAMBIGUATE = 1;
const KITTY_ALTERNATES = 4;
const KITTY_ALL_KEYS = 8;
const KITTY_TEXT = 16;

const letterFinals: Readonly<Record<string, string>> = {
  ArrowUp: "A",
  ArrowDown: "B",
  ArrowRight: "C",
  ArrowLeft: "D",
  Home: "H",
  End: "F",
  F1: "P",
  F2: "Q",
  F3: "R",
  F4: "S",
};

const tildeNumbers: Readonly<Record<string, number>> = {
  Insert: 2,
  Delete: 3,
  PageUp: 5,
  PageDown: 6,
  F5: 15,
  F6: 17,
  F7: 18,
  F8: 19,
  F9: 20,
  F10: 21,
  F11: 23,
  F12: 24,
};

/** Keypad key → final of SS3 in application mode, character otherwise, code point in the kitty protocol. */
const keypad: ReadonlyMap<string, { readonly final: string; readonly char: string; readonly kitty: number }> = new Map([
  ...Array.from({ length: 10 }, (_, i) => {
    return [`KP${i}`, { final: String.fromCharCode(0x70 + i), char: String(i), kitty: 57399 + i }] as const;
  }),
  ["KP.", { final: "n", char: ".", kitty: 57409 }],
  ["KP/", { final: "o", char: "/", kitty: 57410 }],
  ["KP*", { final: "j", char: "*", kitty: 57411 }],
  ["KP-", { final: "m", char: "-", kitty: 57412 }],
  ["KP+", { final: "k", char: "+", kitty: 57413 }],
  ["KPEnter", { final: "M", char: "\r", kitty: 57414 }],
  ["KP=", { final: "X", char: "=", kitty: 57415 }],
]);

/** Keys whose legacy byte is also a control character. */
const controlKeys: Readonly<Record<string, number>> = { Enter: 13, Tab: 9, Escape: 27, Backspace: 127 };

/** Ctrl with a digit or a sign, as xterm and the VT220 have it. */
const controlSigns: Readonly<Record<string, number>> = {
  " ": 0,
  "@": 0,
  "2": 0,
  "[": 27,
  "3": 27,
  "\\": 28,
  "4": 28,
  "]": 29,
  "5": 29,
  "^": 30,
  "6": 30,
  "~": 30,
  "`": 0,
  _: 31,
  "7": 31,
  "/": 31,
  "8": 127,
  "?": 127,
};

const utf8 = new TextEncoder();

/** The bytes of several keys in a row. */
export function encodeKeys(keys: readonly Key[], modes: KeyModes): Uint8Array {
  return utf8.encode(keys.map((key) => encodeKey(key, modes)).join(""));
}

/** The sequence of one key, as text (ASCII unless the key is another character). */
function encodeKey({ key, modifiers }: Key, modes: KeyModes): string {
  if ("char" in key) return encodeCharacter(key.char, modifiers, modes);
  const byte = controlKeys[key.named];
  if (byte !== undefined) return encodeControlKey(byte, modifiers, modes);
  const pad = keypad.get(key.named);
  if (pad !== undefined) return encodeKeypad(pad, modifiers, modes);
  return encodeFunctional(key.named, modifiers, modes);
}

function encodeFunctional(name: NamedKey, modifiers: number, modes: KeyModes): string {
  const kitty = modes.kittyFlags !== 0;
  const number = /^F(\d+)$/.exec(name)?.[1];
  if (number !== undefined && Number(number) > 12) {
    if (kitty) return encodeCsiU(57376 + Number(number) - 13, modifiers);
    return encodeFunctional(`F${Number(number) - 12}`, modifiers | SHIFT, modes);
  }
  if (kitty && name === "F3") return `\x1b[13${modifiers === 0 ? "" : `;${modifiers + 1}`}~`;
  const final = letterFinals[name];
  if (final !== undefined) {
    if (modifiers !== 0) return `\x1b[1;${modifiers + 1}${final}`;
    const usesSs3 = !kitty && (modes.applicationCursor || name.startsWith("F"));
    return usesSs3 ? `\x1bO${final}` : `\x1b[${final}`;
  }
  return `\x1b[${tildeNumbers[name]}${modifiers === 0 ? "" : `;${modifiers + 1}`}~`;
}

function encodeKeypad(
  pad: { readonly final: string; readonly char: string; readonly kitty: number },
  modifiers: number,
  modes: KeyModes,
): string {
  const usesKitty = (modes.kittyFlags & KITTY_ALL_KEYS) !== 0 || (modes.kittyFlags !== 0 && (modifiers & ~SHIFT) !== 0);
  if (usesKitty) return encodeCsiU(pad.kitty, modifiers);
  if (modes.applicationKeypad) return modifiers === 0 ? `\x1bO${pad.final}` : `\x1bO${modifiers + 1}${pad.final}`;
  if (pad.char === "\r") return encodeControlKey(13, modifiers, modes);
  return encodeCharacter(pad.char, modifiers, modes);
}

/** Enter, Tab, Escape and Backspace. */
function encodeControlKey(byte: number, modifiers: number, modes: KeyModes): string {
  const flags = modes.kittyFlags;
  if ((flags & KITTY_ALL_KEYS) !== 0) return encodeCsiU(byte, modifiers);
  if ((flags & KITTY_DISAMBIGUATE) !== 0 && (byte === 27 || modifiers !== 0)) return encodeCsiU(byte, modifiers);
  if (byte === 9 && modifiers === SHIFT) return "\x1b[Z";
  // Level 1 leaves Backspace and Escape unchanged; level 2 encodes every modifier.
  const level = modes.modifyOtherKeys;
  if (modifiers !== 0 && (level === 2 || (level === 1 && (byte === 13 || byte === 9) && modifiers !== ALT))) {
    return encodeOtherKey(byte, modifiers);
  }
  const altPrefix = (modifiers & ALT) !== 0 ? "\x1b" : "";
  if (byte === 9 && (modifiers & SHIFT) !== 0) return `${altPrefix}\x1b[Z`;
  if (byte === 127 && (modifiers & CTRL) !== 0) return `${altPrefix}\b`;
  return altPrefix + String.fromCharCode(byte);
}

function encodeCharacter(char: string, modifiers: number, modes: KeyModes): string {
  const code = char.codePointAt(0) ?? 0;
  const isSingle = code > 0xffff ? char.length === 2 : char.length === 1;
  // A grapheme of several code points can only be text.
  if (!isSingle) return ((modifiers & ALT) !== 0 ? "\x1b" : "") + char;
  const capital = isCapital(char);
  const lowerCode = capital ? (char.toLowerCase().codePointAt(0) ?? code) : code;
  const flags = modes.kittyFlags;
  const heldModifiers = modifiers & ~SHIFT;
  if ((flags & KITTY_ALL_KEYS) !== 0 || ((flags & KITTY_DISAMBIGUATE) !== 0 && heldModifiers !== 0)) {
    const shifted = modifiers | (capital ? SHIFT : 0);
    const alternate = (flags & KITTY_ALTERNATES) !== 0 && capital ? `:${code}` : "";
    const text = (flags & KITTY_TEXT) !== 0 && (flags & KITTY_ALL_KEYS) !== 0 && heldModifiers === 0 ? `;${code}` : "";
    const parameter = shifted !== 0 ? `;${shifted + 1}` : text === "" ? "" : ";";
    return `\x1b[${lowerCode}${alternate}${parameter}${text}u`;
  }
  const control = (modifiers & CTRL) !== 0 ? controlByte(char) : null;
  if (needsOtherKey(char, modifiers, control, modes.modifyOtherKeys)) {
    const reportedCode = (modifiers & SHIFT) !== 0 ? (char.toUpperCase().codePointAt(0) ?? code) : code;
    return encodeOtherKey(reportedCode, modifiers | (capital ? SHIFT : 0));
  }
  const altPrefix = (modifiers & ALT) !== 0 ? "\x1b" : "";
  return altPrefix + (control === null ? char : String.fromCharCode(control));
}

function needsOtherKey(char: string, modifiers: number, control: number | null, level: 0 | 1 | 2): boolean {
  if (level === 2) return (modifiers & ~SHIFT) !== 0 || (modifiers === SHIFT && char === " ");
  // Level 1: only keys without a control character; Alt alone remains a leading Escape.
  return level === 1 && (modifiers & CTRL) !== 0 && control === null;
}

/** The control character of Ctrl and this one; null when there is none, and the character is sent unchanged. */
function controlByte(char: string): number | null {
  if (/^[a-z]$/i.test(char)) return char.toLowerCase().charCodeAt(0) - 0x60;
  return controlSigns[char] ?? null;
}

function isCapital(char: string): boolean {
  return char !== char.toLowerCase() && char === char.toUpperCase();
}

function encodeCsiU(code: number, modifiers: number): string {
  return `\x1b[${code}${modifiers === 0 ? "" : `;${modifiers + 1}`}u`;
}

function encodeOtherKey(code: number, modifiers: number): string {
  return `\x1b[27;${modifiers + 1};${code}~`;
}
