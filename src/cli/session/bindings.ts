/** What keys do after the prefix, as the settings have it: checked against the table of operations. */
import type { LoadedSettings } from "../../instance/settings/settings.ts";
import type { Binding } from "../../keys/bindings.ts";
import { WshError } from "../../protocol/errors.ts";

/** The person's changes to the table of bindings. @throws WshError invalid_setting */
export async function bindingsOf({ keys }: LoadedSettings): Promise<Record<string, Binding | null>> {
  if (keys.length === 0) return {};
  // Loaded only for who has such a table.
  const [{ configuredBindings }, { findOperation, operations }, { parseInput }, { unknownFields }] = await Promise.all([
    import("../../keys/configured.ts"),
    import("../../operations/table.ts"),
    import("../../operations/call.ts"),
    import("../../operations/unknown-fields.ts"),
  ]);
  return configuredBindings(keys, (name, input) => {
    const operation = findOperation(name);
    if (operation === undefined) {
      const near = operations.filter(
        (each) => each.scope !== "server" && each.name.startsWith(`${name.split(".")[0]}.`),
      );
      const offer = near.length === 0 ? "" : `; near: ${near.map((each) => each.name).join(", ")}`;
      throw new WshError("invalid_setting", `there is no operation '${name}'${offer}`);
    }
    if (operation.scope === "server") throw new WshError("invalid_setting", `'${name}' is not about one session`);
    parseInput(operation, input);
    const [unknown] = unknownFields(operation.input, input);
    if (unknown !== undefined) throw new WshError("invalid_setting", `'${name}' takes no '${unknown}'`);
  });
}
