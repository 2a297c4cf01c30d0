/**
 * `wsh setup`: adds wsh to the configuration of an AI host, or lists the hosts found here and those set up. All
 * decisions are made in setup/; this file parses, calls and prints.
 */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { resolve } from "node:path";
import { Argument, type Command, Option } from "commander";
import { system } from "../../platform/system.ts";
import { WshError } from "../../protocol/errors.ts";
import { print, printText, table } from "../print.ts";
import { hookHosts, type OwnFiles } from "../setup/agent-hooks.ts";
import { type AiHost, aiHosts, type HostScope, type Launch, type PathInputs } from "../setup/ai-hosts.ts";
import { applyChange, describeDifference, entryIn, fileOf, planChange } from "../setup/config-change.ts";
import { applyHooks, planHooks } from "../setup/hook-change.ts";
import { type ConfigFile, placeOf } from "../setup/host-file.ts";
import { launchFor } from "../setup/mcp-command.ts";

/** Longest wait for a host's answer, in ms: hosts take a second or two to start. */
const ASK_MS = 10_000;

interface SetupOptions {
  readonly scope: HostScope;
  readonly tools?: string;
  readonly session?: string;
  readonly readOnly?: boolean;
  readonly dryRun?: boolean;
  readonly remove?: boolean;
  readonly hooks?: boolean;
  /** Global option -L. */
  readonly serverName?: string;
  /** Global option --socket. */
  readonly socket?: string;
}

export function register(program: Command): void {
  program
    .command("setup")
    .description(
      "Add wsh to an AI host's configuration. Without HOST, list the hosts found on this machine and those set up.",
    )
    .addArgument(new Argument("[host]", "the host to configure").choices(processIds))
    .addOption(
      new Option("--scope <scope>", "user: for all projects; project: a file in this directory")
        .choices(["user", "project"])
        .default("user"),
    )
    .addOption(new Option("--tools <set>", "tools to serve").choices(["core", "all", "machines"]))
    .option("--session <name>", "default session of the tools")
    .option("--read-only", "serve only read-only tools")
    .option("--dry-run", "show the change without writing it")
    .option("--hooks", "write the hooks with which the host's agent reports its state (wsh agents)")
    .option("--remove", "remove wsh from the configuration")
    .action(async (id: string | undefined, _options: unknown, command: Command) => {
      const options = command.optsWithGlobals<SetupOptions>();
      const places: PathInputs = { home: homedir(), cwd: process.cwd(), platform: system.name, env: process.env };
      const host = aiHosts.find((candidate) => candidate.id === id);
      if (options.hooks === true || (id !== undefined && host === undefined)) {
        return printText(await configureHooks(id, options, places));
      }
      await (host === undefined ? print(overview(places)) : printText(configure(host, options, places)));
    });
}

/** Hosts that support wsh's server, its hooks, or both. */
const processIds = [...new Set([...aiHosts, ...hookHosts].map((host) => ("id" in host ? host.id : host.host)))];

async function configureHooks(id: string | undefined, options: SetupOptions, places: PathInputs): Promise<string> {
  const host = hookHosts.find((candidate) => candidate.host === id);
  const withHooks = `Hosts with hooks: ${hookHosts.map((each) => each.host).join(", ")}.`;
  if (options.hooks !== true) {
    throw new WshError("invalid_request", `wsh can set up only the hooks of '${id}'`, { hint: "Add --hooks." });
  }
  if (host === undefined) {
    const what = id === undefined ? "--hooks needs a host" : `wsh has no hooks for '${id}'`;
    throw new WshError("invalid_request", what, { hint: withHooks });
  }
  if (options.scope === "project") {
    throw new WshError("invalid_request", "hooks have user scope only", { hint: "Leave out --scope." });
  }
  const isRemoving = options.remove === true;
  const target = isRemoving
    ? "nowhere"
    : host.ownFiles !== undefined && (await loadsOwnFiles(host.ownFiles))
      ? "own"
      : "merged";
  const all = planHooks(host, places, target);
  const changes = all.filter(({ kind }) => kind !== "none");
  if (changes.length === 0) {
    const places = all.filter(({ owner }) => isRemoving || (owner !== "host") === (target === "own"));
    return `${displayPath((places[0] ?? all[0])?.file)} ${isRemoving ? "contains no hooks of wsh" : "already contains the hooks"}.\n`;
  }
  if (options.dryRun === true) {
    return changes
      .map(({ kind, file, oldText, newText }) => {
        return `Would ${kind} in ${displayPath(file)}:\n${describeDifference(oldText ?? "", newText ?? "")}\n`;
      })
      .join("");
  }
  const summaries = changes.map((change) => {
    const backup = applyHooks(change);
    const backupLine = backup === undefined ? "" : `Backup: ${backup}\n`;
    return `${verbs[change.kind]} ${displayPath(change.file)}\n${backupLine}`;
  });
  const what =
    target === "own" && host.ownFiles?.kind !== "file"
      ? `It is ${host.ownFiles?.kind === "extension" ? "an extension" : "a plugin"} written by wsh.\n`
      : "";
  return `${summaries.join("")}${isRemoving ? "" : `${what}${host.advice}\n`}`;
}

const verbs: Readonly<Record<string, string>> = {
  create: "Created",
  add: "Added to",
  update: "Updated in",
  remove: "Removed from",
};

/** Whether the installed host loads our files; true for a host whose program is not found. */
async function loadsOwnFiles({ loadCheck }: OwnFiles): Promise<boolean> {
  const path = loadCheck === undefined ? null : Bun.which(loadCheck.program);
  if (loadCheck === undefined || path === null) return true;
  const child = Bun.spawn([path, ...loadCheck.args], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
    timeout: ASK_MS,
  });
  const text = await new Response(child.stdout).text();
  return (await child.exited) === 0 && loadCheck.prints.test(text);
}

/** `wsh mcp` with the options given to setup. */
function argumentsFor(options: SetupOptions): string[] {
  const named = (flag: string, value: string | undefined) => (value === undefined ? [] : [flag, value]);
  return [
    "mcp",
    ...named("-L", options.serverName === "default" ? undefined : options.serverName),
    ...named("--socket", options.socket === undefined ? undefined : resolve(options.socket)),
    ...named("--tools", options.tools),
    ...named("--session", options.session),
    ...(options.readOnly === true ? ["--read-only"] : []),
  ];
}

function configure(host: AiHost, options: SetupOptions, places: PathInputs): string {
  const { command, args } = launchFor(options.scope);
  const launch: Launch = { command, args: [...args, ...argumentsFor(options)] };
  const change = planChange(host, options.scope, places, options.remove === true ? undefined : launch);
  if (change.kind === "none") {
    const state = options.remove === true ? "does not know wsh" : "is already set up";
    return `${host.title} ${state}: ${displayPath(change.file)}\n`;
  }
  if (options.dryRun === true) {
    return `Would ${change.kind} in ${displayPath(change.file)}:\n${describeDifference(change.oldText ?? "", change.newText)}\n`;
  }
  const backup = applyChange(change);
  const verb = verbs[change.kind];
  const backupLine = backup === undefined ? "" : `Backup: ${backup}\n`;
  return `${verb} ${displayPath(change.file)}\n${backupLine}${host.advice}\n`;
}

/** A link is never followed silently. */
function displayPath(place: ConfigFile | undefined): string {
  if (place === undefined) return "No file";
  const { file, target } = place;
  return file === target ? file : `${file} (in fact ${target})`;
}

function overview(places: PathInputs): string {
  const rows = aiHosts.map((host) => [
    host.id,
    host.title,
    isInstalled(host, places) ? "found" : "-",
    stateIn(host, "user", places),
    stateIn(host, "project", places),
  ]);
  return `${table([["HOST", "NAME", "HERE", "USER", "PROJECT"], ...rows])}\nwsh setup HOST writes it; --dry-run shows the change first.\n`;
}

function isInstalled(host: AiHost, places: PathInputs): boolean {
  return host.traces(places).some((path) => existsSync(path)) || host.programs.some((name) => Bun.which(name) !== null);
}

function stateIn(host: AiHost, scope: HostScope, places: PathInputs): string {
  const file = fileOf(host, scope, places);
  if (file === undefined) return "n/a";
  try {
    return entryIn(host, placeOf(file, scope, places.cwd)) === undefined ? "-" : "wsh";
  } catch (thrown) {
    const { code } = WshError.from(thrown);
    return code === "invalid_setting" || code === "unsafe_path" ? "unreadable" : "-";
  }
}
