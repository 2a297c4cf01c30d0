/**
 * Converts a caller's request into a start on a PTY: directory, texts and shell are checked here, before anything is
 * reserved or run. Independent of session and instance: paths of the scripts and the key file are parameters.
 */
import fs from "node:fs";
import { resolve } from "node:path";
import { errorCode } from "../base/errno.ts";
import { accountShell } from "../platform/account.ts";
import { startFault } from "../platform/executable.ts";
import { platform } from "../platform/platform.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { requireProgram } from "../protocol/program-text.ts";
import { MAX_PIPED_BYTES } from "../protocol/steps.ts";
import { planShell, type ShellPlan } from "../shell/plan.ts";
import { bashVersion } from "./bash-version.ts";

/** Longest command and stdin, in bytes (docs/protocol.md, Limits). */
const MAX_TEXT_BYTES = 1024 * 1024;
/** Characters of a variable's name that an error repeats: more than names have. */
const MAX_SHOWN_NAME = 64;
/** Characters of a path that an error repeats. */
const MAX_SHOWN_PATH = 256;

export interface SpawnRequest {
  /** Runs instead of a shell. */
  readonly command?: string | null | undefined;
  readonly shell?: string | null | undefined;
  readonly cwd?: string | null | undefined;
  /** Variables that override the caller's. */
  readonly env?: Readonly<Record<string, string>> | null | undefined;
  /** The command's standard input. */
  readonly stdin?: string | undefined;
  readonly caller: { readonly cwd: string; readonly env: Readonly<Record<string, string>> };
}

/** Paths for planning a shell, besides the request. */
interface ShellPaths {
  /** The program's whole environment. */
  readonly env: Readonly<Record<string, string>>;
  /** Directory of the integration's scripts; empty without integration. */
  readonly scriptsDir: string;
  readonly keyFile: string;
  readonly loginShell: boolean;
  readonly integration: boolean;
}

/**
 * Checks everything that can be checked before anything starts.
 * @returns the directory to start in
 * @throws WshError cwd_not_found, invalid_request, payload_too_large
 */
export function checkRequest(request: SpawnRequest): string {
  const cwd = resolveDirectory(request.cwd ?? null, request.caller);
  checkTexts(request);
  return cwd;
}

/**
 * A requested directory, relative to the caller's, must exist; the caller's own may have been deleted, in which case
 * home or the root is used.
 */
function resolveDirectory(asked: string | null, caller: SpawnRequest["caller"]): string {
  if (asked === null) return [caller.cwd, caller.env.HOME ?? "/"].find((path) => directoryFault(path) === null) ?? "/";
  const path = resolve(caller.cwd, asked);
  const fault = asked === "" || asked.includes("\0") ? "does not exist" : directoryFault(path);
  if (fault === null) return path;
  const shown = asked.length > MAX_SHOWN_PATH ? `${asked.slice(0, MAX_SHOWN_PATH)}…` : asked;
  throw new WshError("cwd_not_found", `the directory '${shown}' ${fault}`);
}

/** Why a path cannot be the start directory; null if it can. */
function directoryFault(path: string): string | null {
  try {
    const stat = fs.statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return "does not exist";
    return stat.isDirectory() ? null : "is not a directory";
  } catch (error) {
    return `cannot be read: ${errorCode(error)}`; // EACCES, ENAMETOOLONG, ELOOP
  }
}

/** @throws WshError invalid_request, payload_too_large */
function checkTexts({ command, env, stdin }: SpawnRequest): void {
  requireProgram({ command, stdin });
  requireArgumentFits("'command'", command ?? "", "Pass a longer script as stdin of 'sh'.");
  for (const [name, value] of Object.entries(env ?? {})) {
    requireArgumentFits(
      `'env.${name.slice(0, MAX_SHOWN_NAME)}'`,
      `${name}=${value}`,
      "Pass the value in a file, or as stdin.",
    );
  }
  for (const [name, text] of Object.entries({ command, stdin })) {
    if (typeof text !== "string" || Buffer.byteLength(text) <= MAX_TEXT_BYTES) continue;
    throw new WshError(
      "payload_too_large",
      `'${name}' has ${Buffer.byteLength(text)} bytes; the limit is ${MAX_TEXT_BYTES}`,
    );
  }
}

/** @throws WshError payload_too_large when the system allows no argument or variable of this size */
function requireArgumentFits(what: string, text: string, hint: string): void {
  const bytes = Buffer.byteLength(text);
  const { argument } = platform().limits;
  if (argument === null || bytes <= argument) return;
  const message = `${what} has ${bytes} bytes; the system's limit for one argument is ${argument}`;
  throw new WshError("payload_too_large", message, { hint });
}

/** Whether the shells of a pane load our scripts: by the setting, unless the caller's environment disables it. */
export function wantsIntegration(setting: boolean, callerEnv: Readonly<Record<string, string>>): boolean {
  return setting && callerEnv.WSH_SHELL_INTEGRATION !== "0";
}

/** @throws WshError unknown_shell, shell_not_found */
export function planProgram({ command, shell }: SpawnRequest, place: ShellPaths): ShellPlan {
  const { env, scriptsDir, keyFile, loginShell, integration } = place;
  const plan = planShell(
    {
      ...(typeof shell === "string" ? { shell } : {}),
      ...(typeof command === "string" ? { command } : {}),
      loginShell,
      integration,
    },
    {
      env,
      scriptsDir,
      keyFile,
      accountShell: env.SHELL ? null : accountShell(),
      bashVersion,
      findExecutable: (name) => findExecutable(name, env.PATH ?? "/usr/bin:/bin"),
    },
  );
  if (!plan.ok) throw plan.error;
  const fault = startFault(plan.file);
  if (fault !== null) throw new WshError("shell_not_found", `'${plan.file}' ${fault}`);
  requireTotal([plan.file, ...plan.args], { ...env, ...plan.set });
  return plan;
}

/**
 * Allowance for unknown parts, in bytes: the session's name and pane in the environment, the shell in front of a
 * program with standard input, the path that the kernel adds.
 */
const ADDED_BYTES = 8 * 1024;
/** A pointer to each string, and the string's NUL. */
const STRING_BYTES = 9;

/** @throws WshError payload_too_large when arguments and environment together exceed the system's limit */
function requireTotal(args: readonly string[], env: Readonly<Record<string, string>>): void {
  const { argumentsTotal } = platform().limits;
  if (argumentsTotal === null) return;
  let bytes = ADDED_BYTES;
  for (const text of args) bytes += Buffer.byteLength(text) + STRING_BYTES;
  for (const [name, value] of Object.entries(env)) bytes += Buffer.byteLength(`${name}=${value}`) + STRING_BYTES;
  if (bytes <= argumentsTotal) return;
  const message = `arguments and environment have ${bytes} bytes together; the system's limit is ${argumentsTotal}`;
  const hint = "Pass a longer script as stdin of 'sh', long values in a file, or start from a smaller environment.";
  throw new WshError("payload_too_large", message, { hint });
}

function findExecutable(name: string, path: string): string | null {
  try {
    return Bun.which(name, { PATH: path });
  } catch {
    return null; // longer than a path can be
  }
}

/** Unit of the shell's limit of a file's size, in bytes (POSIX, ulimit). */
const ULIMIT_UNIT = 512;

/**
 * The program itself, or a small sh in front of it: for a given standard input, sh opens it and execs the
 * program; for standard output to a file too, sh stays until all output is written.
 */
export function wrapProgram(
  plan: ShellPlan,
  stdin: { readonly path: string; readonly isOurs: boolean } | null,
  stdoutPath?: string,
): { file: string; args: readonly string[]; argv0?: string } {
  if (stdoutPath !== undefined) {
    const input = stdin === null ? "" : stdin.path;
    const args = ["-c", spoolScript(stdin), "sh", input, stdoutPath, plan.file, ...plan.args];
    return { file: "/bin/sh", args };
  }
  if (stdin === null) {
    return { file: plan.file, args: plan.args, ...defined({ argv0: plan.argv0 }) };
  }
  const script = `exec <"$1" && ${stdin.isOurs ? 'rm -f -- "$1" && ' : ""}shift && exec "$@"`;
  return { file: "/bin/sh", args: ["-c", script, "sh", stdin.path, plan.file, ...plan.args] };
}

/** The program with a file as its standard output; its other streams are its terminal. */
export function withStdout<P extends { readonly file: string; readonly args: readonly string[] }>(
  path: string | undefined,
  program: P,
): Pick<P, "file" | "args"> | P {
  if (path === undefined) return program;
  const script = 'f=$1; shift; exec "$@" >"$f"';
  return { file: "/bin/sh", args: ["-c", script, "sh", path, program.file, ...program.args] };
}

/**
 * tee copies the bytes from a named pipe to the file and the terminal. It survives Ctrl+C, so that the
 * program's last output is kept; at the file's limit tee ends, and the program with it (SIGPIPE). The exit
 * code is the program's, 128+n for a signal.
 */
function spoolScript(stdin: { readonly isOurs: boolean } | null): string {
  return [
    "i=$1 f=$2; shift 2; p=$f.pipe",
    'mkfifo -m 600 "$p" || exit 126',
    `(ulimit -f ${MAX_PIPED_BYTES / ULIMIT_UNIT}; trap "" INT QUIT; exec tee -- "$f") <"$p" & t=$!`,
    "trap : INT QUIT",
    ...(stdin === null ? [] : ['exec <"$i" || exit 126']),
    ...(stdin?.isOurs === true ? ['rm -f -- "$i"'] : []),
    '"$@" >"$p"; s=$?',
    'wait "$t"; rm -f -- "$p"; exit "$s"',
  ].join("\n");
}
