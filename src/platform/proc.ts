/**
 * What Linux's /proc says about one process: proc(5)'s stat, the file it runs, its directory. A fact that cannot be had
 * (another user's process, one that has ended, another system) is null, never a guess.
 */
import fs from "node:fs";

export interface Stat {
  readonly pid: number;
  readonly name: string;
  readonly state: string;
  readonly ppid: number;
  readonly group: number;
  readonly tty: number;
  readonly foreground: number;
  readonly threads: number;
  /** Id of its process session. */
  readonly session: number;
  /** Start time, in clock ticks since boot. */
  readonly started: number;
}

/** Content of a file of /proc; null when it cannot be read. */
export function readText(path: string): string | null {
  try {
    return fs.readFileSync(path, "utf8");
  } catch {
    return null;
  }
}

/** Fields of /proc/PID/stat (proc(5)); the name may hold blanks and parentheses, so the last one ends it. */
export function parseStat(text: string): Stat | null {
  const open = text.indexOf("(");
  const close = text.lastIndexOf(")");
  if (open < 0 || close < open) return null;
  const rest = text.slice(close + 2).split(" ");
  const [state = "", ppid, group, session, tty, foreground] = rest;
  return {
    pid: Number(text.slice(0, open)),
    name: text.slice(open + 1, close),
    state,
    ppid: Number(ppid),
    group: Number(group),
    tty: Number(tty),
    foreground: Number(foreground),
    threads: Number(rest[17]),
    session: Number(session),
    started: Number(rest[19]),
  };
}

/** Null when the process has ended. */
export function statOf(pid: number): Stat | null {
  const text = readText(`/proc/${pid}/stat`);
  return text === null ? null : parseStat(text);
}

/** The program that a process runs: two starts of one file have different stacks. */
export interface ProcessImage {
  readonly executable: string;
  /** Start of its stack (field 28 of stat); "0" where the kernel hides it. */
  readonly stack: string;
}

/** Index of field 28 among the fields of stat behind the name. */
const START_STACK = 25;

/** Null when it cannot be known. */
export function processImage(pid: number): ProcessImage | null {
  const executable = processExecutable(pid);
  const text = executable === null ? null : readText(`/proc/${pid}/stat`);
  if (executable === null || text === null) return null;
  const stack = text.slice(text.lastIndexOf(")") + 2).split(" ")[START_STACK] ?? "0";
  return { executable: executable.replace(/ \(deleted\)$/, ""), stack };
}

/** Path of the file that a process runs; null when it cannot be known. */
export function processExecutable(pid: number): string | null {
  return processLink(pid, "exe");
}

/** Directory of a process; null when it cannot be known. */
export function processCwd(pid: number): string | null {
  return processLink(pid, "cwd");
}

function processLink(pid: number, name: "cwd" | "exe"): string | null {
  try {
    return fs.readlinkSync(`/proc/${pid}/${name}`);
  } catch {
    // Ended, another user's, or no /proc.
    return null;
  }
}
