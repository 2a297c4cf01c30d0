/** `wsh grant`: lends a sandbox some rights, at a socket of its own (docs/grants.md). */
import { resolve } from "node:path";
import type { Command } from "commander";
import { exitCode } from "../../attach/outcome.ts";
import type { Instance } from "../../instance/paths.ts";
import { actingFor } from "../../platform/child-limits.ts";
import { canTypeIntoTerminal } from "../../platform/input-insertion.ts";
import { hideMemory } from "../../platform/undumpable.ts";
import { agentNamePattern } from "../../protocol/agent.ts";
import { GRANT_VARIABLE, type GrantRight, grantRights } from "../../protocol/grants.ts";
import { plainWords } from "../../shell/resumed-line.ts";
import { collect, UsageError } from "../arguments.ts";
import { Broker } from "../grant/broker.ts";
import { type GrantedPane, isOfWsh } from "../grant/rules.ts";
import { instanceOf, warn } from "../instance.ts";
import { print } from "../print.ts";
import { requirePerson, SessionClient } from "../session/client.ts";
import { paneAround } from "../session/surrounding-session.ts";
import { splitAtDashes } from "../shell-words.ts";

interface GrantOptions {
  readonly may: ReadonlySet<GrantRight>;
  readonly in?: string;
  readonly lend?: readonly string[];
  readonly session?: string;
  readonly at?: string;
  readonly name: string;
}

export function register(program: Command): void {
  program
    .command("grant [words...]")
    .usage("--may RIGHTS [options] [-- COMMAND…]")
    .description(
      "Run COMMAND, usually a sandbox, with limited rights. WSH_GRANT names a socket that gives only these rights, and " +
        "wsh uses it inside the sandbox. Without COMMAND: print the socket's path and serve it until Ctrl+C.\n" +
        `Rights: ${grantRights.join(", ")}. They cover questions and messages to the person, reports from an agent's ` +
        "hooks, and panes that are lent or created inside the sandbox. The socket closes when COMMAND exits; its exit " +
        "code is returned.",
    )
    .requiredOption("--may <rights>", "its rights, separated by commas", rightsOf)
    .option("--in <words>", "command prefix that runs a program in the sandbox; used for its new panes")
    .option("--lend <pane>", "a pane that it may use, such as @7 (repeatable)", collect)
    .option("--session <name>", "the session to which it applies (default: this one)")
    .option("--at <path>", "path of the socket, in a private directory (default: a new one)")
    .option("--name <name>", "its name in dialogs", nameOf, "grant")
    .action(async (words: string[], options: GrantOptions, command: Command) => {
      const instance = instanceOf(command);
      const { before, after } = splitAtDashes(words, process.argv);
      if (before.length > 0) throw new UsageError(`unexpected argument '${before[0]}'`, "Write the command after --.");
      if (after !== null && after.length === 0) throw new UsageError("the command after -- is missing");
      await requirePerson(instance, "wsh grant");
      await serveGrant(instance, options, after);
    });
}

async function serveGrant(instance: Instance, options: GrantOptions, words: readonly string[] | null): Promise<void> {
  const target = options.session ?? paneAround(process.env)?.pane;
  if (target === undefined) throw new UsageError("not inside a session: name one with --session");
  const sandboxCommand = options.in === undefined ? null : plainWords(options.in);
  if (options.in !== undefined && sandboxCommand === null)
    throw new UsageError(`'${options.in}' contains shell syntax`, "Give only a program and its arguments.");
  const lentPanes = await Promise.all((options.lend ?? []).map((pane) => paneAt(instance, pane)));
  const state = {
    name: options.name,
    may: options.may,
    sandboxCommand,
    reporter: process.pid,
    openQuestions: new Set<string>(),
    home: await paneAt(instance, target),
    panes: new Map(lentPanes.map((pane) => [pane.id, pane])),
  };
  hideMemory();
  await using broker = new Broker(instance, state, options.at === undefined ? null : resolve(options.at));
  if (words !== null) {
    process.exitCode = await runInGrant(words, broker.path, state);
    return;
  }
  const over = Promise.withResolvers<void>();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => over.resolve());
  await print(`${broker.path}\n`);
  await over.promise;
}

/** Runs the program with the socket's path as the only wsh variable. @returns its exit code */
async function runInGrant(
  words: readonly string[],
  path: string,
  state: { name: string; reporter: number },
): Promise<number> {
  const [text = ""] = words;
  if (process.stdin.isTTY && canTypeIntoTerminal())
    warn(
      "this kernel lets COMMAND type into your terminal (TIOCSTI): start it in a terminal of its own (--new-session)",
    );
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !isOfWsh(name)));
  const child = actingFor(state.name, () =>
    Bun.spawn(words.length === 1 ? ["sh", "-c", text] : [...words], {
      env: { ...env, [GRANT_VARIABLE]: path, WSH_AGENT: state.name },
      stdio: ["inherit", "inherit", "inherit"],
    }),
  );
  state.reporter = child.pid;
  // The terminal sends the key's signal to the program as well.
  process.on("SIGINT", () => {});
  for (const signal of ["SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
  const code = await child.exited;
  return child.signalCode === null ? code : exitCode(null, String(child.signalCode));
}

async function paneAt(instance: Instance, target: string): Promise<GrantedPane> {
  using session = await SessionClient.open(instance, target);
  if (session.machine !== null || session.info === null)
    throw new UsageError(`'${target}' is not on this machine`, "A grant is for sessions of this machine.");
  return { id: session.pane, session: session.info.id };
}

/** @throws UsageError */
function rightsOf(text: string): ReadonlySet<GrantRight> {
  const named = text.split(",").map((word) => word.trim());
  const rights = named.filter((word): word is GrantRight => grantRights.some((right) => right === word));
  const unknown = named.find((word) => !grantRights.some((right) => right === word));
  if (unknown === undefined) return new Set(rights);
  throw new UsageError(`'${unknown}' is not a right`, `Rights are ${grantRights.join(", ")}.`);
}

/** @throws UsageError */
function nameOf(text: string): string {
  if (agentNamePattern.test(text)) return text;
  throw new UsageError(`'${text}' is not a name`, "Use up to 32 of a-z 0-9 . _ -, with a letter or digit first.");
}
