/** `wsh keys`: the actions of each key in every table, and each binding's origin. */
import type { Command } from "commander";
import { type Bindings, bindingRows, keyLabel, keyName } from "../../keys/bindings.ts";
import { copyModeActions, copyModeKeys } from "../../keys/copy-table.ts";
import { parsePrefix } from "../../keys/prefix.ts";
import { flatKey, KeyTables } from "../../keys/tables.ts";
import { visible } from "../../protocol/harmless-text.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, print, printJson, table } from "../print.ts";
import { bindingsNote, bindingsOf, type PersonBindings } from "../session/bindings.ts";

export function register(program: Command): void {
  program
    .command("keys")
    .description(
      "Print what keys do: after the prefix key, without it, in your own tables and in copy mode, with where each " +
        'binding comes from. Checks the table [keys] of the settings: there, "g" = "window.select to=last" binds a ' +
        'key to an operation, "x" = "none" unbinds it, and [keys.root] has the keys without the prefix.',
    )
    .option("--config <path>", "settings file to read (WSH_CONFIG)")
    .option("--json", "print each key with its operations as JSON")
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const instance = instanceOf(command);
      const settings = await settingsOf(instance);
      const bound = await bindingsOf(instance, settings);
      const key = parsePrefix(bound.prefix);
      const prefix = key?.label ?? null;
      const tables = new KeyTables(bound.changes);
      const note = bindingsNote(bound.changes);
      if (note !== null) complain(note);
      const copyKeys = copyModeKeys(settings.values.mode_keys, tables.copyModeChanges);
      const origin = originsOf(bound);
      const shownTables = [...tables.all].filter(([name]) => name !== "prefix" || prefix !== null);
      if (json === true) {
        const keys = shownTables.flatMap(([name, bindings]) =>
          [...bindings].map(([key, { operation, input, target, further, description, repeat = false }]) => ({
            key: keyLabel(key),
            table: name,
            operation,
            input,
            target,
            further,
            repeat,
            description,
            from: origin(name, key),
            changed: origin(name, key) !== "default",
          })),
        );
        const copying = Object.entries(copyKeys).flatMap(([key, action]) => {
          if (action === null) return [];
          const own = { key: keyLabel(key), table: "copy", operation: `copy.${action}`, input: {}, repeat: false };
          const from = origin("copy", key);
          return [{ ...own, description: copyModeActions[action], from, changed: from !== "default" }];
        });
        return printJson({ prefix, keys: [...keys, ...copying] });
      }
      const parts = shownTables.map(([name, bindings]) => {
        const first = name === "prefix" && key !== null && !bindings.has(keyName(key.key));
        const rows = rowsOf(bindings, (key) => origin(name, key));
        const title = name === "prefix" ? `AFTER ${prefix}` : (titles[name] ?? `IN TABLE ${name}`);
        return tableOf(title, first ? [[prefix ?? "", "detach", "default"], ...rows] : rows);
      });
      const copying = new Map(
        Object.entries(copyKeys).flatMap(([key, action]) =>
          action === null ? [] : [[key, { operation: "", input: {}, description: copyModeActions[action] }] as const],
        ),
      );
      const mode = tableOf(
        `IN COPY MODE (${settings.values.mode_keys})`,
        rowsOf(copying, (key) => origin("copy", key)),
      );
      return print([...parts, mode].join("\n"));
    });
}

const titles: Readonly<Record<string, string>> = { root: "WITHOUT THE PREFIX", copy: "IN COPY MODE, TOO" };

type Origin = "default" | "preset" | "config" | "tmux";

function originsOf({ changes, tmux, configured }: PersonBindings): (table: string, key: string) => Origin {
  return (table, key) => {
    const flat = flatKey(table, key);
    if (Object.hasOwn(tmux, flat)) return "tmux";
    return Object.hasOwn(configured, flat) ? "config" : Object.hasOwn(changes, flat) ? "preset" : "default";
  };
}

/** Keys with similar actions share a row, if they have the same origin. */
function rowsOf(bindings: Bindings, origin: (key: string) => Origin): string[][] {
  const origins = [...new Set([...bindings.keys()].map(origin))];
  return origins.flatMap((from) =>
    bindingRows(new Map([...bindings].filter(([key]) => origin(key) === from))).map(({ keys, description }) => [
      ...[keys.join(" "), description, from],
    ]),
  );
}

function tableOf(title: string, rows: readonly (readonly string[])[]): string {
  return table([["KEY", title, "FROM"], ...rows].map((row) => row.map(visible)));
}
