/**
 * The meaning of the CSI and SS3 sequences of a terminal's keyboard: the inverse of the tables of encode.ts, and the
 * forms of terminals that differ from xterm (rxvt, the Linux console, VT220 function keys, kitty, modifyOtherKeys).
 *
 * Pure. Invariants: a sequence that is not a key never gets a key's name, and one key has one name in all its encodings
 * (Ctrl+\ is the same as 0x1c, `CSI 92;5u` and `CSI 27;5;92~`).
 */
import type { InputKind, Modifier, ParsedKey } from "./types.ts";

const letterKeys: Readonly<Record<string, string>> = {
  A: "ArrowUp",
  B: "ArrowDown",
  C: "ArrowRight",
  D: "ArrowLeft",
  H: "Home",
  F: "End",
  P: "F1",
  Q: "F2",
  R: "F3",
  S: "F4",
};

const tildeKeys: Readonly<Record<number, string>> = {
  1: "Home",
  2: "Insert",
  3: "Delete",
  4: "End",
  5: "PageUp",
  6: "PageDown",
  7: "Home",
  8: "End",
  11: "F1",
  12: "F2",
  13: "F3",
  14: "F4",
  15: "F5",
  17: "F6",
  18: "F7",
  19: "F8",
  20: "F9",
  21: "F10",
  23: "F11",
  24: "F12",
  25: "F13",
  26: "F14",
  28: "F15",
  29: "F16",
  31: "F17",
  32: "F18",
  33: "F19",
  34: "F20",
};

/** Finals of SS3 from the keypad in application mode. */
const keypadCharacters: Readonly<Record<string, string>> = {
  j: "*",
  k: "+",
  l: ",",
  m: "-",
  n: ".",
  o: "/",
  X: "=",
};

const controlNames: Readonly<Record<number, string>> = { 9: "Tab", 13: "Enter", 27: "Escape", 127: "Backspace" };

/** Kitty's code points of keypad keys that are functional keys elsewhere. */
const kittyKeypad: Readonly<Record<number, string>> = {
  57409: ".",
  57410: "/",
  57411: "*",
  57412: "-",
  57413: "+",
  57414: "Enter",
  57415: "=",
  57417: "ArrowLeft",
  57418: "ArrowRight",
  57419: "ArrowUp",
  57420: "ArrowDown",
  57421: "PageUp",
  57422: "PageDown",
  57423: "Home",
  57424: "End",
  57425: "Insert",
  57426: "Delete",
};

const KITTY_F13 = 57376;
const KITTY_KEYPAD_0 = 57399;
/** Kitty's event types, the part after the modifiers' colon. */
const KITTY_RELEASE = 3;
/** Lock bits of kitty's modifiers, which change no key's name. */
const SHIFT_ALT_CTRL = 7;

interface Sequence {
  readonly kind: InputKind;
  readonly parsed: ParsedKey | null;
}

const unnamed: Sequence = { kind: "key", parsed: null };
const reply: Sequence = { kind: "reply", parsed: null };

/** Parses the text after `ESC [`, up to and including its final byte. */
export function parseCsi(body: string): Sequence {
  const final = body.slice(-1);
  const parameters = body.slice(0, -1);
  if (/^<\d+;\d+;\d+$/.test(parameters) && (final === "M" || final === "m")) return { kind: "mouse", parsed: null };
  if (/^\d+;\d+;\d+$/.test(parameters) && final === "M") return { kind: "mouse", parsed: null };
  if (parameters === "" && (final === "I" || final === "O")) return { kind: "focus", parsed: null };
  if (/^[?>=]/.test(parameters)) return reply;
  if (isReply(parameters, final)) return reply;
  if (parameters === "[" && final >= "A" && final <= "E") return makeKey(`F${final.charCodeAt(0) - 0x40}`, 0);
  if (!/^[\d;:]*$/.test(parameters)) return unnamed;
  return parseKey(parameters, final);
}

/** Status (n), size (t), checksums and reports with intermediates (y), and the cursor's place, which is not F3. */
function isReply(parameters: string, final: string): boolean {
  if (final === "n" || final === "t" || final === "c") return parameters !== "";
  if (final === "y") return /\$$/.test(parameters);
  return final === "R" && /^\d+;\d+$/.test(parameters) && !/^1;([2-9]|1[0-6])$/.test(parameters);
}

function parseKey(parameters: string, final: string): Sequence {
  const fields = parameters.split(";").map((field) => field.split(":").map((part) => (part === "" ? 0 : Number(part))));
  const [codes, modifierField, text] = fields;
  const code = codes?.[0] ?? 0;
  const bits = Math.max(0, (modifierField?.[0] ?? 1) - 1) & SHIFT_ALT_CTRL;
  if (modifierField?.[1] === KITTY_RELEASE) return { kind: "release", parsed: null };
  if (final === "u") return parseCodePoint(code, codes?.[1] ?? 0, bits, text);
  if (final === "Z") return makeKey("Tab", bits | 1);
  if (final === "~") {
    if (code === 27 && text?.[0] !== undefined) return parseCodePoint(text[0], 0, bits, undefined);
    return makeKey(tildeKeys[code], bits);
  }
  // rxvt encodes Ctrl as ^ and Ctrl with Shift as @ in the tilde's place, and Shift by lower-case letters.
  if (final === "^") return makeKey(tildeKeys[code], 4);
  if (final === "@") return makeKey(tildeKeys[code], 5);
  if (final >= "a" && final <= "d") return makeKey(letterKeys[final.toUpperCase()], 1);
  if (final === "E") return makeKey("5", bits);
  return makeKey(letterKeys[final], bits);
}

/** Kitty's code points of Caps Lock, Scroll Lock, Num Lock, and of Shift to ISO Level 5 Shift, left and right. */
function isModifierKey(code: number): boolean {
  return (code >= 57358 && code <= 57360) || (code >= 57441 && code <= 57454);
}

/** A key given by its code point, as in kitty's protocol and modifyOtherKeys. */
function parseCodePoint(
  code: number,
  shifted: number,
  bits: number,
  text: readonly (number | undefined)[] | undefined,
): Sequence {
  const name = controlNames[code];
  if (name !== undefined) return makeKey(name, bits);
  if (code >= KITTY_F13 && code < KITTY_F13 + 12) return makeKey(`F${13 + code - KITTY_F13}`, bits);
  if (code >= KITTY_KEYPAD_0 && code < KITTY_KEYPAD_0 + 10) return makeKey(String(code - KITTY_KEYPAD_0), bits);
  if (code in kittyKeypad) return makeKey(kittyKeypad[code], bits);
  if (isModifierKey(code)) return { kind: "modifier", parsed: null };
  // The other private code points are media keys and the like, without a name here.
  if (code < 0x20 || code > 0x10ffff || (code >= 0xe000 && code <= 0xf8ff)) return unnamed;
  if (code >= 0xd800 && code <= 0xdfff) return unnamed;
  const char = String.fromCodePoint(code);
  // Alt with a capital is the same as `ESC` and the capital.
  if ((bits & 6) === 2 && (bits & 1) !== 0 && char.toUpperCase() !== char.toLowerCase()) {
    return makeKey(char.toUpperCase(), 2);
  }
  if ((bits & ~1) !== 0) return makeKey(char.toLowerCase(), bits | (char === char.toLowerCase() ? 0 : 1));
  const typed = (text ?? []).filter((point): point is number => point !== undefined && point >= 0x20);
  if (typed.length > 0 && typed.every((point) => point <= 0x10ffff)) return makeKey(String.fromCodePoint(...typed), 0);
  if ((bits & 1) === 0) return makeKey(char, 0);
  if (shifted >= 0x20 && shifted <= 0x10ffff) return makeKey(String.fromCodePoint(shifted), 0);
  const capital = char.toUpperCase();
  return capital === char.toLowerCase() ? makeKey(char, bits) : makeKey(capital, 0);
}

/** Parses the text after `ESC O`: an optional modifier and the final byte; null when it is not a key. */
export function parseSs3(body: string): ParsedKey | null {
  const final = body.slice(-1);
  const bits = body.length > 1 ? (Number(body.slice(0, -1)) - 1) & SHIFT_ALT_CTRL : 0;
  const digit = final >= "p" && final <= "y" ? String(final.charCodeAt(0) - 0x70) : undefined;
  const name = final === "M" ? "Enter" : (letterKeys[final] ?? keypadCharacters[final] ?? digit);
  if (name !== undefined) return makeKey(name, bits).parsed;
  return final >= "a" && final <= "d" ? makeKey(letterKeys[final.toUpperCase()], 4).parsed : null;
}

function makeKey(key: string | undefined, bits: number): Sequence {
  if (key === undefined) return unnamed;
  const modifiers: Modifier[] = [];
  if ((bits & 4) !== 0) modifiers.push("ctrl");
  if ((bits & 2) !== 0) modifiers.push("alt");
  if ((bits & 1) !== 0) modifiers.push("shift");
  return { kind: "key", parsed: { key, modifiers } };
}
