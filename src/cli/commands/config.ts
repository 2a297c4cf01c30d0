/** `wsh config`: lists every setting with its value and where the value comes from. */
import type { Command } from "commander";
import { formatOrigin } from "../../instance/settings/settings.ts";
import { settingFacts, settingNames } from "../../instance/settings/table.ts";
import { themeRoleNames, themeRoles } from "../../protocol/theme.ts";
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
      if (settings.isWrong) process.exitCode = 1;
      const rows = settingNames
        .map((name) => ({ name, value: settings.values[name], origin: settings.originOf(name) }))
        .filter(({ origin }) => changed !== true || origin.from !== "default");
      const changedLooks = new Map(settings.theme.map((entry) => [entry.role, entry]));
      const looks = themeRoleNames
        .map((role) => ({ role, entry: changedLooks.get(role) }))
        .filter(({ entry }) => changed !== true || entry !== undefined)
        .map(({ role, entry }) => ({
          name: `theme.${role}`,
          value: entry?.text ?? themeRoles[role][0],
          origin: entry?.origin ?? ({ from: "default" } as const),
          doc: `Look of ${themeRoles[role][1]}.`,
        }));
      if (json === true) {
        const all = [...rows, ...looks.map(({ doc: _, ...look }) => look)];
        return printJson(all.map(({ origin, ...row }) => ({ ...row, origin: formatOrigin(origin) })));
      }
      const described = [...rows.map((row) => ({ ...row, ...settingFacts(row.name) })), ...looks];
      const lines = described.map(({ name, value, origin, doc, ...facts }) => {
        const unit = "unit" in facts ? facts.unit : "";
        return [name, `${JSON.stringify(value)} ${unit ?? ""}`.trim(), formatOrigin(origin), doc];
      });
      return print(
        `${table([["KEY", "VALUE", "FROM", "MEANING"], ...lines])}\nFile: ${visible(instance.configFile)}\n`,
      );
    });
}
