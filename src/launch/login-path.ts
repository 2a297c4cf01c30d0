/**
 * PATH for children of graphical programs. launchd and desktops start programs without the person's shell, so their
 * PATH contains only the system's directories and nothing that the person installed; `wsh mcp` under such a host asks
 * the login shell for the PATH that it would set.
 *
 * The shell is the account's, runs in the home directory with a small environment of ours and no terminal, and gets
 * nothing that an agent chose: neither its directory nor its variables. Its output is searched for one line; it is
 * killed after a few seconds. Its answer, or the lack of one, is cached for some minutes in the state directory, so
 * that a slow startup file does not delay every conversation.
 */
import { basename, join } from "node:path";
import * as v from "valibot";
import { orUntil } from "../base/deadline.ts";
import { readOwnJson } from "../instance/own-json.ts";
import { replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { accountShell } from "../platform/account.ts";

/** Longest wait for the shell, in ms: startup files with version managers take a second or two; hosts wait longer. */
const ASK_MS = 4_000;
/** Time for which an answer is used again, in ms. */
const KEPT_MS = 10 * 60_000;
/** Longest output of startup files that is searched, in characters. */
const MAX_OUTPUT = 1024 * 1024;
/** Longest PATH that is accepted, in characters. */
const MAX_PATH = 32 * 1024;

/** Directories that systems themselves put into PATH. */
const systemDirectories: ReadonlySet<string> = new Set([
  ...["/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"],
  ...["/usr/games", "/usr/local/games", "/snap/bin"],
]);
/** Shells that take -i, -l and -c together and print "$PATH" joined by colons. */
const askable: ReadonlySet<string> = new Set(["bash", "zsh", "fish", "ksh", "mksh", "dash", "sh"]);
/** The caller's variables that startup files need; none names a file that a shell would read. */
const passed = ["HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "PATH"] as const;

type Environment = Readonly<Record<string, string | undefined>>;

const keptSchema = v.object({
  shell: v.string(),
  home: v.string(),
  /** Milliseconds since 1970. */
  at: v.number(),
  /** Null: the shell did not report it. */
  path: v.nullable(v.string()),
});
type KeptPath = v.InferOutput<typeof keptSchema>;

/**
 * Whether no shell has set this environment: shells count themselves in SHLVL, and people's PATHs contain more
 * directories.
 */
export function isDesktopEnvironment({ PATH = "", SHLVL = "0" }: Environment): boolean {
  return SHLVL === "0" && PATH.split(":").every((directory) => directory === "" || systemDirectories.has(directory));
}

/** The environment, with the login shell's PATH unless a shell has made it. Never fails; an abort ends the shell. */
export async function withLoginPath(instance: Instance, env: Environment, signal: AbortSignal): Promise<Environment> {
  const { HOME: home = "" } = env;
  const shell = accountShell() ?? env.SHELL ?? "";
  if (!isDesktopEnvironment(env) || !home.startsWith("/") || !askable.has(basename(shell))) return env;
  const stored = readKept(instance);
  const age = Date.now() - (stored?.at ?? 0);
  const isFresh = stored?.shell === shell && stored.home === home && age >= 0 && age < KEPT_MS;
  const path = isFresh ? stored.path : await askLoginShell(shell, env, signal);
  if (!isFresh && !signal.aborted) keep(instance, { shell, home, at: Date.now(), path });
  return path === null ? env : { ...env, PATH: joinPaths(path, env.PATH ?? "") };
}

/**
 * PATH as the login shell sets it; null when it does not answer in time.
 * @param shell absolute path
 */
export async function askLoginShell(
  shell: string,
  env: Environment,
  signal: AbortSignal,
  ms: number = ASK_MS,
): Promise<string | null> {
  const mark = crypto.randomUUID();
  const given = passed.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  let child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  try {
    child = Bun.spawn([shell, "-i", "-l", "-c", `printf '%s' '${mark}<'"$PATH"'>${mark}'`], {
      cwd: env.HOME ?? "/",
      env: { ...Object.fromEntries(given), SHELL: shell, TERM: "dumb", WSH_LOGIN_PATH: "1" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      // Its own process session: no terminal to write to, and one group to kill.
      detached: true,
    });
  } catch {
    return null; // no such shell, or no such home
  }
  try {
    return await orUntil(between(child.stdout, `${mark}<`, `>${mark}`), { ms, signal }, () => null);
  } finally {
    endGroup(child.pid);
  }
}

async function between(stream: ReadableStream<Uint8Array>, start: string, end: string): Promise<string | null> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of stream) {
    text += decoder.decode(bytes, { stream: true });
    const from = text.indexOf(start);
    const to = from === -1 ? -1 : text.indexOf(end, from);
    if (to !== -1) return believable(text.slice(from + start.length, to));
    if (text.length > MAX_OUTPUT) return null;
  }
  return null;
}

/** The absolute directories of a PATH, without duplicates; null: there are none. */
function believable(path: string): string | null {
  if (path.length > MAX_PATH || /[\0\n]/.test(path)) return null;
  return joinPaths(path, "") || null;
}

/** Directories of both, the first's before the second's; relative ones mean nothing to another program. */
function joinPaths(first: string, second: string): string {
  const directories = `${first}:${second}`.split(":").filter((directory) => directory.startsWith("/"));
  return [...new Set(directories)].join(":");
}

/** Kills the shell's group: startup files may have left background processes. */
function endGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // all have ended
  }
}

function fileOf({ stateDir }: Instance): string {
  return join(stateDir, "login-path.json");
}

/** The shell's last answer; null: it was never asked. */
export function readKept(instance: Instance): KeptPath | null {
  return readOwnJson(fileOf(instance), keptSchema);
}

function keep(instance: Instance, stored: KeptPath): void {
  try {
    prepareStateDir(instance);
    replaceOwnFile(fileOf(instance), `${JSON.stringify(stored)}\n`);
  } catch {
    // asked again next time
  }
}
