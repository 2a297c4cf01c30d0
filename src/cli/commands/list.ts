/** `wsh list`: shows the sessions of the instance, and the programs in them. */
import type { Command } from "commander";
import type { Instance } from "../../instance/paths.ts";
import { activePane } from "../../protocol/active-pane.ts";
import { agentWords } from "../../protocol/agent.ts";
import { isRefusal, type WshError } from "../../protocol/errors.ts";
import { visibleCell } from "../../protocol/harmless-text.ts";
import { paneId } from "../../protocol/names.ts";
import { type CrashInfo, commandNow, type SessionInfo } from "../../protocol/session.ts";
import { listSessions } from "../../registry/registry.ts";
import { collect } from "../arguments.ts";
import { formatAge, formatDuration } from "../history/columns.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson, printText, shorten, table } from "../print.ts";
import { isOrphan } from "../session/orphans.ts";
import { asJson, findAll, isEnded, type ListedSession } from "../session/session-list.ts";

const columns = ["NAME", "PID", "COMMAND", "SIZE", "CLIENTS", "STATE", "AGENT", "VIEWERS", "WORKTREE", "ENDS", "TAGS"];
/** Columns shown only if a session has a value. */
const rare: ReadonlySet<string> = new Set(["AGENT", "VIEWERS", "WORKTREE", "ENDS"]);
/** Longest command in the table, in cells. */
const COMMAND_CELLS = 40;
/** Longest cell of another machine's session, whose texts are not trusted. */
const REMOTE_CELLS = 200;

interface ListOptions {
  readonly all?: boolean;
  readonly json?: boolean;
  readonly allMachines?: boolean;
  readonly server?: string;
  readonly names?: boolean;
  readonly orphans?: boolean;
  readonly tag?: readonly string[];
}

export function register(program: Command): void {
  program
    .command("list")
    .description("Show the sessions of the instance, oldest first.")
    .option("-a, --all", "include ended sessions that can still be read")
    .option("--tag <tag>", "only sessions with the tag (repeatable)", collect)
    .option("--all-machines", "include sessions of other machines (wsh servers)")
    .option("--server <name>", "only sessions of this machine")
    .option("--orphans", "only unused sessions of agents and programs, which 'wsh prune' would end")
    .option("--json", "print all details as JSON")
    .option("--names", "print only the names")
    .action(async ({ all, json, names, orphans, tag = [], allMachines, server }: ListOptions, command: Command) => {
      const instance = instanceOf(command);
      const isRemote = allMachines === true || server !== undefined;
      if (names === true && !isRemote && orphans !== true && tag.length === 0)
        return printText(namesOf(instance, all === true));
      const listed: ListedAnywhere[] = server === undefined ? await findAll(instance) : [];
      if (isRemote) listed.push(...(await findRemote(instance, server ?? null)));
      const shown = listed.filter(
        (one) =>
          (all === true || !isEnded(one)) &&
          (orphans !== true || ("entry" in one && "info" in one && isOrphan(one.info))) &&
          (tag.length === 0 || ("info" in one && tag.some((wanted) => one.info.tags.includes(wanted)))),
      );
      if (names === true) return printText(shown.map((one) => `${nameOf(one)}\n`).join(""));
      if (json === true) return printJson(shown.map((one) => ("machine" in one ? one.info : asJson(one))));
      if (shown.length === 0) return printText("No active sessions.\n");
      const rows = shown.map(rowOfListed);
      const isShown = columns.map((column, index) => !rare.has(column) || rows.some((row) => row[index] !== "-"));
      return print(table([columns, ...rows].map((row) => row.filter((_, index) => isShown[index]))));
    });
}

/** Names of the sessions here, from the registry only: shell completion needs an immediate answer. */
function namesOf(instance: Instance, all: boolean): string {
  const entries = listSessions(instance).filter((entry) => entry.name !== null && (all || !entry.ended));
  return entries.map(({ name }) => `${name}\n`).join("");
}

/** A session here, or one of another machine. */
type ListedAnywhere = ListedSession | { readonly machine: string; readonly info: SessionInfo };

/** Lists the sessions of other machines, and complains about machines that do not answer. */
async function findRemote(instance: Instance, server: string | null): Promise<ListedAnywhere[]> {
  const { remoteSessions } = await import("../session/machine-list.ts");
  const answers = await remoteSessions(instance, server);
  for (const { machine, error } of answers) {
    if (error === null) continue;
    complain(troubleWords(machine, error));
    process.exitCode = 1;
  }
  return answers.flatMap(({ machine, sessions }) => sessions.map((info) => ({ machine, info })));
}

/** A machine that refuses needs other advice than one that is gone. */
function troubleWords(machine: string, trouble: WshError): string {
  const { code, message, status } = trouble;
  const lastKnownText = "its last known sessions are shown";
  // The request only reads: its outcome does not matter.
  if (code === "outcome_unknown") return `the list of machine '${machine}' is invalid; ${lastKnownText}: ${message}`;
  if (!isRefusal(status)) return `machine '${machine}' does not answer; ${lastKnownText}: ${message}`;
  return `machine '${machine}' refuses to list its sessions; ${lastKnownText}: ${message}\n${trouble.hintAt("cli")}`;
}

function nameOf(one: ListedAnywhere): string {
  return "info" in one ? one.info.name : (one.entry.name ?? paneId(one.entry.id));
}

function rowOfListed(one: ListedAnywhere): string[] {
  if ("machine" in one) return rowOf(one.info).map((cell) => shorten(cell, REMOTE_CELLS));
  const { entry } = one;
  if ("error" in one) {
    const state = one.error.code === "version_mismatch" ? "another version" : "unresponsive";
    return [entry.name ?? paneId(entry.id), "-", "-", "-", "-", state, "-", "-", "-", "-", ""];
  }
  return rowOf(one.info);
}

/** A row about one pane: the active one, as the page lists it. */
function rowOf(info: SessionInfo): string[] {
  const pane = (info.running ? activePane(info) : undefined) ?? info;
  return [
    info.running || info.crashed !== undefined ? info.name : `${info.name} (${info.id})`,
    pane.pid === null ? "-" : String(pane.pid),
    shorten(commandNow(pane), COMMAND_CELLS),
    `${info.cols}x${info.rows}`,
    String(info.attached),
    info.as_of !== undefined
      ? `unreachable: seen ${formatAge(info.as_of, Date.now())}`
      : info.crashed !== undefined
        ? crashWords(info.crashed)
        : info.running
          ? pane.state
          : `exited: ${info.signal ?? info.exit_code ?? "?"}`,
    agentCell(info),
    (info.viewers ?? []).map(({ name }) => visibleCell(name)).join(", ") || "-",
    info.worktree === undefined ? "-" : visibleCell(info.worktree.branch),
    info.ends === undefined ? "-" : `in ${formatDuration(info.ends.at - Date.now())}: ${info.ends.why}`,
    info.tags.join(", "),
  ];
}

/** The time of the last checkpoint, and the crash's reason. */
function crashWords({ saved_at, why }: CrashInfo): string {
  const since = formatAge(saved_at, Date.now());
  return `crashed: ${why}, saved ${/^\d+[mhd]$/.test(since) ? `${since} ago` : since}`;
}

function agentCell({ agent }: SessionInfo): string {
  return agent === undefined ? "-" : `${agent.name}: ${agentWords(agent)}`;
}
