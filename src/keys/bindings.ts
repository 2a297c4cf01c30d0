/**
 * The bindings of keys after the prefix key: each is bound to an operation by its name, with an input, as in a call.
 * The target is the focused pane. Operations that begin with `view.` concern only the terminal at which the key was
 * pressed. Pure; configured.ts reads a person's changes.
 */
import { WshError } from "../protocol/errors.ts";
import { TARGET_PARAMETER } from "./line.ts";
import type { ParsedKey } from "./types.ts";

export interface Binding {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Its target; absent: the focused pane. */
  readonly target?: string | undefined;
  /** A short description; keys with similar actions share one, and a row of every list. */
  readonly says: string;
  /** For a moment, the key repeats without the prefix. */
  readonly repeat?: boolean | undefined;
}

/** By the key's name in events: `x`, `ctrl+ArrowLeft`. */
export type Bindings = ReadonlyMap<string, Binding>;

/** Operations of the terminal itself, with descriptions. */
export const viewOperations = {
  "view.detach": "detach",
  "view.look_back": "copy mode",
  "view.windows": "sessions, windows, panes",
  "view.sessions": "sessions",
  "view.agents": "agents that need you",
  "view.paste": "paste the newest copy",
  "view.buffers": "choose what to paste",
  "view.keys": "all keys",
  "view.send_prefix": "send the prefix key",
  "view.command": "command palette",
  "view.go": "go to a session, window or pane",
} as const;
export type ViewOperation = keyof typeof viewOperations;

export function isViewOperation(name: string): name is ViewOperation {
  return Object.hasOwn(viewOperations, name);
}

/** @throws WshError invalid_request: only `view.go` takes a parameter, and needs it */
export function viewBinding(operation: ViewOperation, parameters: Readonly<Record<string, unknown>>): Binding {
  const { [TARGET_PARAMETER]: target, ...rest } = parameters;
  const own = { operation, input: {}, says: viewOperations[operation] };
  if (operation !== "view.go") {
    if (Object.keys(parameters).length > 0) throw new WshError("invalid_request", `${operation} takes no parameters`);
    return own;
  }
  const [stray] = Object.keys(rest);
  if (stray !== undefined) throw new WshError("invalid_request", `'${operation}' has no parameter '${stray}'`);
  if (typeof target !== "string" || target === "")
    throw new WshError("invalid_request", `${operation} needs ${TARGET_PARAMETER}=NAME`);
  return { ...own, target, says: `go to ${target}` };
}

/** Cells by which Alt and an arrow move a border. */
const FAR = 5;

const arrows = ["left", "right", "up", "down"] as const;

function arrowKey(side: (typeof arrows)[number]): string {
  return `Arrow${side[0]?.toUpperCase()}${side.slice(1)}`;
}

function bind(
  says: string,
  operation: string,
  keys: readonly (readonly [string, Readonly<Record<string, unknown>>])[],
  repeat = false,
): [string, Binding][] {
  return keys.map(([key, input]) => [key, { operation, input, says, ...(repeat ? { repeat } : {}) }]);
}

const right = { direction: "right", focus: true };
const down = { direction: "down", focus: true };
const presets = ["even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled"];

export const defaultBindings: Bindings = new Map([
  ...bind("split to the right", "pane.split", [
    ["%", right],
    ["|", right],
  ]),
  ...bind("split below", "pane.split", [
    ['"', down],
    ["-", down],
  ]),
  ...bind(
    "pane in that direction",
    "pane.select",
    arrows.map((to) => [arrowKey(to), { to }]),
  ),
  ...bind("next pane", "pane.select", [["o", { to: "next" }]]),
  ...bind("last pane (toggle)", "pane.select", [[";", { to: "last" }]]),
  ...bind(
    "resize pane",
    "pane.resize",
    arrows.map((direction) => [`ctrl+${arrowKey(direction)}`, { direction, by: 1 }]),
    true,
  ),
  ...bind(
    "resize pane by 5",
    "pane.resize",
    arrows.map((direction) => [`alt+${arrowKey(direction)}`, { direction, by: FAR }]),
    true,
  ),
  ...bind("zoom", "pane.zoom", [["z", {}]]),
  ...bind("new floating pane", "pane.split", [["F", { float: true, focus: true }]]),
  ...bind("float or tile the pane", "pane.float", [["ctrl+f", {}]]),
  ...bind("hide or show floating panes", "window.floats", [["alt+f", { focus: true }]]),
  ...bind(
    "move the floating pane",
    "pane.float",
    arrows.map((direction) => [`shift+${arrowKey(direction)}`, { direction, by: 2 }]),
    true,
  ),
  ...bind("popup with a shell", "popup.open", [["P", {}]]),
  ...bind("close the pane", "pane.close", [["x", {}]]),
  ...bind("break pane into a window", "pane.move", [["!", { focus: true }]]),
  ...bind("swap panes", "pane.swap", [
    ["{", { with: "previous" }],
    ["}", { with: "next" }],
  ]),
  ...bind("rotate the panes", "layout.rotate", [
    ["ctrl+o", {}],
    ["alt+o", { backwards: true }],
  ]),
  ...bind("equal shares", "layout.equalise", [["E", {}]]),
  ...bind("next layout", "layout.preset", [[" ", { preset: "next" }]]),
  ...bind(
    "choose a layout",
    "layout.preset",
    presets.map((preset, index) => [`alt+${index + 1}`, { preset }]),
  ),
  ...bind("new window", "window.create", [["c", { focus: true }]]),
  ...bind("next window", "window.select", [["n", { to: "next" }]]),
  ...bind("previous window", "window.select", [["p", { to: "previous" }]]),
  ...bind("last window (toggle)", "window.select", [["l", { to: "last" }]]),
  ...bind(
    "go to window N",
    "window.select",
    Array.from({ length: 10 }, (_, index) => [String(index), { index }]),
  ),
  ...bind("rename the window", "window.update", [[",", {}]]),
  ...bind("close the window", "window.close", [["&", {}]]),
  ...bind(viewOperations["view.windows"], "view.windows", [["w", {}]]),
  ...bind(viewOperations["view.sessions"], "view.sessions", [["s", {}]]),
  ...bind(viewOperations["view.agents"], "view.agents", [["a", {}]]),
  ...bind(viewOperations["view.look_back"], "view.look_back", [
    ["[", {}],
    ["PageUp", {}],
  ]),
  ...bind(viewOperations["view.paste"], "view.paste", [["]", {}]]),
  ...bind(viewOperations["view.buffers"], "view.buffers", [["=", {}]]),
  ...bind(viewOperations["view.command"], "view.command", [[":", {}]]),
  ...bind(viewOperations["view.detach"], "view.detach", [["d", {}]]),
  ...bind(viewOperations["view.send_prefix"], "view.send_prefix", [["\\", {}]]),
  ...bind(viewOperations["view.keys"], "view.keys", [["?", {}]]),
]);

/** A person's changes over the default bindings; null binds a key to nothing. */
export function changedBindings(changes: Readonly<Record<string, Binding | null>>): Bindings {
  const own = Object.entries(changes);
  if (own.length === 0) return defaultBindings;
  const bound = own.filter((entry): entry is [string, Binding] => entry[1] !== null);
  return new Map([...bound, ...[...defaultBindings].filter(([key]) => !Object.hasOwn(changes, key))]);
}

/** Returns a key's name in a table of bindings; null for a key without a name. */
export function keyName(parsed: ParsedKey | null): string | null {
  return parsed === null ? null : [...parsed.modifiers, parsed.key].join("+");
}

const labels: Readonly<Record<string, string>> = {
  ArrowLeft: "Left",
  ArrowRight: "Right",
  ArrowUp: "Up",
  ArrowDown: "Down",
  " ": "Space",
};

/** Returns a key of the table as people and the settings write it: `Ctrl+Left`, `Space`, `%`. */
export function keyLabel(name: string): string {
  const parts = /^((?:(?:ctrl|alt|shift)\+)*)(.+)$/s.exec(name);
  const [, modifiers = "", key = name] = parts ?? [];
  const shown = labels[key] ?? key;
  return modifiers.replace(/[a-z]+/g, (word) => word[0]?.toUpperCase() + word.slice(1)) + shown;
}

export interface BindingRow {
  /** Labels of the keys, with a series shortened. */
  readonly keys: readonly string[];
  readonly says: string;
}

const digits = "0123456789";
const fourArrows = ["Left", "Right", "Up", "Down"];

/** The table as a person reads it: keys that do much the same in one row. */
export function bindingRows(bindings: Bindings): BindingRow[] {
  const rows = new Map<string, string[]>();
  for (const [name, { says }] of bindings) rows.set(says, [...(rows.get(says) ?? []), keyLabel(name)]);
  return [...rows].map(([says, keys]) => ({ says, keys: shortened(keys) }));
}

function shortened(keys: readonly string[]): readonly string[] {
  if (keys.join("") === digits) return ["0–9"];
  const front = /^(?:(?:Ctrl|Alt|Shift)\+)*/.exec(keys[0] ?? "")?.[0] ?? "";
  const rest = keys.map((key) => (key.startsWith(front) ? key.slice(front.length) : key));
  if (rest.join() === fourArrows.join()) return [`${front}arrow`];
  return rest.length > 2 && /^\d+$/.test(rest.join("")) ? [`${front}${rest[0]}–${rest.at(-1)}`] : keys;
}
