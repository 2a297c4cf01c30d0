/**
 * Facts about one process from Linux's /proc: proc(5)'s stat, the file it runs, its directory. An unavailable fact
 * (another user's process, one that has ended, a hidden /proc) is null, never a guess.
 */
import type { ProcessImage, RunState, Stat } from "../port.ts";
import { readLink, readText, withoutDeletedMark } from "../readable.ts";

/** The state letter of stat. */
function runState(letter: string): RunState {
  switch (letter) {
    case "R":
    case "D":
      return "running";
    case "S":
    case "I":
      return "asleep";
    case "T":
    case "t":
      return "stopped";
    case "Z":
    case "X":
      return "ended";
    default:
      return "alive";
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
    state: runState(state),
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

/** Index of field 28, the start of the stack, among the fields of stat after the name. */
const START_STACK = 25;

/**
 * The kernel places the stack of every started program elsewhere; "0" when the kernel hides it, or the process is ending.
 * An ending process has no file either, so the file is read last: otherwise the end looks like another program.
 */
export function processImage(pid: number): ProcessImage | null {
  const text = readText(`/proc/${pid}/stat`);
  const executable = text === null ? null : processLink(pid, "exe");
  if (executable === null || text === null) return null;
  const start = text.slice(text.lastIndexOf(")") + 2).split(" ")[START_STACK] ?? "0";
  return { executable: withoutDeletedMark(executable), start };
}

export function processLink(pid: number, name: "cwd" | "exe"): string | null {
  return readLink(`/proc/${pid}/${name}`);
}

/** Path of the device with the kernel's number `tty` (major 136 to 143 are the pseudo terminals). */
export function ttyPath(tty: number): string | null {
  const major = (tty >> 8) & 0xfff;
  const minor = (tty & 0xff) | ((tty >>> 12) & 0xfff00);
  return major >= 136 && major <= 143 ? `/dev/pts/${(major - 136) * 256 + minor}` : null;
}
