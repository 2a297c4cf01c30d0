/**
 * The prefix key: the person's way out of a session and out of an agent's capture.
 *
 * Pure state machine, one per attached terminal, fed with decoded events. Invariants: while the keyboard is captured,
 * one press always takes it back (of the default key if the person has set none); an unbound key after the prefix goes
 * nowhere, and the person is told. Mouse reports, focus changes, replies, key releases and modifier keys do not count
 * as the key after the prefix.
 */
import { WshError } from "../protocol/errors.ts";
import { type Bindings, keyName } from "./bindings.ts";
import { ALT, CTRL, parseKeyName, SHIFT } from "./names.ts";
import type { InputEvent, ParsedKey } from "./types.ts";

export interface Prefix {
  readonly key: ParsedKey;
  /** The key as the person sees it: `Ctrl+\`. */
  readonly label: string;
}

export const defaultPrefix: Prefix = { key: { key: "\\", modifiers: ["ctrl"] }, label: "Ctrl+\\" };

/** How long the keys of a repeatable binding need no prefix after it, in ms. */
export const REPEAT_MS = 500;

export interface PrefixState {
  /** The bytes of a pressed prefix that waits for the next key. */
  readonly pending: Uint8Array | null;
  /** Until when repeatable bindings need no prefix, on the caller's clock in ms. */
  readonly repeatUntil: number;
}

export const initialPrefixState: PrefixState = { pending: null, repeatUntil: Number.NEGATIVE_INFINITY };

export type PrefixAction =
  /** Treat as input: to the program, or to the caller that captured the keyboard. */
  | { readonly type: "forward"; readonly raw: Uint8Array }
  /** The prefix was pressed: show and send nothing before the next key. */
  | { readonly type: "wait" }
  /** Take the keyboard back from its captor. */
  | { readonly type: "release" }
  | { readonly type: "detach" }
  /** A key of the table of bindings was pressed. */
  | { readonly type: "bound"; readonly key: string }
  /** The key after the prefix is unbound: its name; null for Escape and keys without a name. */
  | { readonly type: "unbound"; readonly key: string | null };

export interface PrefixContext {
  /** A caller holds the keyboard now. */
  readonly captured: boolean;
  /** Null: without a prefix key. */
  readonly prefix: Prefix | null;
  readonly bindings: Bindings;
  /** Time in ms, on a clock that never goes back. */
  readonly now: number;
}

/**
 * Reads the setting `prefix_key`: a key name with Ctrl or Alt, a function key, or `none`.
 * @throws WshError `invalid_setting` for any other, and for keys that people need for typing
 */
export function parsePrefix(setting: string): Prefix | null {
  if (setting.toLowerCase() === "none") return null;
  const key = readSetting(setting);
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
  refuseTwin(parsed);
  const shown = name === " " ? "Space" : name.length === 1 && held === CTRL ? name.toUpperCase() : name;
  const label = [...modifiers.map((one) => one[0]?.toUpperCase() + one.slice(1)), shown].join("+");
  return { key: parsed, label };
}

function readSetting(setting: string) {
  try {
    return parseKeyName(setting);
  } catch (error) {
    throw new WshError("invalid_setting", `prefix_key: ${WshError.from(error).message}`, {}, { cause: error });
  }
}

/** Ctrl with some keys is another key's byte: a terminal sends Ctrl+I as Tab, Ctrl+M as Enter, Ctrl+[ as Escape. */
function refuseTwin(key: ParsedKey): void {
  if (key.modifiers.length !== 1 || key.modifiers[0] !== "ctrl") return;
  const twin = { i: "Tab", m: "Enter", "[": "Escape" }[key.key];
  if (twin === undefined) return;
  throw new WshError("invalid_setting", `prefix_key Ctrl+${key.key} is the ${twin} key to most terminals`, {
    hint: "Use another key with Ctrl or Alt, such as Ctrl+\\.",
  });
}

function isPrefix({ parsed, raw }: InputEvent, { key }: Prefix): boolean {
  // Ctrl+Space is the byte 0, which input events leave unnamed.
  if (raw.length === 1 && raw[0] === 0) return key.key === " " && key.modifiers.join() === "ctrl";
  return parsed !== null && parsed.key === key.key && parsed.modifiers.join() === key.modifiers.join();
}

/** One event of the person's terminal. */
export function prefixKey(
  state: PrefixState,
  event: InputEvent,
  { captured, prefix, bindings, now }: PrefixContext,
): { state: PrefixState; action: PrefixAction } {
  const forward = { type: "forward", raw: event.raw } as const;
  if (event.kind !== "key" && event.kind !== "paste") return { state, action: forward };
  if (captured) {
    const taken = event.kind === "key" && isPrefix(event, prefix ?? defaultPrefix);
    return { state: initialPrefixState, action: taken ? { type: "release" } : forward };
  }
  const pressed = prefix !== null && event.kind === "key" && isPrefix(event, prefix);
  const name = event.kind === "key" ? keyName(event.parsed) : null;
  const binding = name === null ? undefined : bindings.get(name);
  const repeating = { pending: null, repeatUntil: now + REPEAT_MS };
  if (state.pending === null) {
    if (pressed) return { state: { ...initialPrefixState, pending: event.raw }, action: { type: "wait" } };
    if (now < state.repeatUntil && binding?.repeat === true && name !== null)
      return { state: repeating, action: { type: "bound", key: name } };
    return { state: initialPrefixState, action: forward };
  }
  if (pressed || binding?.operation === "view.detach") return { state: initialPrefixState, action: { type: "detach" } };
  if (binding?.operation === "view.send_prefix")
    return { state: initialPrefixState, action: { type: "forward", raw: state.pending } };
  if (binding !== undefined && name !== null)
    return { state: binding.repeat === true ? repeating : initialPrefixState, action: { type: "bound", key: name } };
  // Pasted text is text, whatever was pressed before.
  if (event.kind === "paste") return { state: initialPrefixState, action: forward };
  return { state: initialPrefixState, action: { type: "unbound", key: name === "Escape" ? null : name } };
}
