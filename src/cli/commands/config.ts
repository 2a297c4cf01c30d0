/** `wsh config`: lists every setting with its value and where the value comes from. */
import type { Command } from "commander";
import { formatOrigin } from "../../instance/settings/settings.ts";
import { settingFacts, settingNames } from "../../instance/settings/table.ts";
import { visible } from "../../protocol/visible.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { print, printJson, table } from "../print.ts";

interface ConfigOptions {
  readonly json?: boolean;
  readonly changed?: boolean;
}

export function register(program: Command): void {
  program
    .command("config")
    .description("Print every setting with its value, where that comes from, and what it is for.")
    .option("--config <path>", "settings file to read (WSH_CONFIG)")
    .option("--changed", "only settings that are not at their default")
    .option("--json", "print them as JSON")
    .action(async ({ json, changed }: ConfigOptions, command: Command) => {
      const instance = instanceOf(command);
      const settings = await settingsOf(instance);
      const rows = settingNames
        .map((name) => ({ name, value: settings.values[name], origin: settings.originOf(name) }))
        .filter(({ origin }) => changed !== true || origin.from !== "default");
      if (json === true) {
        return printJson(rows.map(({ origin, ...row }) => ({ ...row, origin: formatOrigin(origin) })));
      }
      const lines = rows.map(({ name, value, origin }) => {
        const { unit = "", doc } = settingFacts(name);
        return [name, `${JSON.stringify(value)} ${unit}`.trim(), formatOrigin(origin), doc];
      });
      return print(
        `${table([["KEY", "VALUE", "FROM", "MEANING"], ...lines])}\nFile: ${visible(instance.configFile)}\n`,
      );
    });
}
