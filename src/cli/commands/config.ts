/**
 * `wsh config`: lists every setting with its value, the value's origin, and the sessions that use another value. `wsh
 * config reload`: makes them read the file again.
 */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { WshError } from "../../protocol/errors.ts";
import { visible } from "../../protocol/harmless-text.ts";
import { plural } from "../../protocol/plural.ts";
import { themeRoleNames, themeRoles } from "../../protocol/theme.ts";
import { prefixKeyOf } from "../../settings/prefix-key.ts";
import { formatOrigin, type LoadedSettings } from "../../settings/settings.ts";
import { settingNames, settingOf } from "../../settings/table.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, print, printJson, printText, table } from "../print.ts";
import { bindingsNote, bindingsOf } from "../session/bindings.ts";
import { requirePerson } from "../session/client.ts";
import { effectiveSettings } from "../session/effective-settings.ts";

interface ConfigOptions {
  readonly json?: boolean;
  readonly changed?: boolean;
}

export function register(program: Command): void {
  const config = program
    .command("config")
    .description(
      "Print every setting with its value, origin and meaning.\n\n" +
        "Sessions, their terminals and pages read the file again when it changes; if they do not notice a change,\n" +
        "`wsh config reload` makes them read it. A mistake is reported and changes nothing.",
    )
    .option("--config <path>", "settings file to read (WSH_CONFIG)")
    .option("--changed", "only settings that differ from their default")
    .option("--json", "print them as JSON")
    .action(async ({ json, changed }: ConfigOptions, command: Command) => {
      const instance = instanceOf(command);
      const settings = await settingsOf(instance);
      if (settings.isWrong) process.exitCode = 1;
      const rows = settingNames
        .map((name) => {
          const isPreset = name === "prefix_key" && prefixKeyOf(settings) !== settings.values.prefix_key;
          const value = isPreset ? prefixKeyOf(settings) : settings.values[name];
          return { name, value, origin: settings.originOf(isPreset ? "prefix_preset" : name) };
        })
        .filter(({ origin }) => changed !== true || origin.from !== "default");
      const changedLooks = new Map(settings.theme.map((entry) => [entry.role, entry]));
      const themeRows = themeRoleNames
        .map((role) => ({ role, entry: changedLooks.get(role) }))
        .filter(({ entry }) => changed !== true || entry !== undefined)
        .map(({ role, entry }) => ({
          name: `theme.${role}`,
          value: entry?.text ?? themeRoles[role][0],
          origin: entry?.origin ?? ({ from: "default" } as const),
          doc: `Style of ${themeRoles[role][1]}.`,
        }));
      if (json === true) {
        const all = [...rows, ...themeRows.map(({ doc: _, ...look }) => look)];
        return printJson(all.map(({ origin, ...row }) => ({ ...row, origin: formatOrigin(origin) })));
      }
      const others = await differencesText(instance, settings);
      const described = [...rows.map((row) => ({ ...row, ...settingOf(row.name) })), ...themeRows];
      const lines = described.map(({ name, value, origin, doc, ...facts }) => {
        const unit = "unit" in facts ? facts.unit : "";
        return [name, `${JSON.stringify(value)} ${unit ?? ""}`.trim(), formatOrigin(origin), doc];
      });
      return print(
        `${table([["KEY", "VALUE", "FROM", "MEANING"], ...lines])}\n${others}File: ${visible(instance.configFile)}\n`,
      );
    });
  config
    .command("check")
    .description("Check the settings file, with its keys and hooks, and change nothing.")
    .action(async (_options, command: Command) => {
      const { hooks, notices } = await checked(instanceOf(command));
      const counts = [
        ...(hooks.length === 0 ? [] : [plural(hooks.length, "hook")]),
        ...(notices.length === 0 ? [] : [plural(notices.length, "[[notify]] table")]),
      ];
      await printText(`The settings are valid${counts.length === 0 ? "" : `, with ${counts.join(" and ")}`}.\n`);
    });
  config
    .command("reload")
    .description("Make sessions, their terminals and pages read the settings again.")
    .action(async (_options, command: Command) => {
      const instance = instanceOf(command);
      // Mistakes are reported here, before any session reads the file.
      await checked(instance);
      await requirePerson(instance, "wsh config reload");
      const sessions = await effectiveSettings(instance, true);
      for (const { session, answer } of sessions) {
        if (answer?.fault === null) continue;
        process.exitCode = 1;
        complain(`session '${session}': ${answer?.fault ?? "it did not answer"}`);
      }
      const reloaded = sessions.filter(({ answer }) => answer?.fault === null).length;
      await printText(`The settings are in force in ${plural(reloaded, "session")}.\n`);
    });
}

/** Reports every mistake in the order of the file; throws the last one instead. @throws WshError invalid_setting */
async function checked(instance: Instance): Promise<LoadedSettings> {
  const faults: WshError[] = [];
  const fault = (error: WshError): void => void faults.push(error);
  const settings = await settingsOf(instance, {}, fault);
  const { changes } = await bindingsOf(instance, settings, fault);
  const { hookLineFaults, tokenFaults } = await import("../session/hook-lines.ts");
  faults.push(...prefixFaults(settings), ...hookLineFaults(settings.hooks), ...tokenFaults(settings.notices));
  const last = faults.sort((a, b) => Number(a.details.line ?? 0) - Number(b.details.line ?? 0)).pop();
  for (const error of faults) complain(`${error.message}\n${error.hintAt("cli")}`);
  if (last !== undefined) throw last;
  const note = bindingsNote(changes);
  if (note !== null) complain(note);
  return settings;
}

function prefixFaults(settings: LoadedSettings): WshError[] {
  try {
    parsePrefix(prefixKeyOf(settings));
    return [];
  } catch (thrown) {
    const origin = settings.originOf("prefix_key");
    const message = `${formatOrigin(origin)}: ${WshError.from(thrown).message}`;
    const place = origin.from === "file" ? { file: origin.path, line: origin.line } : {};
    return [new WshError("invalid_setting", message, { key: "prefix_key", ...place }, { cause: thrown })];
  }
}

/** The settings in which running sessions differ, one line each; empty if none does. */
async function differencesText(instance: Instance, { values }: LoadedSettings): Promise<string> {
  const lines = (await effectiveSettings(instance, false)).flatMap(({ session, answer }) => {
    const others = settingNames.filter(
      (name) => answer !== null && JSON.stringify(answer.settings[name]) !== JSON.stringify(values[name]),
    );
    const differences = others.map((name) => `${name} ${JSON.stringify(answer?.settings[name])}`).join(", ");
    return differences === "" ? [] : [`In force in session '${visible(session)}': ${visible(differences)}\n`];
  });
  return lines.join("");
}
