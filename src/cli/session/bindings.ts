/** What keys do, as the settings have it: checked against the table of operations. */

import { type Binding, keyLabel } from "../../keys/bindings.ts";
import { defaultPrefix, type Prefix, parsePrefix } from "../../keys/prefix.ts";
import { type KeyChanges, KeyTables } from "../../keys/tables.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { LoadedSettings } from "../../settings/settings.ts";

/** tmux's prefix, where the setting prefix_preset says so and no other is set. */
const TMUX_PREFIX = "C-b";

export interface PersonBindings {
  /** All changes to the default bindings. */
  readonly changes: KeyChanges;
  /** Those of them that the settings' table makes; any other is the preset's. */
  readonly configured: KeyChanges;
}

/**
 * The person's changes to the tables of bindings.
 * @param fault takes what is wrong with an entry, which then has no effect
 * @throws WshError invalid_setting without it
 */
export async function bindingsOf(settings: LoadedSettings, fault?: (message: string) => void): Promise<PersonBindings> {
  const { keys, values } = settings;
  if (fault === undefined) parsePrefix(prefixKeyOf(settings));
  const preset: KeyChanges = values.prefix_preset === "tmux" ? await tmuxPreset() : {};
  if (keys.length === 0) return { changes: preset, configured: {} };
  // Loaded only where there is such a table.
  const [{ configuredBindings }, { TARGET_PARAMETER }, { lineCall, operationNamed, requireTakes }] = await Promise.all([
    import("../../keys/configured.ts"),
    import("../../keys/line.ts"),
    import("../../operations/line-input.ts"),
  ]);
  const configured = configuredBindings(keys, {
    line: (line) => {
      const call = lineCall(line, TARGET_PARAMETER);
      requireEffect(operationNamed(call.operation));
      return call;
    },
    check: (name, input) => {
      requireTakes(operationNamed(name), input);
      requireEffect(operationNamed(name));
    },
    ...defined({ fault }),
  });
  return { changes: { ...preset, ...configured }, configured };
}

/** A binding that is allowed, and may not be meant: one sentence, or none. */
export function bindingsNote(changes: KeyChanges): string | null {
  const { missed } = new KeyTables(changes);
  if (missed.length === 0) return null;
  return `without the prefix ${missed.map(keyLabel).join(", ")} ${missed.length === 1 ? "is" : "are"} bound: programs do not get ${missed.length === 1 ? "it" : "them"}`;
}

async function tmuxPreset(): Promise<Readonly<Record<string, Binding | null>>> {
  return (await import("../../keys/tmux-preset.ts")).tmuxPreset;
}

/** The name of the prefix key: from the setting, or else the preset's. */
export function prefixKeyOf({ values, originOf }: Pick<LoadedSettings, "values" | "originOf">): string {
  const isSet = originOf("prefix_key").from !== "default";
  return values.prefix_preset === "tmux" && !isSet ? TMUX_PREFIX : values.prefix_key;
}

/** The prefix key; where the setting is wrong, `fault` takes what is, and it is the default. */
export function prefixOf(setting: string, fault: (message: string) => void): Prefix | null {
  try {
    return parsePrefix(setting);
  } catch (thrown) {
    fault(`prefix_key: ${WshError.from(thrown).message}: the default is used`);
    return defaultPrefix;
  }
}

/** The answer of an operation that only reads is shown nowhere. @throws WshError invalid_setting */
function requireEffect({ name, access }: { readonly name: string; readonly access: string }): void {
  if (access !== "observe") return;
  throw new WshError("invalid_setting", `the operation '${name}' only reads and cannot be bound to a key`);
}
