/**
 * Names of keys as people and agents write them: `Ctrl+C`, `M-x`, `Shift+Tab`, `PgUp`, `F5`, `KPEnter`, `é`.
 *
 * Owns the table of names and synonyms, and the parsing of one name into a `Key`. Invariants: every key name
 * that the decoder reports can be parsed here; a name is parsed completely or not at all, never guessed. Case
 * is ignored in names and in a letter after Ctrl; a lone character, or one after Alt, is that very character.
 */

export const SHIFT = 1;
export const ALT = 2;
export const CTRL = 4;

export type NamedKey =
  | "Enter"
  | "Tab"
  | "Escape"
  | "Backspace"
  | "ArrowUp"
  | "ArrowDown"
  | "ArrowLeft"
  | "ArrowRight"
  | "Home"
  | "End"
  | "PageUp"
  | "PageDown"
  | "Insert"
  | "Delete"
  | `F${number}`
  | `KP${string}`;

export interface Key {
  /** A named key, or the character itself (space is `" "`). */
  readonly key: { readonly named: NamedKey } | { readonly char: string };
  /** Bits SHIFT, ALT and CTRL: the parameter of CSI forms, less one. */
  readonly modifiers: number;
}

/** Highest function key that terminals send. */
const LAST_FUNCTION_KEY = 24;
/** Longest name in bytes; a longer one is quoted shortened, and compared with nothing. */
export const MAX_NAME_LENGTH = 40;

const functionKeys = Array.from({ length: LAST_FUNCTION_KEY }, (_, i): NamedKey => `F${i + 1}`);
const keypadKeys: readonly NamedKey[] = [
  ...Array.from({ length: 10 }, (_, i): NamedKey => `KP${i}`),
  "KPEnter",
  "KP.",
  "KP/",
  "KP*",
  "KP-",
  "KP+",
  "KP=",
];

/** Name in lower case → its spelling, as errors offer it, and its key. */
export const knownNames = new Map<string, { readonly spelling: string; readonly key: Key }>();

function defineKey(key: Key, ...spellings: readonly string[]): void {
  for (const spelling of spellings) knownNames.set(spelling.toLowerCase(), { spelling, key });
}

function defineNamed(name: NamedKey, ...spellings: readonly string[]): void {
  defineKey({ key: { named: name }, modifiers: 0 }, ...spellings, name);
}

defineNamed("Enter", "Return", "CR");
defineNamed("Tab");
defineNamed("Escape", "Esc");
defineNamed("Backspace", "BSpace", "BS", "BackSpace");
defineNamed("ArrowUp", "Up", "UpArrow");
defineNamed("ArrowDown", "Down", "DownArrow");
defineNamed("ArrowLeft", "Left", "LeftArrow");
defineNamed("ArrowRight", "Right", "RightArrow");
defineNamed("Home");
defineNamed("End");
defineNamed("PageUp", "PgUp", "PPage", "Prior", "Page_Up");
defineNamed("PageDown", "PgDn", "PgDown", "NPage", "Next", "Page_Down");
defineNamed("Insert", "Ins", "IC");
defineNamed("Delete", "Del", "DC");
for (const key of functionKeys) defineNamed(key);
for (const key of keypadKeys) defineNamed(key, key.replace("KP", "KP_"));
defineNamed("KPEnter", "KP_Enter", "NumpadEnter");
defineKey({ key: { char: " " }, modifiers: 0 }, "Space", "Spacebar", "SPC");
defineKey({ key: { named: "Tab" }, modifiers: SHIFT }, "BTab", "BackTab");
defineKey({ key: { char: "j" }, modifiers: CTRL }, "LF", "Linefeed");
defineKey({ key: { char: " " }, modifiers: CTRL }, "NUL", "Null");
defineKey({ key: { char: "+" }, modifiers: 0 }, "Plus");
defineKey({ key: { char: "-" }, modifiers: 0 }, "Minus");

/** Every key that has a name, for the documentation: the name that input events use first, then its synonyms. */
export function keyNames(): readonly (readonly string[])[] {
  const names = new Map<string, string[]>();
  for (const { spelling, key } of knownNames.values()) {
    const id = JSON.stringify(key);
    const isOwnSpelling = "named" in key.key && key.modifiers === 0 && key.key.named === spelling;
    names.set(id, isOwnSpelling ? [spelling, ...(names.get(id) ?? [])] : [...(names.get(id) ?? []), spelling]);
  }
  return [...names.values()];
}

export const modifierNames: ReadonlyMap<string, number> = new Map([
  ["ctrl", CTRL],
  ["control", CTRL],
  ["ctl", CTRL],
  ["c", CTRL],
  ["alt", ALT],
  ["meta", ALT],
  ["option", ALT],
  ["opt", ALT],
  ["m", ALT],
  ["a", ALT],
  ["shift", SHIFT],
  ["s", SHIFT],
]);

/** Made at its first use: it loads tables of ICU. */
let graphemes: Intl.Segmenter | null = null;

export function isOneCharacter(text: string): boolean {
  if (text.length === 1) return text >= " " && !/[\x7f-\x9f\ud800-\udfff]/.test(text);
  graphemes ??= new Intl.Segmenter();
  const [first, second] = graphemes.segment(text.slice(0, MAX_NAME_LENGTH));
  return first !== undefined && second === undefined && text.length < MAX_NAME_LENGTH && !/\p{Cc}/u.test(text);
}

/** Reads the modifiers in front: `Ctrl+Alt+`, `C-M-`, `^`. The rest is never empty: the last key may be `+` or `-`. */
function splitModifiers(name: string): { modifiers: number; rest: string } {
  let modifiers = 0;
  let rest = name;
  for (;;) {
    const match = /^([a-z]+)[+-](?=.)/is.exec(rest);
    const bit = match?.[1] === undefined ? undefined : modifierNames.get(match[1].toLowerCase());
    if (match === null || bit === undefined) break;
    modifiers |= bit;
    rest = rest.slice(match[0].length);
  }
  if (/^\^[^^]$/u.test(rest)) return { modifiers: modifiers | CTRL, rest: rest.slice(1) };
  return { modifiers, rest };
}

/** Parses one key name; null: no key has this name. */
export function findKey(name: string): Key | null {
  const { modifiers, rest } = splitModifiers(name);
  const known = knownNames.get(rest.toLowerCase());
  if (known !== undefined) return { key: known.key.key, modifiers: known.key.modifiers | modifiers };
  if (isOneCharacter(rest)) return characterKey(rest, modifiers);
  return null;
}

function characterKey(char: string, modifiers: number): Key {
  const lower = char.toLowerCase();
  if ((modifiers & CTRL) !== 0) return { key: { char: lower }, modifiers };
  // Shift and a letter is the capital, also after Alt; Shift and any other character depends on a keyboard's layout.
  if ((modifiers & SHIFT) !== 0 && lower !== char.toUpperCase()) {
    return { key: { char: char.toUpperCase() }, modifiers: modifiers & ~SHIFT };
  }
  return { key: { char }, modifiers };
}
