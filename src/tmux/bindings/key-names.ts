/** Converts key names between tmux and wsh's key tables. Pure. */
import { bindingName } from "../../keys/configured.ts";
import { parseKeyName } from "../../keys/parse-name.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { TmuxError } from "../error.ts";
import { keyNamed } from "../keys.ts";

const mouse =
  /^(?:[CMS]-)*(?:(?:Mouse(?:Down|Up|Drag|DragEnd|Move)|(?:Second|Double|Triple)Click)\d*|Wheel(?:Up|Down))(?:Pane|Status\w*|Border)$/i;

/** Named keys with tmux's names, in tmux's order. */
const names: Readonly<Record<string, string>> = {
  Escape: "Escape",
  Enter: "Enter",
  Tab: "Tab",
  Backspace: "BSpace",
  ...Object.fromEntries(Array.from({ length: 12 }, (_, i) => [`F${i + 1}`, `F${i + 1}`])),
  Insert: "IC",
  Delete: "DC",
  Home: "Home",
  End: "End",
  PageDown: "NPage",
  PageUp: "PPage",
  ArrowUp: "Up",
  ArrowDown: "Down",
  ArrowLeft: "Left",
  ArrowRight: "Right",
};
const order = Object.keys(names);

/** The key's name in wsh's tables. @throws TmuxError `unknown key: x` */
export function boundName(given: string): string {
  if (mouse.test(given)) throw new TmuxError(`wsh does not bind mouse events: ${given}`);
  const typed = keyNamed(given);
  try {
    if (typed === null) throw new TmuxError("unknown");
    return bindingName(parseKeyName("key" in typed ? typed.key : typed.text));
  } catch {
    throw new TmuxError(`unknown key: ${given}`);
  }
}

/** The prefix key of an option's value. @throws TmuxError if wsh does not accept it as a prefix */
export function optionPrefix(value: string): string {
  if (/^none$/i.test(value)) return "none";
  const name = boundName(value);
  try {
    parsePrefix(name);
    return name;
  } catch {
    throw new TmuxError(`wsh does not accept this prefix key: ${value}`);
  }
}

interface Parts {
  readonly modifiers: readonly string[];
  readonly key: string;
}

function partsOf(name: string): Parts {
  const [, modifiers = "", key = name] = /^((?:(?:ctrl|alt|shift)\+)*)(.+)$/s.exec(name) ?? [];
  return { modifiers: modifiers.split("+").filter((each) => each !== ""), key };
}

/** tmux's name of a key in wsh's tables. */
export function tmuxName(name: string): string {
  const { modifiers: held, key } = partsOf(name);
  if (key === "Tab" && held.includes("shift")) return `${held.includes("alt") ? "M-" : ""}BTab`;
  const shown = key === " " ? "Space" : (names[key] ?? key);
  // tmux treats a letter with Ctrl as one character; Alt comes before it.
  const modifiers = names[key] === undefined ? ["alt", "ctrl", "shift"] : ["ctrl", "alt", "shift"];
  const prefixes: Readonly<Record<string, string>> = { ctrl: "C-", alt: "M-", shift: "S-" };
  return modifiers.map((each) => (held.includes(each) ? prefixes[each] : "")).join("") + shown;
}

/** Compares key names by the order of tmux's lists. */
export function byKey(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((each, i) => each !== right[i]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

function rank(name: string): readonly number[] {
  const { modifiers: held, key } = partsOf(name);
  const isNamed = names[key] !== undefined;
  const isControl = held.includes("ctrl") && !isNamed;
  const code = isNamed ? 0x200000 + order.indexOf(key) : (key.codePointAt(0) ?? 0) + (isControl ? 0 : 0x100);
  const alt = held.includes("alt") ? 1 : 0;
  return [alt + (held.includes("ctrl") && !isControl ? 2 : 0) + (held.includes("shift") ? 4 : 0), code];
}
