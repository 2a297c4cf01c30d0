/** What keys do after the prefix, as the settings have it: checked against the table of operations. */
import type { LoadedSettings } from "../../instance/settings/settings.ts";
import type { Binding } from "../../keys/bindings.ts";

/** The person's changes to the table of bindings. @throws WshError invalid_setting */
export async function bindingsOf({ keys }: LoadedSettings): Promise<Record<string, Binding | null>> {
  if (keys.length === 0) return {};
  // Loaded only for who has such a table.
  const [{ configuredBindings }, { TARGET_PARAMETER }, { lineCall, operationNamed, requireTakes }] = await Promise.all([
    import("../../keys/configured.ts"),
    import("../../keys/line.ts"),
    import("../../operations/line-input.ts"),
  ]);
  return configuredBindings(keys, {
    line: (line) => lineCall(line, TARGET_PARAMETER),
    check: (name, input) => requireTakes(operationNamed(name), input),
  });
}
