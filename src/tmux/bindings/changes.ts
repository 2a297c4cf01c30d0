/** Converts the bindings of `bind-key` and `unbind-key` into changes of wsh's key tables. Pure. */
import { type Binding, type BoundCall, defaultBindings } from "../../keys/bindings.ts";
import { copyModeKeys, type ModeKeys } from "../../keys/copy-table.ts";
import { flatKey, isTableName, type KeyChanges, splitFlat } from "../../keys/tables.ts";
import { TmuxError } from "../error.ts";
import { quotedValue } from "../options/options.ts";
import type { BoundKey, BoundTable } from "../state.ts";
import { copyAction } from "./copy-commands.ts";

/** tmux's copy mode tables, with the value of mode_keys under which each applies. */
const copyTables: Readonly<Record<string, ModeKeys>> = { "copy-mode": "emacs", "copy-mode-vi": "vi" };

export function isCopyTable(name: string): boolean {
  return Object.hasOwn(copyTables, name);
}

/** @throws TmuxError for a name that a table of wsh cannot have */
export function requireTableName(name: string): void {
  if (isCopyTable(name) || (isTableName(name) && name !== "copy" && !(name in Object.prototype))) return;
  throw new TmuxError(`a table name in wsh consists of 2 to 32 lower-case letters, digits, - and _: ${name}`);
}

/** The commands of a key, as tmux prints them. */
export function printedCommands(commands: readonly (readonly string[])[], separator = " \\; "): string {
  return commands
    .map((words) => words.map((word, i) => (i === 0 ? word : quotedValue(word))).join(" "))
    .join(separator);
}

/**
 * All changes to the tables of the preset and the settings.
 * @param before the tables of preset and settings; an emptied table keeps none of their keys
 */
export function tmuxChanges(
  tables: Readonly<Record<string, BoundTable>>,
  { modeKeys, before }: { readonly modeKeys: ModeKeys; readonly before: KeyChanges },
): KeyChanges {
  const changes: Record<string, Binding | null> = {};
  for (const [name, { cleared, keys }] of Object.entries(tables)) {
    if (isCopyTable(name) && copyTables[name] !== modeKeys) continue;
    const table = isCopyTable(name) ? "copy" : name;
    if (cleared) for (const key of keysBefore(table, modeKeys, before)) changes[flatKey(table, key)] = null;
    for (const [key, bound] of Object.entries(keys)) changes[flatKey(table, key)] = bound && bindingOf(bound);
  }
  return changes;
}

function keysBefore(table: string, modeKeys: ModeKeys, before: KeyChanges): readonly string[] {
  const listedKeys =
    table === "prefix" ? [...defaultBindings.keys()] : table === "copy" ? Object.keys(copyModeKeys(modeKeys)) : [];
  const changed = Object.keys(before)
    .map(splitFlat)
    .filter((each) => each.table === table);
  return [...listedKeys, ...changed.map(({ key }) => key)];
}

/**
 * An action of the terminal runs in the terminal. The commands between actions form one program, started from its words
 * without a shell.
 */
function bindingOf({ commands, note, repeat }: BoundKey): Binding {
  const calls: { call: BoundCall; line: string[] | null }[] = [];
  for (const words of commands) {
    const viewCall = viewCallOf(words);
    const line = calls.at(-1)?.line;
    if (viewCall !== null) calls.push({ call: viewCall, line: null });
    else if (line !== null && line !== undefined) line.push(";", ...words.map(escaped));
    else {
      const run = ["wsh", "tmux", ...words.map(escaped)];
      calls.push({ call: { operation: "view.run", input: { run } }, line: run });
    }
  }
  const [first = { operation: "view.redraw", input: {} }, ...further] = calls.map(({ call }) => call);
  const description = (note ?? printedCommands(commands, "; ")).slice(0, 256);
  return { ...first, ...(further.length === 0 ? {} : { further }), description, ...(repeat ? { repeat } : {}) };
}

/** A word that ends with `;` would end the command. */
function escaped(word: string): string {
  return word.endsWith(";") ? `${word.slice(0, -1)}\\;` : word;
}

const viewOperations: Readonly<Record<string, string>> = {
  "send-prefix": "view.send_prefix",
  "detach-client": "view.detach",
  "copy-mode": "view.copy_mode",
};

function viewCallOf(words: readonly string[]): BoundCall | null {
  const [name = "", flag, table, ...rest] = words;
  if (name === "switch-client" && flag === "-T" && table !== undefined && rest.length === 0)
    return { operation: "view.table", input: { table } };
  const operation = words.length === 1 ? viewOperations[name] : undefined;
  if (operation !== undefined) return { operation, input: {} };
  const action = copyAction(words);
  return action === null ? null : { operation: `copy.${action}`, input: {} };
}
