/** Keys by the names that tmux gives them, and by those of wsh's tables of bindings. Pure. */
import { nameOf } from "../../keys/configured.ts";
import { parseKeyName } from "../../keys/names.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { TmuxError } from "../error.ts";
import { keyNamed } from "../keys.ts";

const mouse =
  /^(?:[CMS]-)*(?:(?:Mouse(?:Down|Up|Drag|DragEnd|Move)|(?:Second|Double|Triple)Click)\d*|Wheel(?:Up|Down))(?:Pane|Status\w*|Border)$/i;

/** Named keys and tmux's names of them, in tmux's order. */
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

/** The name in a table of bindings. @throws TmuxError `unknown key: x` */
export function boundName(given: string): string {
  if (mouse.test(given)) throw new TmuxError(`wsh binds no events of the mouse: ${given}`);
  const typed = keyNamed(given);
  try {
    if (typed === null) throw new TmuxError("unknown");
    return nameOf(parseKeyName("key" in typed ? typed.key : typed.text));
  } catch {
    throw new TmuxError(`unknown key: ${given}`);
  }
}

/** The prefix key that an option means. @throws TmuxError where wsh has no such prefix */
export function optionPrefix(value: string): string {
  if (/^none$/i.test(value)) return "none";
  const name = boundName(value);
  try {
    parsePrefix(name);
    return name;
  } catch {
    throw new TmuxError(`wsh cannot have this prefix key: ${value}`);
  }
}

interface Parts {
  readonly held: readonly string[];
  readonly key: string;
}

function partsOf(name: string): Parts {
  const [, modifiers = "", key = name] = /^((?:(?:ctrl|alt|shift)\+)*)(.+)$/s.exec(name) ?? [];
  return { held: modifiers.split("+").filter((each) => each !== ""), key };
}

/** What tmux calls a key of a table of bindings. */
export function tmuxName(name: string): string {
  const { held, key } = partsOf(name);
  if (key === "Tab" && held.includes("shift")) return `${held.includes("alt") ? "M-" : ""}BTab`;
  const shown = key === " " ? "Space" : (names[key] ?? key);
  // A letter with Ctrl is one character to tmux, before which Alt stands.
  const modifiers = names[key] === undefined ? ["alt", "ctrl", "shift"] : ["ctrl", "alt", "shift"];
  const said: Readonly<Record<string, string>> = { ctrl: "C-", alt: "M-", shift: "S-" };
  return modifiers.map((each) => (held.includes(each) ? said[each] : "")).join("") + shown;
}

/** Compares names of keys as tmux's lists have them. */
export function byKey(a: string, b: string): number {
  const [left, right] = [rank(a), rank(b)];
  const at = left.findIndex((each, i) => each !== right[i]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

function rank(name: string): readonly number[] {
  const { held, key } = partsOf(name);
  const isNamed = names[key] !== undefined;
  const isControl = held.includes("ctrl") && !isNamed;
  const code = isNamed ? 0x200000 + order.indexOf(key) : (key.codePointAt(0) ?? 0) + (isControl ? 0 : 0x100);
  const alt = held.includes("alt") ? 1 : 0;
  return [alt + (held.includes("ctrl") && !isControl ? 2 : 0) + (held.includes("shift") ? 4 : 0), code];
}
