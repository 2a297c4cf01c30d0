/**
 * Facts about the programs that hold a terminal (docs/architecture.md, State of a program): the foreground group, its
 * members, and what each is blocked in.
 *
 * On Linux this costs a scan of /proc (~1 ms for 200 processes), so it is called when output pauses, never per byte. An
 * unavailable fact (another user's process; on macOS, what a process waits for) is "hidden" or null, never a guess.
 */
import fs from "node:fs";
import { readableBytes } from "./descriptors.ts";
import { platform } from "./platform.ts";
import type { ProcessActivity, Stat } from "./port.ts";
import { libc, POLLIN } from "./tty-calls.ts";

/** Maximum ancestors read between a program and the session's shell. */
const MAX_ANCESTORS = 32;
export interface ProcessFacts {
  readonly pid: number;
  readonly ppid: number;
  readonly group: number;
  /** At most 15 bytes on Linux, 31 on macOS. */
  readonly name: string;
  readonly args: readonly string[];
  readonly activity: ProcessActivity;
}

export interface ForegroundFacts {
  /** Process group that holds the terminal. */
  readonly group: number;
  /** Process group of the session's child. */
  readonly shellGroup: number;
  /** Members of the foreground group, its leader first when it lives. */
  readonly members: readonly ProcessFacts[];
  /** Processes between the foreground group and the session's child, nearest first (nested shells). */
  readonly ancestors: readonly ProcessFacts[];
  /** Bytes of input not read yet; null when unknown. */
  readonly unread: number | null;
}

/**
 * The same for a shell that itself holds the terminal and waits for its input, by a few reads instead of a
 * scan of /proc. It names no other member of the shell's group, so use it for a shell at its prompt, whose
 * state does not depend on others.
 * @returns null in every other case
 */
export function readShellInput(shellPid: number): ForegroundFacts | null {
  const { processes } = platform();
  const shell = processes.stat(shellPid);
  if (shell === null || shell.foreground !== shell.pid || shell.group !== shell.pid) return null;
  const path = processes.terminalPath(shell.tty);
  const own = factsOf(shell, shell.tty, path);
  if (path === null || own.activity !== "reading_tty") return null;
  return { group: shell.group, shellGroup: shell.group, members: [own], ancestors: [], unread: unreadInput(path) };
}

/**
 * Facts about the terminal of the session's child.
 * @returns null when the child has ended or is hidden
 */
export function readForeground(shellPid: number): ForegroundFacts | null {
  const { processes } = platform();
  const shell = processes.stat(shellPid);
  if (shell === null || shell.foreground <= 0) return null;
  const path = processes.terminalPath(shell.tty);
  const found = [...processes.members(shell.foreground)];
  found.sort((a, b) => Number(b.pid === shell.foreground) - Number(a.pid === shell.foreground) || a.pid - b.pid);
  const members = found.map((stat) => factsOf(stat, shell.tty, path));
  return {
    group: shell.foreground,
    shellGroup: shell.group,
    members,
    // The shell holds the terminal itself.
    ancestors: shell.foreground === shell.group ? [] : ancestorsOf(members[0], shellPid, shell.foreground),
    unread: path === null ? null : unreadInput(path),
  };
}

/** The name of the program that holds a terminal, its group's leader, at the cost of one read. Null when unknown. */
export function foregroundName(group: number | null): string | null {
  return group === null || group <= 0 ? null : (platform().processes.stat(group)?.name ?? null);
}

/** Whether a member of a process group is on a processor, or waits for one. */
export function isOnProcessor(group: number | null): boolean {
  return (
    group !== null &&
    group > 0 &&
    platform()
      .processes.members(group)
      .some(({ state }) => state === "running")
  );
}

export interface TerminalReader {
  /** Whether it is in the foreground and blocked until its terminal has input; null when the kernel hides it. */
  readonly reading: boolean | null;
  /** Bytes of input not read yet; null when unknown. */
  readonly unread: number | null;
}

/** Whether one process waits for its terminal's input: a few reads, no scan. Null for a hidden process. */
export function readTerminalReader(pid: number): TerminalReader | null {
  const { processes } = platform();
  const stat = processes.stat(pid);
  // An ended process reads nothing, and a key for it would be typed into the shell around it.
  if (stat === null) return processes.isAlive(pid) ? null : { reading: false, unread: null };
  const path = processes.terminalPath(stat.tty);
  const unread = path === null ? null : unreadInput(path);
  if (stat.foreground !== stat.group) return { reading: false, unread };
  const activity = processes.activity(stat, stat.tty, path);
  return { reading: activity === "hidden" ? null : activity === "reading_tty", unread };
}

function ancestorsOf(leader: ProcessFacts | undefined, shellPid: number, group: number): ProcessFacts[] {
  const ancestors: ProcessFacts[] = [];
  let pid = leader?.ppid ?? 0;
  for (let depth = 0; depth < MAX_ANCESTORS && pid > 1 && pid !== shellPid; depth++) {
    const stat = platform().processes.stat(pid);
    if (stat === null) break;
    if (stat.group !== group) ancestors.push({ ...identity(stat), activity: "child" });
    pid = stat.ppid;
  }
  // A chain that does not reach the shell belongs to an orphan: its ancestors mean nothing.
  return pid === shellPid ? ancestors : [];
}

function identity(stat: Stat): Omit<ProcessFacts, "activity"> {
  const { pid, ppid, group, name } = stat;
  return { pid, ppid, group, name, args: platform().processes.args(pid) };
}

function factsOf(stat: Stat, tty: number, path: string | null): ProcessFacts {
  return { ...identity(stat), activity: platform().processes.activity(stat, tty, path) };
}

/** Pending input in bytes: for a moment, until it wakes, a program blocked in read has not seen it. */
function unreadInput(path: string): number | null {
  let fd: number | null = null;
  try {
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOCTTY | fs.constants.O_NONBLOCK);
    // The kernel passes input on from an internal queue: only poll waits until all of it has arrived.
    libc().poll(new Int32Array([fd, POLLIN]), 1, 0);
    return readableBytes(fd);
  } catch {
    // Gone, or in another mount namespace.
    return null;
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}
