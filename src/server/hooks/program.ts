/**
 * Runs the program of a hook: in a process group and session of its own, with the event on standard input, without a
 * terminal. It is killed with all that it has started when its time is up. What it prints is read at a walking pace and kept up to a
 * limit, so that a flood costs the server nothing.
 *
 * A shell of two fixed words begins it: it takes the job by renaming its file, and becomes the program only if that
 * succeeded (events/hook-files.ts). No text of the event or the settings is read by it as code.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import type { Readable } from "node:stream";
import { endMarked } from "../../platform/marked-processes.ts";

const TAKE = 'command -p mv -- "$0.job" "$0.$$" 2>/dev/null || exit 75';
const BEGIN = `${TAKE}; exec "$@" <"$0.event"`;
/** It stays above an agent's program: what that removes from its environment does not hide for whom it acts. */
const BEGIN_BELOW = `${TAKE}; "$@" <"$0.event"; exit $?`;
/** Output that is kept for the log, in characters. */
const KEPT_OUTPUT = 2_000;
/** Output read at once, in bytes, and the pause behind it, in ms. */
const GULP_BYTES = 64 * 1024;
const GULP_PAUSE_MS = 50;
/** Time between SIGTERM and SIGKILL, and for the rest of the output after the end, in ms. */
const TERM_MS = 2_000;
const REST_MS = 100;

interface HookProgram {
  /** Path of the job's files. */
  readonly job: string;
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Entries of `env` that no other run has. */
  readonly marks: readonly string[];
  /** Where it is started, if that exists. */
  readonly cwd: string | null;
  readonly timeoutMs: number;
}

/** Exit code of the shell when another process has taken the job (EX_TEMPFAIL of sysexits.h). */
export const TAKEN = 75;

interface HookEnd {
  /** Null where the system could not start it. */
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
    const at = cwd !== null && isDirectory(cwd) ? cwd : os.homedir();
    const child = spawn("/bin/sh", ["-c", env.WSH_AGENT === undefined ? BEGIN : BEGIN_BELOW, job, ...argv], {
      cwd: at,
      env: { ...env },
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
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
    const ended = (end: Omit<HookEnd, "output" | "timedOut" | "pid">): void => {
      clearTimeout(timer);
      clearTimeout(killing ?? undefined);
      if (timedOut) endMarked(child.pid, marks, "SIGKILL");
      // Programs that it left behind may hold its output open.
      setTimeout(() => {
        for (const stream of streams) stream.destroy();
        resolve({ ...end, pid: child.pid ?? null, output: output.trimEnd(), timedOut });
      }, REST_MS);
    };
    child.on("error", (error) => ended({ exit_code: null, signal: null, error: error.message }));
    child.on("exit", (exit_code, signal) => ended({ exit_code, signal }));
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

function isDirectory(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
