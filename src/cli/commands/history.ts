/**
 * `wsh history`: finds commands that ran in any session. On a terminal it opens an interactive filter
 * (history/filter.ts); otherwise, or with --list or --json, it prints them.
 */

import fs from "node:fs";
import { resolve } from "node:path";
import type { Command } from "commander";
import { chosenOf } from "../../history/filters.ts";
import { type HistoryPlaces, historyPlaces, retentionOf } from "../../history/paths.ts";
import type { History } from "../../history/queries.ts";
import { MAX_COMMAND } from "../../history/record.ts";
import type { Retention } from "../../history/retention.ts";
import { hostname } from "../../instance/hostname.ts";
import type { Instance } from "../../instance/paths.ts";
import {
  type HistoryCommand,
  HistoryDeleteSchema,
  type HistoryPage,
  type HistorySearchInput,
  HistorySearchSchema,
} from "../../operations/history.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { localMachine } from "../../protocol/machines.ts";
import { parsePlace, parseTarget } from "../../protocol/names.ts";
import { parse } from "../../protocol/parse.ts";
import { plural } from "../../protocol/plural.ts";
import { findSession } from "../../registry/registry.ts";
import { loadSettings } from "../../settings/settings.ts";
import { requireOptions, UsageError, wholeNumber } from "../arguments.ts";
import { confirmed } from "../confirm.ts";
import { formatAge, formatDuration, formatEnd } from "../history/columns.ts";
import type { RemoteHistory } from "../history/machines.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson, printText, shorten, table } from "../print.ts";
import { requirePerson } from "../session/client.ts";
import { localConcealment } from "../session/concealed.ts";

/** Fewest cells of a command on a terminal, besides its heading. */
const COMMAND_CELLS = 32;

interface Filters {
  readonly session?: string;
  readonly cwd?: string;
  readonly here?: boolean;
  readonly failed?: boolean;
  readonly exit?: number;
  readonly since?: string;
  readonly until?: string;
  readonly longer?: string;
  readonly by?: string;
  readonly server?: string;
}

interface HistoryOptions extends Filters {
  readonly allMachines?: boolean;
  readonly limit?: number;
  readonly output?: boolean;
  readonly list?: boolean;
  readonly pick?: boolean;
  readonly json?: boolean;
  readonly import?: boolean | string[];
  readonly agent?: boolean;
}

interface DeleteOptions extends Filters {
  readonly id?: number;
  readonly all?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const history = withFilters(program.command("history [words...]"))
    .description(
      "Search the commands of all sessions, running or ended, by word prefixes. On a terminal: type to filter, " +
        "Enter puts the line at the session's prompt without running it.",
    )
    .option("-n, --limit <n>", "maximum number of commands (default: 20)", wholeNumber(1))
    .option("--output", "include their output (history = output)")
    .option("--list", "print a list, even on a terminal")
    .option("--all-machines", "print a list, including other machines")
    .option("--pick", "select on the terminal and print the line, for a key binding of your shell")
    .option("--json", "print the page as JSON")
    .option("--agent", "instead: conversations of AI agents; with words or --session, their messages")
    .option("--import [sources...]", "import the histories of bash, zsh, fish and atuin: those found, or SOURCE[=FILE]")
    .action((words: string[], options: HistoryOptions, command: Command) => show(words, options, command));
  withFilters(history.command("delete [words...]"))
    .description("Delete commands and their output from the history.")
    .option("--id <id>", "one command, by its id in --json", wholeNumber(0))
    .option("--all", "everything")
    .option("-y, --yes", "do not ask")
    .option("--json", "print the number as JSON")
    .action((words: string[], options: DeleteOptions, command: Command) => remove(words, options, command));
}

function withFilters(command: Command): Command {
  return command
    .option("--session <name>", "only commands of this session")
    .option("--cwd <dir>", "only commands run in this directory or below")
    .option("--here", "only commands run here or below")
    .option("--server <name>", "commands of this machine (wsh servers)")
    .option("--failed", "only commands that failed or were killed")
    .option("--exit <code>", "only commands with this exit code", wholeNumber(0))
    .option("--since <when>", "not before: 90m, 2d (ago), 2026-01-31")
    .option("--until <when>", "before this time")
    .option("--longer <duration>", "only commands that took at least this long: 2m")
    .option("--by <who>", "person, agent or import");
}

function filtersOf(words: readonly string[], options: Filters): Record<string, unknown> {
  requireOptions([{ option: "here", excludes: ["cwd"] }], options);
  const { failed, since, until, by } = options;
  const session = options.session === undefined ? undefined : parsePlace(options.session).target;
  const cwd = options.here === true ? process.cwd() : options.cwd === undefined ? undefined : resolve(options.cwd);
  const filters = {
    query: words.length === 0 ? undefined : words.join(" "),
    session,
    cwd,
    failed,
    since,
    until,
    by,
    exit_code: options.exit,
    min_duration: options.longer,
  };
  return Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== undefined));
}

async function show(words: readonly string[], options: HistoryOptions, command: Command): Promise<void> {
  const instance = instanceOf(command);
  if (options.agent === true) {
    const { showConversations } = await import("../history/conversations.ts");
    return showConversations(instance, words, options);
  }
  const paths = placesOf(instance);
  const filters = filtersOf(words, options);
  const machine = machineIn(instance, options);
  const isRemote = machine !== null || options.allMachines === true;
  if (options.import !== undefined) {
    if (isRemote) throw new UsageError("--import works on this machine only");
    return importAll(paths, options.import, options.json === true);
  }
  const { History } = await import("../../history/queries.ts");
  using history = new History(paths, paths.retention, await localConcealment(instance));
  const { list, json, output, limit } = options;
  const isList = isRemote || list === true || json === true || output === true || limit !== undefined;
  const isPick = options.pick === true;
  if (isPick && isList) throw new UsageError("--pick cannot be used with list options");
  if (isPick && !(process.stdin.isTTY && process.stderr.isTTY)) {
    throw new UsageError("--pick needs a terminal on standard input and standard error");
  }
  if (isPick || (!isList && process.stdin.isTTY && process.stdout.isTTY)) {
    const { filterHistory, pickFromHistory } = await import("../history/filter.ts");
    const { query, ...rest } = filters;
    const choose = isPick ? pickFromHistory : filterHistory;
    return await choose(history, parse(HistorySearchSchema, rest), typeof query === "string" ? query : "");
  }
  const search = parse(HistorySearchSchema, {
    ...filters,
    limit: limit ?? 20,
    output: output ?? false,
  });
  const remoteHistory = machine === null ? null : await openRemoteHistory(instance, machine);
  const page =
    options.allMachines === true
      ? await everywhere(instance, history, search)
      : await (remoteHistory ?? history).search(search);
  if ((page.unanswered ?? []).length > 0) process.exitCode = 1;
  if (page.commands.length === 0 && search.session !== undefined && options.allMachines !== true) {
    const { session } = search;
    if (remoteHistory === null) await requireKnown(history, session, () => requireLocalSession(instance, session));
    else await requireKnown(remoteHistory, session, () => remoteHistory.requireSession(session));
  }
  if (json === true) return printJson(page);
  for (const warning of page.warnings ?? []) complain(warning);
  for (const { server, message } of page.unanswered ?? []) {
    complain(`the commands of machine '${server}' are missing: ${message}`);
  }
  if (page.commands.length === 0) return printText("No commands.\n");
  if (output === true) await printText(page.commands.map(withOutput).join("\n"));
  else await printTable(page.commands);
  if (page.more && process.stdout.isTTY) complain("more commands match: -n prints more");
}

/**
 * An ended session is found by its commands, a running one by its name.
 * @param find @throws WshError session_not_found
 */
async function requireKnown(
  history: History | RemoteHistory,
  session: string,
  find: () => void | Promise<void>,
): Promise<void> {
  const { commands } = await history.search(searchOf({ session, limit: 1 }));
  if (commands.length === 0) await find();
}

/** @throws WshError session_not_found */
function requireLocalSession(instance: Instance, session: string): void {
  try {
    findSession(instance, parseTarget(session));
  } catch (thrown) {
    throw new WshError(
      "session_not_found",
      `no session '${session}' in instance '${instance.name}', and no commands of one`,
      {},
      { cause: thrown },
    );
  }
}

/** The machine whose history to search; null: this one's, or all. @throws UsageError */
function machineIn(instance: Instance, options: HistoryOptions): string | null {
  const { server, session, allMachines } = options;
  const before = session === undefined ? null : parsePlace(session).machine;
  const named = server ?? before;
  if (server !== undefined && before !== null && server !== before) {
    throw new UsageError(`'${session}' is on '${before}', and --server is '${server}'`);
  }
  requireOptions([{ option: "allMachines", excludes: ["named"] }], { allMachines, named }, { named: "a machine" });
  const { values } = loadSettings(instance, { env: process.env, tolerant: true });
  return named === localMachine || named === hostname(values.hostname) ? null : named;
}

async function everywhere(instance: Instance, here: History, search: HistorySearchInput): Promise<HistoryPage> {
  const { searchEverywhere } = await import("../history/machines.ts");
  return searchEverywhere(instance, here, search);
}

/** Prints the newest commands first. */
async function printTable(commands: readonly HistoryCommand[]): Promise<void> {
  const [head = "", ...rows] = table([["WHEN", "TOOK", "EXIT", "SESSION", "COMMAND"], ...commands.map(row)]).split(
    "\n",
  );
  // On a terminal a multi-line command takes one line, or two if narrow; elsewhere it is printed whole.
  const least = Bun.stringWidth(head) + COMMAND_CELLS;
  const cells = process.stdout.isTTY ? Math.max(process.stdout.columns || 80, least) : Number.POSITIVE_INFINITY;
  await print([head, ...rows.map((line) => shorten(line, cells))].join("\n"));
}

function row(command: HistoryCommand): string[] {
  const { started_at, duration_ms, session, server } = command;
  return [
    formatAge(started_at, Date.now()),
    formatDuration(duration_ms),
    formatEnd(command),
    session ?? (server === undefined ? "-" : `${server}/-`),
    `${command.command.replaceAll("\n", "⏎")}${command.command.length < MAX_COMMAND ? "" : "…"}`,
  ];
}

function withOutput(command: HistoryCommand): string {
  const { output, cwd } = command;
  const head = `${formatAge(command.started_at, Date.now())}  exit ${formatEnd(command)}  ${cwd ?? ""}`;
  const printed = output === null || output === undefined ? "(output not kept)" : output;
  return `# ${head.trimEnd()}\n$ ${command.command}\n${printed}\n`;
}

async function remove(words: readonly string[], options: DeleteOptions, command: Command): Promise<void> {
  // The parent command has the same options, and receives those before `delete`.
  const filterOptions: DeleteOptions & HistoryOptions = { ...command.parent?.opts<Filters>(), ...options };
  if (filterOptions.allMachines === true) throw new UsageError("commands can be deleted on only one machine at a time");
  const filters = filtersOf(words, filterOptions);
  const { id, all } = filterOptions;
  if (id === undefined && all !== true && Object.keys(filters).length === 0) {
    throw new UsageError("no commands selected", "Give words, a filter, --id or --all.");
  }
  const input = parse(HistoryDeleteSchema, { ...filters, ...defined({ id }), all: all ?? false });
  chosenOf(input);
  const instance = instanceOf(command);
  await requirePerson(instance, "wsh history delete");
  const machine = machineIn(instance, filterOptions);
  using history = machine === null ? await localHistory(instance) : await openRemoteHistory(instance, machine);
  if (filterOptions.yes !== true) {
    const what = await describeDeletion(history, filters, filterOptions);
    const where = machine === null ? "" : ` of machine '${machine}'`;
    if (!(await confirmed(`Delete ${what}${where}?`))) return complain("nothing was deleted");
  }
  const answer = await history.delete(input);
  if (filterOptions.json === true) return printJson(answer);
  for (const warning of answer.warnings ?? []) complain(warning);
  return printText(`Deleted ${plural(answer.deleted, "command")}.\n`);
}

async function localHistory(instance: Instance): Promise<History> {
  const { History } = await import("../../history/queries.ts");
  const places = placesOf(instance);
  return new History(places, places.retention);
}

async function openRemoteHistory(instance: Instance, machine: string): Promise<RemoteHistory> {
  const { RemoteHistory } = await import("../history/machines.ts");
  return new RemoteHistory(instance, machine);
}

async function describeDeletion(
  history: History | RemoteHistory,
  filters: Record<string, unknown>,
  { id, all }: DeleteOptions,
): Promise<string> {
  if (id !== undefined) return `command ${id}`;
  if (all === true && Object.keys(filters).length === 0) return "the whole history";
  const { commands, more } = await history.search(searchOf({ ...filters, limit: 1_000 }));
  return `${more ? "more than " : ""}${plural(commands.length, "command")}`;
}

function searchOf(filters: Record<string, unknown>) {
  return parse(HistorySearchSchema, filters);
}

async function importAll(places: Places, chosen: true | string[] | boolean, json: boolean): Promise<void> {
  const { findImports, importFrom } = await import("../history/import.ts");
  const { History } = await import("../../history/queries.ts");
  const files = findImports(Array.isArray(chosen) ? chosen : [], process.env);
  using history = new History(places, places.retention);
  const results = files.map((file) => importFrom(history, file));
  if (json) return printJson(results);
  if (results.length === 0) return printText("No history of bash, zsh, fish or atuin found.\n");
  for (const { source, path, commands, imported, error } of results) {
    if (error !== undefined) complain(`${source}: ${path} cannot be read: ${error}`);
    else await printText(`${source}: ${imported} of ${commands} commands are new (${path})\n`);
  }
  if (results.some(({ error }) => error !== undefined)) process.exitCode = 1;
}

interface Places extends HistoryPlaces {
  readonly retention: Retention;
}

function placesOf(instance: Instance): Places {
  const { values } = loadSettings(instance, { env: process.env, tolerant: true });
  const places = historyPlaces(instance);
  if (values.history === "off" && !fs.existsSync(places.journals)) {
    complain("the history is off (setting history)");
  }
  return { ...places, retention: retentionOf(values) };
}
