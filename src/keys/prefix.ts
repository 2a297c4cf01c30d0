/**
 * The prefix key, the person's way out of a session and out of an agent's capture, and the tables in which keys are
 * looked up.
 *
 * Pure state machine, one per attached terminal, fed with decoded events. Invariants: while the keyboard is captured,
 * one press always takes it back (of the default key if the person has set none), and nothing else is looked up; an
 * unbound key after the prefix, or in an own table, is dropped, and the person is notified. Mouse reports, focus
 * changes, replies, key releases and modifier keys do not count as keys.
 */
import { WshError } from "../protocol/errors.ts";
import { type Binding, type BoundCall, callsOf, keyName, pressedKeyName } from "./bindings.ts";
import { ALT, CTRL, SHIFT } from "./names.ts";
import { parseKeyName } from "./parse-name.ts";
import type { KeyTables } from "./tables.ts";
import type { InputEvent, ParsedKey } from "./types.ts";

export interface Prefix {
  readonly key: ParsedKey;
  /** The key as the person sees it: `Ctrl+\`. */
  readonly label: string;
}

export const defaultPrefix: Prefix = { key: { key: "\\", modifiers: ["ctrl"] }, label: "Ctrl+\\" };

/** A table in which the next key is looked up. */
interface ActiveTable {
  readonly name: string;
  /** Until when, on the caller's clock in ms. */
  readonly until: number;
  /**
   * Which keys it takes: one; keys until one that is not in the table; or only repeatable keys, while any other goes to
   * the program.
   */
  readonly takes: "one" | "many" | "repeatable";
  /** Time that a key adds in a table of many, in ms. */
  readonly timeout: number;
  /** The bytes of the prefix key that entered the table; empty: none. */
  readonly pressed: Uint8Array;
}

/** Null: keys go to the program, except the prefix key and those of the table `root`. */
export type TableState = ActiveTable | null;

export interface PressedKey {
  readonly table: string;
  readonly key: string;
  readonly raw: Uint8Array;
}

export type PrefixAction =
  /** Treat as input: to the program, or to the caller that captured the keyboard. */
  | { readonly type: "forward"; readonly raw: Uint8Array }
  /** A table was entered: show and send nothing before the next key. */
  | { readonly type: "wait" }
  /** Take the keyboard back from its captor. */
  | { readonly type: "release" }
  | { readonly type: "detach" }
  /** A key of a table of bindings was pressed. */
  | { readonly type: "bound"; readonly pressed: PressedKey }
  /** The key is not in the table: its name; null for Escape and keys without a name. */
  | { readonly type: "unbound"; readonly pressed: PressedKey | null };

export interface PrefixContext {
  /** A caller holds the keyboard now. */
  readonly captured: boolean;
  /** Null: without a prefix key. */
  readonly prefix: Prefix | null;
  readonly tables: KeyTables;
  readonly repeatMs: number;
  /** Keys may be looked up without the prefix. */
  readonly acceptsRootKeys: boolean;
  /** Time in ms, on a clock that never goes back. */
  readonly now: number;
}

/**
 * Reads the setting `prefix_key`: a key name with Ctrl or Alt, a function key, or `none`.
 * @throws WshError `invalid_setting` for any other, and for keys that people need for typing
 */
export function parsePrefix(setting: string): Prefix | null {
  if (setting.toLowerCase() === "none") return null;
  const key = parseSetting(setting);
  const held = key.modifiers & (CTRL | ALT);
  const named = "named" in key.key ? key.key.named : null;
  const functionKey = named !== null && /^F\d+$/.test(named);
  if (held === 0 && !functionKey) {
    throw new WshError(
      "invalid_setting",
      `prefix_key ${JSON.stringify(setting)} uses a key that is needed for typing`,
      {
        hint: "Use a key with Ctrl or Alt, such as Ctrl+\\ or C-a, a function key, or none.",
      },
    );
  }
  const modifiers = [
    ...((key.modifiers & CTRL) !== 0 ? (["ctrl"] as const) : []),
    ...((key.modifiers & ALT) !== 0 ? (["alt"] as const) : []),
    ...((key.modifiers & SHIFT) !== 0 ? (["shift"] as const) : []),
  ];
  const name = "char" in key.key ? key.key.char : key.key.named;
  const parsed = { key: name, modifiers };
  requireDistinctKey(parsed);
  const shown = name === " " ? "Space" : name.length === 1 && held === CTRL ? name.toUpperCase() : name;
  const label = [...modifiers.map((one) => one[0]?.toUpperCase() + one.slice(1)), shown].join("+");
  return { key: parsed, label };
}

function parseSetting(setting: string) {
  try {
    return parseKeyName(setting);
  } catch (error) {
    throw new WshError("invalid_setting", `prefix_key: ${WshError.from(error).message}`, {}, { cause: error });
  }
}

/** Ctrl with some keys is another key's byte: a terminal sends Ctrl+I as Tab, Ctrl+M as Enter, Ctrl+[ as Escape. */
function requireDistinctKey(key: ParsedKey): void {
  if (key.modifiers.length !== 1 || key.modifiers[0] !== "ctrl") return;
  const sameKey = { i: "Tab", m: "Enter", "[": "Escape" }[key.key];
  if (sameKey === undefined) return;
  throw new WshError("invalid_setting", `prefix_key Ctrl+${key.key} is the ${sameKey} key to most terminals`, {
    hint: "Use another key with Ctrl or Alt, such as Ctrl+\\.",
  });
}

function isPrefix(name: string | null, { key }: Prefix): boolean {
  return name !== null && name === keyName(key);
}

const noBytes = new Uint8Array(0);

/** One event of the person's terminal. */
export function handleKeyEvent(
  state: TableState,
  event: InputEvent,
  context: PrefixContext,
): { state: TableState; action: PrefixAction } {
  const { raw, kind } = event;
  if (kind !== "key" && kind !== "paste") return { state, action: { type: "forward", raw } };
  const { captured, prefix, tables, acceptsRootKeys, now } = context;
  const name = pressedKeyName(event);
  if (captured) {
    const isReleaseKey = isPrefix(name, prefix ?? defaultPrefix);
    return { state: null, action: isReleaseKey ? { type: "release" } : { type: "forward", raw } };
  }
  // Pasted text is text, whatever was pressed before.
  if (kind === "paste") return { state: null, action: { type: "forward", raw } };
  // A table that the settings have removed is left at the next key.
  const active = state !== null && now < state.until ? state : null;
  const table = active === null ? undefined : tables.get(active.name);
  const found = name === null ? undefined : table?.get(name);
  if (active !== null && name !== null && found !== undefined) {
    if (active.takes !== "repeatable" || found.repeat === true)
      return pressTableKey(active, found, { name, raw }, context);
  }
  if (prefix !== null && isPrefix(name, prefix)) {
    if (active?.name === "prefix" && active.takes === "one") return { state: null, action: { type: "detach" } };
    const entered: ActiveTable = {
      name: "prefix",
      until: Number.POSITIVE_INFINITY,
      takes: "one",
      timeout: 0,
      pressed: raw,
    };
    return { state: entered, action: { type: "wait" } };
  }
  const waits = active !== null && table !== undefined && active.takes !== "repeatable";
  if (waits && (active.name === "prefix" || name === null || name === "Escape"))
    return reportUnbound(active.name, name, raw);
  // As in tmux, a key that is not in an own table is looked up without it, and never typed.
  if (acceptsRootKeys && name !== null && (tables.root.has(name) || tables.copy.has(name))) {
    const binding = tables.root.get(name);
    if (binding === undefined || !entersTable(binding))
      return { state: null, action: { type: "bound", pressed: { table: "root", key: name, raw } } };
    return pressTableKey({ ...rootTable, pressed: noBytes }, binding, { name, raw }, context);
  }
  return waits ? reportUnbound(active.name, name, raw) : { state: null, action: { type: "forward", raw } };
}

const rootTable = { name: "root", until: 0, takes: "one", timeout: 0 } as const;

function reportUnbound(
  table: string,
  name: string | null,
  raw: Uint8Array,
): { state: TableState; action: PrefixAction } {
  const isSilent = name === null || name === "Escape";
  return { state: null, action: { type: "unbound", pressed: isSilent ? null : { table, key: name, raw } } };
}

/** A key of a table. */
function pressTableKey(
  active: ActiveTable,
  binding: Binding,
  { name, raw }: { readonly name: string; readonly raw: Uint8Array },
  { now, repeatMs }: PrefixContext,
): { state: TableState; action: PrefixAction } {
  const entered = callsOf(binding).findLast(({ operation }) => operation === "view.table");
  const state = entered === undefined ? stateAfterKey(active, binding, { now, repeatMs }) : enterTable(entered, now);
  // A binding that enters another table is handled here, where the next key may already wait.
  if (binding.further === undefined) {
    if (entered !== undefined) return { state, action: { type: "wait" } };
    if (binding.operation === "view.detach") return { state: null, action: { type: "detach" } };
    if (binding.operation === "view.send_prefix" && active.pressed.length > 0)
      return { state: null, action: { type: "forward", raw: active.pressed } };
  }
  return { state, action: { type: "bound", pressed: { table: active.name, key: name, raw } } };
}

function stateAfterKey(
  active: ActiveTable,
  binding: Binding,
  { now, repeatMs }: Pick<PrefixContext, "now" | "repeatMs">,
): TableState {
  if (active.takes === "many") return { ...active, until: now + active.timeout };
  return binding.repeat === true ? { ...active, until: now + repeatMs, takes: "repeatable", pressed: noBytes } : null;
}

function enterTable({ input }: BoundCall, now: number): ActiveTable {
  const timeout = typeof input.timeout === "number" && input.timeout > 0 ? input.timeout : Number.POSITIVE_INFINITY;
  const takes = input.stay === true ? "many" : "one";
  return { name: String(input.table), until: now + timeout, takes, timeout, pressed: noBytes };
}

function entersTable(binding: Binding): boolean {
  return callsOf(binding).some(({ operation }) => operation === "view.table");
}
