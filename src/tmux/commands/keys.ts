/** Commands on key bindings: bind, unbind, list. Attached terminals use these bindings in preference to wsh's own. */
import { defaultBindings } from "../../keys/bindings.ts";
import { bindingName } from "../../keys/configured.ts";
import { parseKeyName } from "../../keys/parse-name.ts";
import { tmuxPresetFor } from "../../keys/tmux-preset.ts";
import { defined } from "../../protocol/defined.ts";
import { isCopyTable, printedCommands, requireTableName } from "../bindings/changes.ts";
import { copyAction } from "../bindings/copy-commands.ts";
import { boundName, byKey, tmuxName } from "../bindings/key-names.ts";
import { TmuxError } from "../error.ts";
import { quotedValue } from "../options/options.ts";
import type { Arguments } from "../parse/arguments.ts";
import { splitWords } from "../parse/commands.ts";
import type { Run } from "../run.ts";
import type { BoundKey, BoundTable, State } from "../state.ts";
import { type Command, command } from "./command.ts";
import { checkText } from "./shell.ts";

export const keyCommands: readonly Command[] = [
  command("bind-key bind", "nrN:T:", [1, null], "[-nr] [-T key-table] [-N note] key [command [arguments]]", bind),
  command("unbind-key unbind", "anqT:", [0, 1], "[-anq] [-T key-table] key", unbind),
  {
    ...command("list-keys lsk", "1aNP:T:", [0, 1], "[-1aN] [-P prefix-string] [-T key-table] [key]", list),
    needsNoSession: true,
  },
];

/** Tables that exist without any tmux binding. */
const builtinTables: readonly string[] = ["prefix", "root", "copy-mode", "copy-mode-vi"];

export function hasTable({ tables }: State, name: string): boolean {
  return builtinTables.includes(name) || tables[name] !== undefined;
}

function tableOf(args: Arguments): string {
  return args.get("T") ?? (args.has("n") ? "root" : "prefix");
}

function tableIn(tables: State["tables"], name: string): BoundTable {
  const table = tables[name] ?? { cleared: false, keys: {} };
  tables[name] = table;
  return table;
}

/** @throws WshError access_denied for an agent without that right */
async function change(run: Run, command: string, changed: (tables: State["tables"]) => void): Promise<void> {
  run.backend.requirePerson(command);
  await run.change(({ tables }) => changed(tables));
  run.hasNewKeys = true;
}

async function bind(run: Run, args: Arguments): Promise<void> {
  const key = boundName(args.word(0) ?? "");
  const name = tableOf(args);
  const commands = await commandsOf(run, args.words.slice(1));
  requireTableName(name);
  if (isCopyTable(name)) requireCopies(commands);
  const note = args.get("N");
  await change(run, "bind-key", (tables) => {
    const { keys } = tableIn(tables, name);
    const before = keys[key];
    // Without a command, bind-key sets the note of a bound key.
    const bound: BoundKey = { commands, repeat: args.has("r"), ...defined({ note }) };
    if (commands.length > 0) keys[key] = bound;
    else if (before !== undefined && before !== null && note !== undefined) before.note = note;
  });
}

/** @throws TmuxError for an unknown or invalid command */
async function commandsOf(run: Run, words: readonly string[]): Promise<string[][]> {
  const [only, ...rest] = words;
  if (only === undefined) return [];
  const all = rest.length === 0 ? await checkText(run, only).catch(withoutLine) : splitWords(words);
  return all.map((each) => run.canonical(each));
}

/** Removes the line number from an error: a binding is one line. */
function withoutLine(thrown: unknown): never {
  throw thrown instanceof TmuxError ? new TmuxError(thrown.message.replace(/^\d+: /, "")) : thrown;
}

/** @throws TmuxError for an action that copy mode lacks */
function requireCopies(commands: readonly (readonly string[])[]): void {
  const actions = commands.filter((words) => copyAction(words) !== null);
  if (actions.length > 0 && commands.length > 1)
    throw new TmuxError(`a key of copy mode in wsh has one command: ${printedCommands(commands)}`);
}

async function unbind(run: Run, args: Arguments): Promise<void> {
  const given = args.word(0);
  const name = tableOf(args);
  try {
    const { state } = await run.load();
    if (args.has("a") && given !== undefined) throw new TmuxError("key given with -a");
    if (!args.has("a") && given === undefined) throw new TmuxError("missing key");
    const key = given === undefined ? null : boundName(given);
    if ((args.has("a") || args.has("T")) && !hasTable(state, name)) throw new TmuxError(`table ${name} doesn't exist`);
    await change(run, "unbind-key", (tables) => {
      if (key !== null) tableIn(tables, name).keys[key] = null;
      else if (builtinTables.includes(name)) tables[name] = { cleared: true, keys: {} };
      else delete tables[name];
    });
  } catch (thrown) {
    if (!args.has("q") || !(thrown instanceof TmuxError)) throw thrown;
  }
}

async function list(run: Run, args: Arguments): Promise<void> {
  const given = args.word(0);
  const only = given === undefined ? null : listedName(given);
  const { tables } = run.backend.readState();
  const tableName = args.get("T");
  if (tableName !== undefined && !hasTable(run.backend.readState(), tableName))
    throw new TmuxError(`table ${tableName} doesn't exist`);
  const lines = args.has("N") ? noteLines(run, args, only) : bindings(tables, tableName ?? null, only);
  if (only !== null && lines.length === 0) throw new TmuxError(`unknown key: ${given}`);
  for (const line of args.has("1") && args.has("N") ? lines.slice(0, 1) : lines) await run.print(line);
}

function listedName(given: string): string {
  try {
    return boundName(given);
  } catch {
    throw new TmuxError(`invalid key: ${given}`);
  }
}

/** The bindings as the tmux commands that create them. */
function bindings(tables: State["tables"], wanted: string | null, only: string | null): readonly string[] {
  const rows = Object.keys(tables)
    .filter((table) => wanted === null || table === wanted)
    .toSorted()
    .flatMap((table) => boundIn(tables[table]).map(([key, bound]) => ({ table, key, bound })))
    .filter(({ key }) => only === null || key === only);
  const anyRepeats = rows.some(({ bound }) => bound.repeat);
  const widest = (texts: readonly string[]): number => Math.max(0, ...texts.map((text) => text.length));
  const shown = (key: string): string => quotedValue(tmuxName(key));
  const [tableWidth, keyWidth] = [widest(rows.map(({ table }) => table)), widest(rows.map(({ key }) => shown(key)))];
  return rows.map(({ table, key, bound }) => {
    const repeats = bound.repeat ? "-r " : anyRepeats ? "   " : "";
    const at = `${table.padEnd(tableWidth)} ${shown(key).padEnd(keyWidth)}`;
    return `bind-key ${repeats}-T ${at} ${printedCommands(bound.commands)}`;
  });
}

function boundIn(table: BoundTable | undefined): readonly (readonly [string, BoundKey])[] {
  return Object.entries(table?.keys ?? {})
    .flatMap(([key, bound]) => (bound === null ? [] : [[key, bound] as const]))
    .toSorted(([a], [b]) => byKey(a, b));
}

/** Keys with their notes; wsh's own bindings have notes. */
function noteLines(run: Run, args: Arguments, only: string | null): readonly string[] {
  const { tables } = run.backend.readState();
  const { prefix, isPreset, configured } = run.backend.keySettings();
  const tableName = args.get("T");
  const prefixKey = prefix === "none" ? null : ownName(prefix);
  const start = args.get("P") ?? (tableName === undefined && prefixKey !== null ? `${tmuxName(prefixKey)} ` : "");
  let width = 0;
  const parts = (tableName === undefined ? ["root", "prefix"] : [tableName]).map((name) => {
    const notesByKey = new Map<string, string>();
    if (name === "prefix" && tables.prefix?.cleared !== true) {
      for (const [key, { description }] of defaultBindings) notesByKey.set(key, description);
      if (isPreset)
        for (const [key, bound] of Object.entries(tmuxPresetFor(prefixKey)))
          if (bound !== null) notesByKey.set(key, bound.description);
    }
    if (tables[name]?.cleared !== true)
      for (const { table = "prefix", key, value } of configured) {
        const bound = ownName(key);
        if (table !== name || bound === null) continue;
        if (value === "none") notesByKey.delete(bound);
        else notesByKey.set(bound, typeof value === "string" ? value : JSON.stringify(value));
      }
    for (const [key, bound] of Object.entries(tables[name]?.keys ?? {})) {
      notesByKey.delete(key);
      // As in tmux, keys without a note count for the width of the column.
      if (bound !== null && (only === null || key === only)) width = Math.max(width, tmuxName(key).length);
      const note = bound?.note ?? (bound !== null && args.has("a") ? printedCommands(bound.commands) : undefined);
      if (note !== undefined) notesByKey.set(key, note);
    }
    const rows = [...notesByKey].filter(([key]) => only === null || key === only).toSorted(([a], [b]) => byKey(a, b));
    return { start: name === "root" && tableName === undefined && !args.has("P") ? "" : start, rows };
  });
  width = Math.max(width, ...parts.flatMap(({ rows }) => rows.map(([key]) => tmuxName(key).length)));
  if (tableName === undefined) width++;
  return parts.flatMap(({ start, rows }) => rows.map(([key, note]) => `${start}${tmuxName(key).padEnd(width)}${note}`));
}

/** The key in the notation of the settings. */
function ownName(key: string): string | null {
  try {
    return bindingName(parseKeyName(key));
  } catch {
    return null;
  }
}
