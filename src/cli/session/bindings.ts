/** What keys do after the prefix, as the settings have it: checked against the table of operations. */

import { type Binding, keyName } from "../../keys/bindings.ts";
import { defaultPrefix, type Prefix, parsePrefix } from "../../keys/prefix.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { LoadedSettings } from "../../settings/settings.ts";

/**
 * The person's changes to the table of bindings.
 * @param fault takes what is wrong with an entry, which then has no effect
 * @throws WshError invalid_setting without it
 */
export async function bindingsOf(
  { keys, values }: LoadedSettings,
  fault?: (message: string) => void,
): Promise<Record<string, Binding | null>> {
  if (fault === undefined) parsePrefix(values.prefix_key);
  if (keys.length === 0) return {};
  // Loaded only for who has such a table.
  const [{ configuredBindings }, { TARGET_PARAMETER }, { lineCall, operationNamed, requireTakes }] = await Promise.all([
    import("../../keys/configured.ts"),
    import("../../keys/line.ts"),
    import("../../operations/line-input.ts"),
  ]);
  const prefix = prefixOf(values.prefix_key, () => {});
  return configuredBindings(keys, {
    line: (line) => {
      const call = lineCall(line, TARGET_PARAMETER);
      requireEffect(operationNamed(call.operation));
      return call;
    },
    check: (name, input) => {
      requireTakes(operationNamed(name), input);
      requireEffect(operationNamed(name));
    },
    prefix: prefix === null ? undefined : (keyName(prefix.key) ?? undefined),
    ...defined({ fault }),
  });
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
