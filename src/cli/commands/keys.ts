/** `wsh keys`: what each key does after the prefix. */
import type { Command } from "commander";
import { bindingRows, changedBindings, keyLabel } from "../../keys/bindings.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { visible } from "../../protocol/visible.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { print, printJson, table } from "../print.ts";
import { bindingsOf } from "../session/bindings.ts";

export function register(program: Command): void {
  program
    .command("keys")
    .description(
      "Print the bindings of the keys after the prefix key, and check the table [keys] of the settings.\n" +
        'There, "g" = "window.select to=last" binds a key to an operation, and "x" = "none" unbinds it.',
    )
    .option("--config <path>", "settings file to read (WSH_CONFIG)")
    .option("--json", "print each key with its operation as JSON")
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const settings = await settingsOf(instanceOf(command));
      const prefix = parsePrefix(settings.values.prefix_key)?.label ?? null;
      const changes = await bindingsOf(settings);
      const bindings = changedBindings(changes);
      if (json === true) {
        const keys = [...bindings].map(([name, { operation, input, says, repeat = false }]) => ({
          ...{ key: keyLabel(name), operation, input, repeat, says, changed: Object.hasOwn(changes, name) },
        }));
        return printJson({ prefix, keys });
      }
      if (prefix === null) return print('No keys are bound: prefix_key is "none".\n');
      const rows = bindingRows(bindings).map(({ keys, says }) => [keys.join(" "), says]);
      return print(
        `${table([["KEY", `AFTER ${prefix}`], [prefix, "detach"], ...rows].map((row) => row.map(visible)))}`,
      );
    });
}
