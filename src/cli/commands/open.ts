/**
 * `wsh` itself: creates a session and attaches to it. A server is started after the first frame is shown, so that
 * agents can reach the session; without a server everything here still works.
 */
import { existsSync, fstatSync } from "node:fs";
import tty from "node:tty";
import { type Command, Option } from "commander";
import { checkpointsDir } from "../../checkpoints/files/paths.ts";
import type { Instance } from "../../instance/paths.ts";
import { inputPath } from "../../platform/own-process.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parseTarget, sessionNumber } from "../../protocol/names.ts";
import { processState } from "../../registry/liveness.ts";
import { findSession, listSessions } from "../../registry/registry.ts";
import { collect } from "../arguments.ts";
import { instanceOf, settingsOf } from "../instance.ts";
import { complain, takesColor } from "../print.ts";
import { requireTerminal } from "../session/require-terminal.ts";
import { type Started, startSession } from "../session/start.ts";

/**
 * Delay from the first frame to the start of the server, in ms: the shell needs the processor until its first prompt.
 */
const SERVER_DELAY_MS = 150;

interface OpenFlags {
  readonly c?: string;
  readonly shell?: string;
  readonly name?: string;
  readonly tag?: readonly string[];
  readonly cwd?: string;
  readonly altScreen?: boolean;
  readonly nested?: boolean;
  readonly prefix?: string;
  readonly bind?: string;
  readonly token?: string;
}

export function configureOpen(program: Command): void {
  program
    .usage("[options]")
    .description(
      "Open a session with your shell, attached to this terminal. The prefix key (Ctrl+\\) twice detaches.\n" +
        "'wsh --help' lists the subcommands.",
    )
    .option(
      "-c <command>",
      "run this instead of a shell, and exit with its code;\ninto a pipe, print plain output, as wsh exec does",
    )
    .addOption(new Option("-i", "accepted for scripts that pass it to shells").hideHelp())
    .option("--shell <shell>", "path or name of the shell (default: $SHELL)")
    .option("--name <name>", "name of the session (default: default, or a number)")
    .option("--tag <tag>", "label the session (repeatable)", collect)
    .option("--cwd <dir>", "directory to start in (default: this one)")
    .option("--alt-screen", "draw on the alternate screen")
    .option("--prefix <key>", "prefix key instead of Ctrl+\\ (WSH_PREFIX)")
    .option("--nested", "start inside a wsh session")
    .option("--bind <address>", "TCP address of a newly started server (default: none)")
    .addOption(new Option("--token <token>", "token of a newly started server").env("WSH_TOKEN"))
    .option("--config <path>", "settings file (WSH_CONFIG)")
    .action(open);
}

async function open(flags: OpenFlags, command: Command): Promise<void> {
  const instance = instanceOf(command);
  if (flags.c !== undefined && !tty.isatty(1)) return printOutput(instance, flags.c, flags);
  refuseNested(flags);
  if (flags.c === undefined)
    requireTerminal("`wsh new` starts a session in the background, `wsh exec -- COMMAND` runs a command.");
  if (flags.c === undefined) reportOtherSessions(instance);
  const { columns, rows } = process.stdout;
  const restored = flags.c === undefined && flags.name === undefined ? await offerRestore(instance) : null;
  if (restored !== null) return attachTo(instance, restored, flags);
  const starting = startSession(
    instance,
    {
      name: flags.name ?? null,
      command: flags.c ?? null,
      shell: flags.shell ?? null,
      cwd: flags.cwd ?? null,
      tags: [...(flags.tag ?? [])],
      env: null,
      rows: rows ?? 24,
      cols: columns ?? 80,
    },
    "default",
    { isOpened: true },
  );
  // The code for attaching is loaded while the session process starts.
  const [{ info, socket }] = await Promise.all([starting, import("../session/attach-terminal.ts")]);
  return attachTo(instance, { info, socket }, flags);
}

/** Offers to restore a crashed session instead of creating a new one; costs one check if none ever crashed. */
async function offerRestore(instance: Instance): Promise<Started | null> {
  if (!existsSync(checkpointsDir(instance))) return null;
  const { offerAll } = await import("../session/offer-restore.ts");
  const info = await offerAll(instance);
  return info === null ? null : { info, socket: findSession(instance, parseTarget(info.id)).socket };
}

async function attachTo(instance: Instance, { info, socket }: Started, flags: OpenFlags): Promise<void> {
  const { attachTerminal } = await import("../session/attach-terminal.ts");
  const failures: WshError[] = [];
  const noteShown = (): void => {
    setTimeout(() => {
      startServerInBackground(instance, flags).catch((error) => failures.push(WshError.from(error)));
    }, SERVER_DELAY_MS);
  };
  const { outcome, exitCode } = await attachTerminal(instance, {
    name: info.name,
    session: sessionNumber(info.id),
    socket,
    prefixKey: flags.prefix,
    scrollback: "none",
    altScreen: flags.altScreen === true,
    readOnly: false,
    detachAtEof: flags.c === undefined,
    onShown: noteShown,
  });
  // A shell's exit code is its last command's: not a failure of wsh.
  process.exitCode = flags.c === undefined && outcome.kind === "exited" ? 0 : exitCode;
  for (const { message } of failures) complain(`no server was started: ${message}`);
}

/** Into a pipe: prints the command's output without screen control, as `wsh exec -- COMMAND` does. */
async function printOutput(instance: Instance, command: string, flags: OpenFlags): Promise<void> {
  const { execFresh } = await import("./exec.ts");
  const { name, shell, cwd, tag } = flags;
  await execFresh(
    instance,
    command,
    { onTimeout: "leave", ...standardInput() },
    {
      ...defined({ name }),
      shell: shell ?? null,
      cwd: cwd ?? null,
      ...(tag === undefined ? {} : { tags: [...tag] }),
    },
  );
}

/**
 * The command gets this process's standard input, unless that is a terminal. The command opens a pipe itself, so a pipe
 * that never ends delays nothing. A socket (which many programs give their children) cannot be opened by a path: the
 * command reads end of file, and a warning names the way out when data arrives.
 */
function standardInput(): { stdin?: boolean; stdinPath?: string } {
  if (tty.isatty(0)) return {};
  const kind = kindOfInput();
  if (kind === "file") return { stdin: true };
  const path = kind === "pipe" ? inputPath() : null;
  if (path !== null) return { stdinPath: path };
  if (kind !== "other") return { stdin: true };
  void warnOfInput();
  return { stdinPath: "/dev/null" };
}

function kindOfInput(): "file" | "pipe" | "other" {
  try {
    const stat = fstatSync(0);
    return stat.isFile() ? "file" : stat.isFIFO() ? "pipe" : "other";
  } catch {
    return "other";
  }
}

async function warnOfInput(): Promise<void> {
  try {
    const { done, value } = await Bun.stdin.stream().getReader().read();
    if (!done && value.length > 0)
      complain("standard input is not passed to the command\n`wsh exec -i -- COMMAND` reads it.");
  } catch {
    // The stream is closed: nothing is lost.
  }
}

/** Reports in one line that other sessions are running, before another one is opened. */
function reportOtherSessions(instance: Instance): void {
  let otherCount = 0;
  try {
    otherCount = listSessions(instance).filter(
      ({ name, ended, socket }) => name !== null && !ended && processState(socket) === "alive",
    ).length;
  } catch {
    // The start of the session reports any such error.
  }
  if (otherCount === 0) return;
  const text = otherCount === 1 ? "1 other session is running" : `${otherCount} other sessions are running`;
  const line = `${text}: wsh ls lists them, wsh a NAME attaches`;
  process.stderr.write(takesColor(process.stderr) ? `\x1b[2m${line}\x1b[22m\n` : `${line}\n`);
}

/** @throws WshError nested_session */
function refuseNested({ nested }: OpenFlags): void {
  const inside = process.env.WSH_SESSION;
  if (inside === undefined || inside === "" || nested === true) return;
  throw new WshError("nested_session", `this terminal is already in session '${inside}'`);
}

/** Refuses to start a shell that no terminal would show and that would be left behind. @throws WshError */
async function startServerInBackground(instance: Instance, { bind, token }: OpenFlags): Promise<void> {
  const { startServer } = await import("../../launch/server.ts");
  await startServer(instance, { bind: bind ?? (await configuredBind(instance)), token });
}

/** The address, if one was set; the default applies only to `wsh server`. */
async function configuredBind(instance: Instance): Promise<string | undefined> {
  const settings = await settingsOf(instance);
  return settings.originOf("bind").from === "default" ? undefined : settings.values.bind;
}
