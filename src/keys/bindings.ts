/**
 * Bindings of keys: each is bound to one or more operations by their names, with inputs, as in calls. The target is
 * the focused pane. Operations that begin with `view.` concern only the terminal at which the key was pressed, those
 * that begin with `copy.` its copy mode. Pure; tables.ts says in which table a key is looked up, configured.ts reads a
 * person's changes.
 */
import { TARGET_PARAMETER } from "./line.ts";
import type { InputEvent, ParsedKey } from "./types.ts";
import {
  describeViewOperation,
  isViewOperation,
  parseViewInput,
  type ViewOperation,
  viewParameters,
} from "./view-operations.ts";

/** An operation with its input. */
export interface BoundCall {
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** Its target; absent: the focused pane. */
  readonly target?: string | undefined;
}

export interface Binding extends BoundCall {
  /** Operations after the first, in order; one that fails ends them. */
  readonly further?: BoundCall[] | undefined;
  /** A short description; keys with similar actions share one, and a row of every list. */
  readonly description: string;
  /** Within the repeat time the key needs no prefix. */
  readonly repeat?: boolean | undefined;
}

/** By the key's name in events: `x`, `ctrl+ArrowLeft`. */
export type Bindings = ReadonlyMap<string, Binding>;

/** Its operations in order. */
export function callsOf(binding: Binding): readonly BoundCall[] {
  return binding.further === undefined ? [binding] : [binding, ...binding.further];
}

/** @throws WshError invalid_request */
export function makeViewCall(operation: ViewOperation, parameters: Readonly<Record<string, unknown>>): BoundCall {
  const input = parseViewInput(operation, parameters);
  const { [TARGET_PARAMETER]: target, ...rest } = input;
  return typeof target === "string" ? { operation, input: rest, target } : { operation, input };
}

/** Describes a call in a few words. */
export function describeCall({ operation, input, target }: BoundCall): string {
  if (operation === "view.go") return `go to ${target}`;
  if (isViewOperation(operation) && Object.keys(viewParameters(operation)).length === 0)
    return describeViewOperation(operation);
  const about = target === undefined ? {} : { [TARGET_PARAMETER]: target };
  const fields = Object.entries({ ...about, ...input }).map(([name, value]) => {
    return `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`;
  });
  return [operation, ...fields].join(" ");
}

/** Cells by which Alt and an arrow move a border. */
const LARGE_STEP = 5;

const directions = ["left", "right", "up", "down"] as const;

function arrowKey(side: (typeof directions)[number]): string {
  return `Arrow${side[0]?.toUpperCase()}${side.slice(1)}`;
}

function bindKeys(
  description: string,
  operation: string,
  keys: readonly (readonly [string, Readonly<Record<string, unknown>>])[],
  repeat = false,
): [string, Binding][] {
  return keys.map(([key, input]) => [key, { operation, input, description, ...(repeat ? { repeat } : {}) }]);
}

function bindView(operation: ViewOperation, ...keys: readonly string[]): [string, Binding][] {
  return bindKeys(
    describeViewOperation(operation),
    operation,
    keys.map((key) => [key, {}]),
  );
}

/** A key that first asks for a text. */
function bindQuestion(
  description: string,
  key: string,
  line: string,
  question: string,
  more: Readonly<Record<string, string>> = {},
): [string, Binding][] {
  return bindKeys(description, "view.ask", [[key, { do: line, question, ...more }]]);
}

const splitRight = { direction: "right", focus: true };
const splitDown = { direction: "down", focus: true };
const presets = ["even-horizontal", "even-vertical", "main-horizontal", "main-vertical", "tiled"];

export const defaultBindings: Bindings = new Map([
  ...bindKeys("split to the right", "pane.split", [
    ["%", splitRight],
    ["|", splitRight],
  ]),
  ...bindKeys("split below", "pane.split", [
    ['"', splitDown],
    ["-", splitDown],
  ]),
  ...bindKeys(
    "pane in that direction",
    "pane.select",
    directions.map((to) => [arrowKey(to), { to }]),
  ),
  ...bindKeys("next pane", "pane.select", [["o", { to: "next" }]]),
  ...bindKeys("last pane (toggle)", "pane.select", [[";", { to: "last" }]]),
  ...bindKeys(
    "resize pane",
    "pane.resize",
    directions.map((direction) => [`ctrl+${arrowKey(direction)}`, { direction, by: 1 }]),
    true,
  ),
  ...bindKeys(
    "resize pane by 5",
    "pane.resize",
    directions.map((direction) => [`alt+${arrowKey(direction)}`, { direction, by: LARGE_STEP }]),
    true,
  ),
  ...bindKeys("zoom", "pane.zoom", [["z", {}]]),
  ...bindKeys("new floating pane", "pane.split", [["F", { float: true, focus: true }]]),
  ...bindKeys("float or tile the pane", "pane.float", [["ctrl+f", {}]]),
  ...bindKeys("hide or show floating panes", "window.floats", [["alt+f", { focus: true }]]),
  ...bindKeys(
    "move the floating pane",
    "pane.float",
    directions.map((direction) => [`shift+${arrowKey(direction)}`, { direction, by: 2 }]),
    true,
  ),
  ...bindKeys("popup with a shell", "popup.open", [["P", {}]]),
  ...bindKeys("close the pane", "pane.close", [["x", {}]]),
  ...bindKeys("break pane into a window", "pane.move", [["!", { focus: true }]]),
  ...bindKeys("swap panes", "pane.swap", [
    ["{", { with: "previous" }],
    ["}", { with: "next" }],
  ]),
  ...bindKeys("rotate the panes", "layout.rotate", [
    ["ctrl+o", {}],
    ["alt+o", { backwards: true }],
  ]),
  ...bindKeys("equal shares", "layout.equalise", [["E", {}]]),
  ...bindKeys("next layout", "layout.preset", [[" ", { preset: "next" }]]),
  ...bindKeys(
    "choose a layout",
    "layout.preset",
    presets.map((preset, index) => [`alt+${index + 1}`, { preset }]),
  ),
  ...bindKeys("new window", "window.create", [["c", { focus: true }]]),
  ...bindKeys("next window", "window.select", [["n", { to: "next" }]]),
  ...bindKeys("previous window", "window.select", [["p", { to: "previous" }]]),
  ...bindKeys("last window (toggle)", "window.select", [["l", { to: "last" }]]),
  ...bindKeys(
    "go to window N",
    "window.select",
    Array.from({ length: 10 }, (_, index) => [String(index), { index }]),
  ),
  ...bindKeys("rename the window", "window.update", [[",", {}]]),
  ...bindKeys("close the window", "window.close", [["&", {}]]),
  ...bindQuestion("rename the session", "$", "session.update name=%%", "Name of the session", { prepared: "session" }),
  ...bindQuestion("go to a window by number", "'", "window.select index=%%", "Number of the window"),
  ...bindQuestion("move the window", ".", "window.move to=%%", "New number of the window, or SESSION:NUMBER"),
  ...bindKeys("move the window to the left", "window.swap", [["ctrl+shift+ArrowLeft", { with: "previous" }]], true),
  ...bindKeys("move the window to the right", "window.swap", [["ctrl+shift+ArrowRight", { with: "next" }]], true),
  ...bindQuestion("find a window", "f", "view.find text=%%", "Text in a window"),
  ...bindKeys("previous, next session", "view.session", [
    ["(", { to: "previous" }],
    [")", { to: "next" }],
  ]),
  ...bindKeys("last session (toggle)", "view.session", [["L", { to: "last" }]]),
  ...bindKeys("next, previous window that needs you", "view.alert", [
    ["alt+n", { to: "next" }],
    ["alt+p", { to: "previous" }],
  ]),
  ...bindView("view.pane_numbers", "q"),
  ...bindView("view.mark", "m"),
  ...bindView("view.unmark", "M"),
  ...bindView("view.clients", "D"),
  ...bindView("view.info", "i"),
  ...bindView("view.redraw", "r"),
  ...bindKeys("menu of the window", "view.menu", [["<", { of: "window" }]]),
  ...bindKeys("menu of the pane", "view.menu", [[">", { of: "pane" }]]),
  ...bindView("view.windows", "w"),
  ...bindView("view.sessions", "s"),
  ...bindView("view.agents", "a"),
  ...bindView("view.copy_mode", "[", "PageUp"),
  ...bindView("view.paste", "]"),
  ...bindView("view.buffers", "="),
  ...bindView("view.paste_image", "V"),
  ...bindView("view.command", ":"),
  ...bindView("view.detach", "d"),
  ...bindView("view.send_prefix", "\\"),
  ...bindView("view.keys", "?"),
]);

/** Ctrl with these keys is another key's byte: one key has one name in all its encodings. */
const sameByteNames: Readonly<Record<string, string>> = { "ctrl+i": "Tab", "ctrl+m": "Enter", "ctrl+[": "Escape" };

/** A key's name in a table of bindings. */
export function keyName({ key, modifiers }: ParsedKey): string {
  const name = modifiers.length === 0 ? key : `${modifiers.join("+")}+${key}`;
  return sameByteNames[name] ?? name;
}

/** The name of a pressed key in a table of bindings; null for input that has none. */
export function pressedKeyName({ kind, parsed, raw }: InputEvent): string | null {
  if (kind !== "key") return null;
  if (parsed !== null) return keyName(parsed);
  // Ctrl+Space is the byte 0, which input events leave unnamed.
  return raw.length === 1 && raw[0] === 0 ? "ctrl+ " : null;
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

interface BindingRow {
  /** Labels of the keys, with a series shortened. */
  readonly keys: readonly string[];
  readonly description: string;
}

const digits = "0123456789";
const arrowLabels = ["Left", "Right", "Up", "Down"];

/** The table for readers: keys with similar actions in one row. */
export function bindingRows(bindings: Bindings): BindingRow[] {
  const rows = new Map<string, string[]>();
  for (const [name, { description }] of bindings)
    rows.set(description, [...(rows.get(description) ?? []), keyLabel(name)]);
  return [...rows].map(([description, keys]) => ({ description, keys: shortenKeys(keys) }));
}

function shortenKeys(keys: readonly string[]): readonly string[] {
  if (keys.join("") === digits) return ["0–9"];
  const front = /^(?:(?:Ctrl|Alt|Shift)\+)*/.exec(keys[0] ?? "")?.[0] ?? "";
  const rest = keys.map((key) => (key.startsWith(front) ? key.slice(front.length) : key));
  if (rest.join() === arrowLabels.join()) return [`${front}arrow`];
  return rest.length > 2 && /^\d+$/.test(rest.join("")) ? [`${front}${rest[0]}–${rest.at(-1)}`] : keys;
}
