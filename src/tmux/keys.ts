/** Converts tmux's key names in `send-keys` to keys of wsh's `input.send`. Pure. */

/** tmux's names in lower case, with wsh's names. */
const names: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`f${i + 1}`, `F${i + 1}`])),
  ic: "Insert",
  insert: "Insert",
  dc: "Delete",
  delete: "Delete",
  home: "Home",
  end: "End",
  npage: "PageDown",
  pagedown: "PageDown",
  pgdn: "PageDown",
  ppage: "PageUp",
  pageup: "PageUp",
  pgup: "PageUp",
  tab: "Tab",
  btab: "Shift+Tab",
  space: "Space",
  bspace: "Backspace",
  enter: "Enter",
  escape: "Escape",
  up: "Up",
  down: "Down",
  left: "Left",
  right: "Right",
  ...Object.fromEntries([..."0123456789/*-+."].map((key) => [`kp${key}`, `KP${key}`])),
  kpenter: "KPEnter",
};

/** Keys with Ctrl that tmux sends unchanged. */
const UNCHANGED = "!#()+,-.0123456789:;<=>'\r\t\x7f`/";

/** The input of one argument of `send-keys`: a key of wsh, or text. */
export type KeyOrText = { readonly key: string } | { readonly text: string };

/** Returns null for a name that tmux does not know. */
export function keyNamed(argument: string): KeyOrText | null {
  const [, hex] = /^0x([0-9a-f]+)$/i.exec(argument) ?? [];
  if (hex !== undefined) {
    const code = Number.parseInt(hex, 16);
    return code <= 0x10ffff ? { text: String.fromCodePoint(code) } : null;
  }
  let rest = argument;
  const modifiers = new Set<string>();
  if (/^\^./s.test(rest)) {
    modifiers.add("C");
    rest = rest.slice(1);
  }
  for (let modifier = /^([CMS])-/i.exec(rest); modifier !== null; modifier = /^([CMS])-/i.exec(rest)) {
    modifiers.add((modifier[1] ?? "").toUpperCase());
    rest = rest.slice(2);
  }
  if (rest === "" || (rest.length > 1 && rest[1] === "-")) return null;
  if ([...rest].length === 1) return character(rest, modifiers);
  const name = names[rest.toLowerCase()];
  return name === undefined ? null : { key: withModifiers(name, modifiers) };
}

function character(char: string, modifiers: ReadonlySet<string>): KeyOrText | null {
  if (modifiers.size === 0) return char < " " ? null : { text: char };
  if (modifiers.has("C")) {
    const code = char.charCodeAt(0);
    const isControl = (code >= 97 && code <= 122) || (code >= 64 && code <= 95) || char === " " || char === "?";
    if (!isControl && !UNCHANGED.includes(char) && code < 128) return null;
  }
  return { key: withModifiers(char === " " ? "Space" : char, modifiers) };
}

function withModifiers(name: string, modifiers: ReadonlySet<string>): string {
  const modifierNames = { C: "Ctrl+", M: "Alt+", S: "Shift+" };
  const isShifted = name.length === 1 && !/[a-z]/i.test(name);
  return `${(["C", "M", "S"] as const)
    .filter((each) => modifiers.has(each) && !(each === "S" && isShifted))
    .map((each) => modifierNames[each])
    .join("")}${name}`;
}
