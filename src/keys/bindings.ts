/**
 * What keys do after the prefix key: each is bound to an operation by its name, with an input, as a call would make it.
 * The target is the pane that has the focus. Pure.
 */
import type { ParsedKey } from "./types.ts";

export interface Binding {
  /** An operation on windows and panes. */
  readonly operation: string;
  readonly input: Readonly<Record<string, unknown>>;
  /** What it does, in a few words. */
  readonly says: string;
}

const right: Binding = { operation: "pane.split", input: { direction: "right", focus: true }, says: "split right" };
const down: Binding = { operation: "pane.split", input: { direction: "down", focus: true }, says: "split down" };

function select(to: string): Binding {
  return { operation: "pane.select", input: { to }, says: `pane: ${to}` };
}

function grow(direction: string): Binding {
  return { operation: "pane.resize", input: { direction, by: 1 }, says: `border: ${direction}` };
}

export const bindings: ReadonlyMap<string, Binding> = new Map<string, Binding>([
  ["%", right],
  ["|", right],
  ['"', down],
  ["-", down],
  ["ArrowLeft", select("left")],
  ["ArrowRight", select("right")],
  ["ArrowUp", select("up")],
  ["ArrowDown", select("down")],
  ["o", select("next")],
  [";", select("last")],
  ["ctrl+ArrowLeft", grow("left")],
  ["ctrl+ArrowRight", grow("right")],
  ["ctrl+ArrowUp", grow("up")],
  ["ctrl+ArrowDown", grow("down")],
  ["z", { operation: "pane.zoom", input: {}, says: "zoom" }],
  ["x", { operation: "pane.close", input: {}, says: "close pane" }],
  ["!", { operation: "pane.move", input: { focus: true }, says: "pane to a new window" }],
  ["{", { operation: "pane.swap", input: { with: "previous" }, says: "swap with the pane before" }],
  ["}", { operation: "pane.swap", input: { with: "next" }, says: "swap with the next pane" }],
  [" ", { operation: "layout.preset", input: { preset: "next" }, says: "next layout" }],
  ["c", { operation: "window.create", input: { focus: true }, says: "new window" }],
  ["n", { operation: "window.select", input: { to: "next" }, says: "next window" }],
  ["p", { operation: "window.select", input: { to: "previous" }, says: "window before" }],
  ["&", { operation: "window.close", input: {}, says: "close window" }],
  ...Array.from({ length: 10 }, (_, index): [string, Binding] => [
    String(index),
    { operation: "window.select", input: { index }, says: `window ${index}` },
  ]),
]);

/** Returns the name of a key in the table, null for a key that is bound to nothing. */
export function boundKey(parsed: ParsedKey | null): string | null {
  if (parsed === null) return null;
  const name = [...parsed.modifiers, parsed.key].join("+");
  return bindings.has(name) ? name : null;
}
