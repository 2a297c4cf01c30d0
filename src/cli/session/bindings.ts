/** The key bindings of the settings, checked against the table of operations. */

import type { Instance } from "../../instance/paths.ts";
import { keyLabel, keyName } from "../../keys/bindings.ts";
import { defaultPrefix, type Prefix, parsePrefix } from "../../keys/prefix.ts";
import { type KeyChanges, KeyTables } from "../../keys/tables.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { prefixKeyOf } from "../../settings/prefix-key.ts";
import type { LoadedSettings } from "../../settings/settings.ts";
import type { tmuxChanges } from "../../tmux/bindings/changes.ts";

export interface PersonBindings {
  /** The prefix key: that of `wsh tmux set -g prefix`, else that of the settings. */
  readonly prefix: string;
  /** All changes to the default bindings. */
  readonly changes: KeyChanges;
  /** The changes made by `wsh tmux bind-key`, which take precedence. */
  readonly tmux: KeyChanges;
  /** The changes of the settings' table; any other binding is the preset's. */
  readonly configured: KeyChanges;
}

/**
 * The person's changes to the key tables.
 * @param onFault receives the error of an entry, which then has no effect
 * @throws WshError invalid_setting without it
 */
export async function bindingsOf(
  instance: Instance,
  settings: LoadedSettings,
  onFault?: (error: WshError) => void,
): Promise<PersonBindings> {
  const { keys, values } = settings;
  if (onFault === undefined) parsePrefix(prefixKeyOf(settings));
  const preset =
    values.prefix_preset === "tmux" ? (await import("../../keys/tmux-preset.ts")).tmuxPresetFor : () => ({});
  const configured = keys.length === 0 ? {} : await configuredKeys(settings, onFault);
  const before: KeyChanges = { ...preset(null), ...configured };
  const { tmux, prefix } = await byTmux(instance, { modeKeys: values.mode_keys, before });
  const isFlag = settings.originOf("prefix_key").from === "flag";
  const chosen = isFlag || prefix === null ? prefixKeyOf(settings) : prefix;
  return { prefix: chosen, changes: { ...preset(nameOfPrefix(chosen)), ...configured, ...tmux }, tmux, configured };
}

/** The bindings of `wsh tmux bind-key` in the instance, and the prefix key of `set -g prefix`. */
async function byTmux(
  instance: Instance,
  context: Parameters<typeof tmuxChanges>[1],
): Promise<{ readonly tmux: KeyChanges; readonly prefix: string | null }> {
  const { StateFile } = await import("../../tmux/instance/state-file.ts");
  const { tables, session } = new StateFile(instance).read();
  const hasKeys = Object.keys(tables).length > 0;
  const tmux = hasKeys ? (await import("../../tmux/bindings/changes.ts")).tmuxChanges(tables, context) : {};
  if (session.prefix === undefined) return { tmux, prefix: null };
  const { optionPrefix } = await import("../../tmux/bindings/key-names.ts");
  return { tmux, prefix: optionPrefix(session.prefix) };
}

async function configuredKeys({ keys }: LoadedSettings, onFault?: (error: WshError) => void): Promise<KeyChanges> {
  // Loaded only if there is such a table.
  const [{ parseBindings }, { TARGET_PARAMETER }, { lineCall, operationNamed, requireTakes }] = await Promise.all([
    import("../../keys/configured.ts"),
    import("../../keys/line.ts"),
    import("../../operations/line-input.ts"),
  ]);
  return parseBindings(keys, {
    readCall: (line) => {
      const call = lineCall(line, TARGET_PARAMETER);
      requireEffect(operationNamed(call.operation));
      return call;
    },
    check: (name, input) => {
      requireTakes(operationNamed(name), input);
      requireEffect(operationNamed(name));
    },
    ...defined({ onFault }),
  });
}

/** The warning about an entry that has no effect. */
export function ignored({ message }: WshError): string {
  return `${message}: ignored`;
}

/** A warning, in one sentence, about a valid binding that may be a mistake; null: none. */
export function bindingsNote(changes: KeyChanges): string | null {
  const { shadowedKeys } = new KeyTables(changes);
  if (shadowedKeys.length === 0) return null;
  return `without the prefix ${shadowedKeys.map(keyLabel).join(", ")} ${shadowedKeys.length === 1 ? "is" : "are"} bound: programs do not get ${shadowedKeys.length === 1 ? "it" : "them"}`;
}

/** The name of the prefix key in tables of bindings; null: there is none, or it is invalid. */
function nameOfPrefix(setting: string): string | null {
  try {
    const prefix = parsePrefix(setting);
    return prefix === null ? null : keyName(prefix.key);
  } catch {
    return null;
  }
}

/** The prefix key; for an invalid setting, reports the error to `fault` and returns the default. */
export function prefixOf(setting: string, fault: (message: string) => void): Prefix | null {
  try {
    return parsePrefix(setting);
  } catch (thrown) {
    fault(`prefix_key: ${WshError.from(thrown).message}: the default is used`);
    return defaultPrefix;
  }
}

/** Refuses an operation that only reads: its answer would be shown nowhere. @throws WshError invalid_setting */
function requireEffect({ name, access }: { readonly name: string; readonly access: string }): void {
  if (access !== "observe") return;
  throw new WshError("invalid_setting", `the operation '${name}' only reads and cannot be bound to a key`);
}
