/** `wsh new`: starts a session in the background. */
import fs from "node:fs";
import { type Command, Option } from "commander";
import * as v from "valibot";
import { checkpointsDir } from "../../checkpoints/files/paths.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { checkSessionName, checkTag, paneId, parsePlace, parseTarget } from "../../protocol/names.ts";
import { CreatedSessionSchema, type SessionInfo } from "../../protocol/session.ts";
import { findSession, listSessions, lookUp } from "../../registry/registry.ts";
import { shellText } from "../../shell/quoting.ts";
import { absolute, collect, freePort, requireOptions, UsageError, variables } from "../arguments.ts";
import { instanceOf, warn } from "../instance.ts";
import { complain, print, printJson } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { startSession } from "../session/start.ts";
import { splitAtDashes } from "../shell-words.ts";
import { parseSize } from "./resize.ts";

/** Value of `--place` for a machine with any tags. */
const ANYWHERE = "any";

interface NewOptions {
  readonly ifExists: "error" | "attach";
  readonly cwd?: string;
  readonly shell?: string;
  readonly tag?: readonly string[];
  readonly env?: readonly string[];
  readonly size?: string;
  readonly private?: boolean;
  readonly worktree?: string;
  readonly port?: "free";
  readonly idleLimit?: string;
  readonly ownerBound?: boolean;
  readonly layout?: string;
  readonly place?: readonly string[];
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("new [words...]")
    .usage("[options] [NAME] [-- COMMAND…]")
    .description(
      "Start a session in the background, with your shell or a command, and print its name.\n" +
        "One word after -- is shell text; several words are arguments.",
    )
    .addOption(
      new Option("--if-exists <what>", "if the name is in use: fail, or attach to that session")
        .choices(["error", "attach"])
        .default("error"),
    )
    .option("--cwd <dir>", "directory to start in (default: this one)")
    .option("--shell <shell>", "path or name of the shell (default: $SHELL)")
    .option("--tag <tag>", "label the session (repeatable)", collect)
    .option("--env <name=value>", "set an environment variable (repeatable)", collect)
    .option(
      "--worktree <branch>",
      "run in a git worktree of this branch, created if missing, removed with the session if clean",
    )
    .option("--port <free>", "allocate a free TCP port to it, in PORT", freePort)
    .option("--idle-limit <time>", "end it after this time without use (30m, 12h, 7d; see the manual)")
    .option("--owner-bound", "end it a minute after its creator: the agent that ran this command, or this shell")
    .option("--private", "keep nothing on disk: no command history, no checkpoints")
    .option("--size <colsxrows>", "size of its terminal (default: 80x24)")
    .option("--layout <file>", "windows and panes with their programs: TOML, JSON, or tmux's own")
    .option("--place <tag>", "start on another machine with this tag (repeatable; any: any machine)", collect)
    .option("--json", "print all details of the session as JSON")
    .action(async (words: string[], options: NewOptions, command: Command) => {
      const instance = instanceOf(command);
      const { before, after } = splitAtDashes(words, process.argv);
      if (before.length > 1) throw new UsageError(`unexpected argument '${before[1]}'`, "Write the command after --.");
      const [name] = before;
      const { machine, target } = parsePlace(name ?? "");
      if (options.place !== undefined) {
        if (machine !== null) throw new UsageError(`'${name}' already names a machine; --place cannot be used`);
        if (options.layout !== undefined) throw new UsageError("--layout starts sessions on this machine only");
        return newPlaced(instance, options.place, createOf(name, after, options), options);
      }
      if (machine !== null) {
        if (options.layout !== undefined) throw new UsageError("--layout starts sessions on this machine only");
        return createRemote(instance, machine, { ...createOf(target || undefined, after, options) }, options);
      }
      if (options.layout !== undefined) return newByLayout(instance, name, after, options, options.layout);
      const existingName = options.ifExists === "attach" && name !== undefined ? checkSessionName(name) : null;
      const info =
        (existingName === null ? null : await find(instance, existingName)) ??
        (await startSession(instance, createOf(name, after, options), "number", { isOpened: true })
          .then((started) => started.info)
          .catch(async (thrown) => {
            // Another caller created the same session first.
            const isTaken = thrown instanceof WshError && thrown.code === "session_name_conflict";
            const concurrent = existingName !== null && isTaken ? await find(instance, existingName) : null;
            if (concurrent === null) throw thrown;
            return concurrent;
          }));
      await (options.json === true ? printJson(info) : print(`${info.name}\n`));
      if (name === undefined || !fs.existsSync(checkpointsDir(instance))) return;
      const crashed = (await import("../../checkpoints/find-crashed.ts")).describeCrashedNamesake(instance, info.name);
      if (crashed !== null) complain(crashed);
    });

  async function find(instance: ReturnType<typeof instanceOf>, name: string): Promise<SessionInfo | null> {
    const entry = lookUp(listSessions(instance), parseTarget(name));
    if (entry === undefined || entry.ended) return null;
    using session = await SessionClient.open(instance, paneId(findSession(instance, parseTarget(name)).id));
    return await session.call("session.get", {});
  }
}

/** Starts the session on another machine, with the directory and environment of that machine's server. */
async function createRemote(
  instance: ReturnType<typeof instanceOf>,
  machine: string,
  create: ReturnType<typeof createOf>,
  { ifExists, json }: NewOptions,
): Promise<void> {
  const [{ startRemote }, { nextRequest }] = await Promise.all([
    import("../session/start-remote.ts"),
    import("../session/remote-request.ts"),
  ]);
  const { name, ...rest } = create;
  const input = {
    ...rest,
    ...present({ name }),
    ...(ifExists === "attach" ? { if_exists: "attach" as const } : {}),
  };
  const info = await startRemote(instance, machine, input, nextRequest());
  return json === true ? printJson(info) : print(`${info.name}\n`);
}

/** Starts the session on a machine chosen by the server here: only a server knows a fleet. */
async function newPlaced(
  instance: ReturnType<typeof instanceOf>,
  place: readonly string[],
  create: ReturnType<typeof createOf>,
  { ifExists, json }: NewOptions,
): Promise<void> {
  const [{ startServer }, { askServer }, { namesRequest, nextRequest }] = await Promise.all([
    import("../../launch/server.ts"),
    import("../../registry/server-client.ts"),
    import("../session/remote-request.ts"),
  ]);
  const tags = place.filter((tag) => tag !== ANYWHERE).map((tag) => checkTag(tag.replace(/^tag=/, "")));
  await startServer(instance);
  const body = { ...create, if_exists: ifExists, place: { tags } };
  // A request with an id is placed by the id instead of by load, so only a repeated request has one.
  const again = namesRequest() ? { request: nextRequest() } : {};
  const info = v.parse(CreatedSessionSchema, await askServer(instance, "POST", "/sessions", { body, ...again }));
  return json === true ? printJson(info) : print(`${info.name}\n`);
}

async function newByLayout(
  instance: ReturnType<typeof instanceOf>,
  name: string | undefined,
  after: readonly string[] | null,
  options: NewOptions,
  layout: string,
): Promise<void> {
  const given = { layout, after, shell: options.shell, attach: options.ifExists === "attach" };
  const rules = [{ option: "layout", excludes: ["after", "shell", "attach"] }];
  requireOptions(rules, given, { after: "a command", attach: "--if-exists attach" });
  const [{ readLayout }, { fillSession, firstProgram }] = await Promise.all([
    import("../panes/layout-file.ts"),
    import("../panes/start-layout.ts"),
  ]);
  const { windows, warnings } = readLayout(layout, absolute(options.cwd ?? "."));
  warnings.forEach(warn);
  const { command = null, cwd, shell = null, env, stdin } = firstProgram(windows);
  const create = createOf(name, null, options);
  const { info } = await startSession(
    instance,
    {
      ...create,
      command,
      shell,
      ...present({ cwd }),
      env: env == null ? create.env : { ...create.env, ...env },
      ...defined({ stdin }),
    },
    "number",
  );
  const filled = await fillSession(instance, info, windows);
  return options.json === true ? printJson(filled) : print(`${filled.name}\n`);
}

function createOf(name: string | undefined, after: readonly string[] | null, options: NewOptions) {
  const { cwd, shell, tag = [], env, size, worktree, port, idleLimit, ownerBound, private: isPrivate } = options;
  if (after !== null && after.length === 0) throw new UsageError("the command after -- is missing");
  return {
    name: name ?? null,
    command: after === null ? null : shellText(after),
    cwd: cwd ?? null,
    shell: shell ?? null,
    tags: [...tag],
    env: env === undefined ? null : variables(env),
    ...defined({ worktree, port, idle_limit: idleLimit, owner_bound: ownerBound }),
    ...(isPrivate === true ? { private: true } : {}),
    ...(size === undefined ? { rows: 24, cols: 80 } : parseSize(size)),
  };
}
