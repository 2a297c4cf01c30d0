/**
 * Runs the program of a hook: in a process group and session of its own, with the event on standard input,
 * without a terminal. It is killed with all its descendants at its time limit. Its output is read slowly and kept
 * up to a limit, so that a flood costs the server nothing.
 *
 * A shell with a fixed script starts it: the script takes the job by renaming its file, and executes the program
 * only if that succeeded (events/hook-files.ts). The shell reads no text of the event or the settings as code.
 */
import { spawn } from "node:child_process";
import os from "node:os";
import type { Readable } from "node:stream";
import { actingFor } from "../../platform/child-limits.ts";
import { isDirectory } from "../../platform/directory.ts";
import { endMarked } from "../../platform/marked-processes.ts";

const TAKE = 'command -p mv -- "$0.job" "$0.$$" 2>/dev/null || exit 75';
const BEGIN = `${TAKE}; exec "$@" <"$0.event"`;
/**
 * The shell remains the parent of an agent's program, so that the program cannot hide for whom it acts by
 * removing variables from its environment.
 */
const BEGIN_BELOW = `${TAKE}; "$@" <"$0.event"; exit $?`;
/** Characters of output kept for the log. */
const KEPT_OUTPUT = 2_000;
/** Bytes of output read at once, and the pause after that, in ms. */
const GULP_BYTES = 64 * 1024;
const GULP_PAUSE_MS = 50;
/** Time between SIGTERM and SIGKILL, and for the remaining output after the end, in ms. */
const TERM_MS = 2_000;
const REST_MS = 100;

interface HookProgram {
  /** Path of the job's files. */
  readonly job: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Entries of `env` that only this run has. */
  readonly marks: readonly string[];
  /** Directory in which it is started, if it exists. */
  readonly cwd: string | null;
  readonly timeoutMs: number;
}

/** Exit code of the shell if another process has taken the job (EX_TEMPFAIL of sysexits.h). */
export const TAKEN = 75;

interface HookEnd {
  /** Null: the system could not start it. */
  readonly pid: number | null;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly output: string;
  readonly timedOut: boolean;
  /** Why the system could not start it. */
  readonly error?: string;
}

export function runHookProgram({ job, argv, env, marks, cwd, timeoutMs }: HookProgram): Promise<HookEnd> {
  return new Promise((resolve) => {
    const directory = cwd !== null && isDirectory(cwd) ? cwd : os.homedir();
    const child = actingFor(env.WSH_AGENT, () =>
      spawn("/bin/sh", ["-c", env.WSH_AGENT === undefined ? BEGIN : BEGIN_BELOW, job, ...argv], {
        cwd: directory,
        env: { ...env },
        detached: true,
        stdio: ["ignore", "pipe", "pipe"],
      }),
    );
    let output = "";
    const keep = (text: string): void => {
      output = `${output}${text}`.slice(0, KEPT_OUTPUT);
    };
    const streams = [child.stdout, child.stderr];
    for (const stream of streams) readSlowly(stream, keep);
    let timedOut = false;
    let killing: Timer | null = null;
    const timer = setTimeout(() => {
      timedOut = true;
      endMarked(child.pid, marks, "SIGTERM");
      killing = setTimeout(() => endMarked(child.pid, marks, "SIGKILL"), TERM_MS);
    }, timeoutMs);
    const finish = (end: Omit<HookEnd, "output" | "timedOut" | "pid">): void => {
      clearTimeout(timer);
      clearTimeout(killing ?? undefined);
      if (timedOut) endMarked(child.pid, marks, "SIGKILL");
      // Background programs that it left may hold its output open.
      setTimeout(() => {
        for (const stream of streams) stream.destroy();
        resolve({ ...end, pid: child.pid ?? null, output: output.trimEnd(), timedOut });
      }, REST_MS);
    };
    child.on("error", (error) => finish({ exit_code: null, signal: null, error: error.message }));
    child.on("exit", (exit_code, signal) => finish({ exit_code, signal }));
  });
}

function readSlowly(stream: Readable, keep: (text: string) => void): void {
  let gulp = 0;
  stream.setEncoding("utf8");
  stream.on("error", () => {});
  stream.on("data", (text: string) => {
    keep(text);
    gulp += text.length;
    if (gulp < GULP_BYTES) return;
    gulp = 0;
    stream.pause();
    setTimeout(() => stream.resume(), GULP_PAUSE_MS);
  });
}
