/**
 * What the Linux kernel says about the programs that hold a terminal (docs/architecture.md, State of a program).
 *
 * Reads /proc only: the foreground group (field 8 of /proc/SHELL/stat), its members, and what each of their threads is
 * blocked in; a read, poll, select or epoll counts as waiting for input only when one of its descriptors is this very
 * terminal. Costs a scan of /proc (~1 ms for 200 processes), so it is called when output pauses, never per byte.
 * A fact that cannot be had (another user's process, another system) is "hidden" or null, never a guess.
 */
import fs from "node:fs";
import { type BlockedCall, type BlockedIn, blockedByChannel, parseSyscall } from "./blocked-syscall.ts";
import { readableBytes } from "./descriptors.ts";
import { parseStat, readText, type Stat, statOf } from "./proc.ts";
import { libc, POLLIN } from "./tty-calls.ts";

/** Threads of one process that are looked at; a program with more does not read its terminal in the last of them. */
const MAX_THREADS = 64;
/** Ancestors between a program and the session's shell; deeper nesting is not looked at. */
const MAX_ANCESTORS = 32;
/** struct pollfd: int fd, short events, short revents. */
const POLLFD_BYTES = 8;
/** Descriptors of one poll or select that are looked at. */
const MAX_POLLED = 1_024;
/** POLLIN and EPOLLIN, the same bit. */
const READABLE = 1;

/**
 * reading_tty: blocked until this terminal has input. working: on a processor, in disk wait, or asleep until a time.
 * child: waiting for another process. waiting: for something else (a socket, a pipe, a lock). stopped: by a signal.
 * hidden: the kernel does not tell.
 */
type ProcessActivity = "reading_tty" | "working" | "child" | "waiting" | "stopped" | "hidden";

export interface ProcessFacts {
  readonly pid: number;
  readonly ppid: number;
  readonly group: number;
  /** As in /proc/PID/comm: at most 15 bytes. */
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

/** Path of the device that the kernel numbers `tty` (major 136 to 143 are the pseudo terminals). */
export function ttyPath(tty: number): string | null {
  const major = (tty >> 8) & 0xfff;
  const minor = (tty & 0xff) | ((tty >> 12) & 0xfff00);
  return major >= 136 && major <= 143 ? `/dev/pts/${(major - 136) * 256 + minor}` : null;
}

/**
 * The same for a shell that itself holds the terminal and waits for its input, without a scan of /proc: a few reads. It
 * names no other member of the shell's group, so it is for a shell at its prompt, of whose state others say nothing.
 * @returns null in every other case
 */
export function readShellInput(shellPid: number): ForegroundFacts | null {
  if (process.platform !== "linux") return null;
  const shell = statOf(shellPid);
  if (shell === null || shell.foreground !== shell.pid || shell.group !== shell.pid) return null;
  const path = ttyPath(shell.tty);
  const own = factsOf(shell, shell.tty, path);
  if (path === null || own.activity !== "reading_tty") return null;
  return { group: shell.group, shellGroup: shell.group, members: [own], ancestors: [], unread: unreadInput(path) };
}

/**
 * Facts about the terminal of the session's child.
 * @returns null where the kernel does not offer them: not Linux, or the child has ended
 */
export function readForeground(shellPid: number): ForegroundFacts | null {
  if (process.platform !== "linux") return null;
  const shell = statOf(shellPid);
  if (shell === null || shell.foreground <= 0) return null;
  const path = ttyPath(shell.tty);
  const found: Stat[] = [];
  for (const entry of fs.readdirSync("/proc")) {
    const first = entry.charCodeAt(0);
    // Asking the system for each group takes a fiftieth of reading each process's file.
    if (first < 0x31 || first > 0x39 || libc().getpgid(Number(entry)) !== shell.foreground) continue;
    const stat = statOf(Number(entry));
    if (stat !== null && stat.group === shell.foreground && stat.state !== "Z" && stat.state !== "X") found.push(stat);
  }
  found.sort((a, b) => Number(b.pid === shell.foreground) - Number(a.pid === shell.foreground) || a.pid - b.pid);
  const members = found.map((stat) => factsOf(stat, shell.tty, path));
  return {
    group: shell.foreground,
    shellGroup: shell.group,
    members,
    // Nothing stands between the shell and its own group.
    ancestors: shell.foreground === shell.group ? [] : ancestorsOf(members[0], shellPid, shell.foreground),
    unread: path === null ? null : unreadInput(path),
  };
}

export interface TerminalReader {
  /** Whether it is blocked until its terminal has input, itself in the foreground; null where the kernel does not tell. */
  readonly reading: boolean | null;
  /** Bytes of input not read yet; null when unknown. */
  readonly unread: number | null;
}

/** Whether one process waits for its terminal's input: a few reads of /proc, no scan. Null where there is no /proc. */
export function readTerminalReader(pid: number): TerminalReader | null {
  if (process.platform !== "linux") return null;
  const stat = statOf(pid);
  if (stat === null) return null;
  const path = ttyPath(stat.tty);
  const unread = path === null ? null : unreadInput(path);
  if (stat.foreground !== stat.group) return { reading: false, unread };
  const activity = activityOf(stat, stat.tty, path);
  return { reading: activity === "hidden" ? null : activity === "reading_tty", unread };
}

function ancestorsOf(leader: ProcessFacts | undefined, shellPid: number, group: number): ProcessFacts[] {
  const ancestors: ProcessFacts[] = [];
  let pid = leader?.ppid ?? 0;
  for (let depth = 0; depth < MAX_ANCESTORS && pid > 1 && pid !== shellPid; depth++) {
    const stat = statOf(pid);
    if (stat === null) break;
    if (stat.group !== group) ancestors.push({ ...identity(stat), activity: "child" });
    pid = stat.ppid;
  }
  // A chain that does not reach the shell is that of an orphan: its ancestors say nothing.
  return pid === shellPid ? ancestors : [];
}

function identity(stat: Stat): Omit<ProcessFacts, "activity"> {
  const line = readText(`/proc/${stat.pid}/cmdline`) ?? "";
  const args = line.split("\0").slice(0, -1);
  return { pid: stat.pid, ppid: stat.ppid, group: stat.group, name: stat.name, args };
}

function factsOf(stat: Stat, tty: number, path: string | null): ProcessFacts {
  return { ...identity(stat), activity: activityOf(stat, tty, path) };
}

function activityOf(stat: Stat, tty: number, path: string | null): ProcessActivity {
  if (stat.state === "T" || stat.state === "t") return "stopped";
  const isTty = stat.tty === tty ? (fd: number) => isTerminal(stat.pid, fd, path) : () => false;
  const main = threadActivity(stat.pid, stat.pid, stat.state, isTty);
  if (stat.threads <= 1 || main === "reading_tty" || main === "hidden") return main;
  // A runtime with threads (Go, Java) may read in one while its first waits for a lock. A helper thread that sleeps
  // between checks says nothing about the program; one on a processor does.
  let running = false;
  for (const tid of threadsOf(stat.pid)) {
    const state = threadState(stat.pid, tid);
    if (state === null) continue;
    if (threadActivity(stat.pid, tid, state, isTty) === "reading_tty") return "reading_tty";
    running ||= state === "R" || state === "D";
  }
  return running ? "working" : main;
}

function threadsOf(pid: number): number[] {
  try {
    return fs
      .readdirSync(`/proc/${pid}/task`)
      .map(Number)
      .filter((tid) => tid !== pid)
      .slice(0, MAX_THREADS);
  } catch {
    // Ended meanwhile.
    return [];
  }
}

/** State letter of a thread. */
function threadState(pid: number, tid: number): string | null {
  const text = readText(`/proc/${pid}/task/${tid}/stat`);
  return text === null ? null : (parseStat(text)?.state ?? null);
}

function threadActivity(pid: number, tid: number, state: string, isTty: (fd: number) => boolean): ProcessActivity {
  if (state === "R" || state === "D") return "working";
  const task = `/proc/${pid}/task/${tid}`;
  const text = readText(`${task}/syscall`);
  const call = text === null ? null : parseSyscall(text);
  if (call === "running") return "working";
  if (call !== null) return callActivity(pid, call, isTty);
  const channel = readText(`${task}/wchan`);
  const blockedIn = channel === null ? null : blockedByChannel(channel);
  if (blockedIn !== null) return channelActivity(blockedIn, isTty);
  return text === null ? "hidden" : "waiting";
}

function callActivity(pid: number, call: BlockedCall, isTty: (fd: number) => boolean): ProcessActivity {
  const [first = 0, second = 0] = call.args;
  switch (call.blockedIn) {
    case "sleep":
      return "working";
    case "child":
      return "child";
    case "other":
      return "waiting";
    case "read":
      return isTty(first) ? "reading_tty" : "waiting";
    case "epoll":
      return epollReads(pid, first, isTty) ? "reading_tty" : "waiting";
    case "poll":
      return polledFds(pid, first, second).some(isTty) ? "reading_tty" : timedOnly(second);
    case "select":
      return selectedFds(pid, first, second).some(isTty) ? "reading_tty" : timedOnly(first);
  }
}

/** A poll or select without descriptors is how some programs sleep. */
function timedOnly(descriptors: number): ProcessActivity {
  return descriptors === 0 ? "working" : "waiting";
}

/** Only the wait channel is known: the descriptor is not, so the standard ones stand in for it. */
function channelActivity(blockedIn: BlockedIn, isTty: (fd: number) => boolean): ProcessActivity {
  if (blockedIn === "sleep") return "working";
  if (blockedIn === "child") return "child";
  if (blockedIn === "read") return isTty(0) ? "reading_tty" : "waiting";
  return "waiting";
}

function isTerminal(pid: number, fd: number, path: string | null): boolean {
  try {
    const target = fs.readlinkSync(`/proc/${pid}/fd/${fd}`);
    // /dev/tty is whatever controls the process, and the caller has checked that this is our terminal.
    return target === path || target === "/dev/tty";
  } catch {
    // Closed meanwhile, or hidden.
    return false;
  }
}

/** A piece of another process's memory; empty when it may not be read. */
function memoryOf(pid: number, address: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let fd: number | null = null;
  try {
    fd = fs.openSync(`/proc/${pid}/mem`, "r");
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, length, address));
  } catch {
    // Hidden, or unmapped meanwhile.
    return bytes.subarray(0, 0);
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}

/** Descriptors that a poll(2) waits to read from. */
function polledFds(pid: number, array: number, count: number): number[] {
  const memory = memoryOf(pid, array, Math.min(count, MAX_POLLED) * POLLFD_BYTES);
  const fds: number[] = [];
  for (let at = 0; at + POLLFD_BYTES <= memory.length; at += POLLFD_BYTES) {
    const fd = memory.readInt32LE(at);
    if (fd >= 0 && (memory.readInt16LE(at + 4) & READABLE) !== 0) fds.push(fd);
  }
  return fds;
}

/** Descriptors that a select(2) waits to read from: the bits of its first set. */
function selectedFds(pid: number, count: number, set: number): number[] {
  if (set === 0) return [];
  const memory = memoryOf(pid, set, Math.ceil(Math.min(count, MAX_POLLED) / 8));
  const fds: number[] = [];
  for (let fd = 0; fd < memory.length * 8; fd++) {
    if (((memory[fd >> 3] ?? 0) & (1 << (fd & 7))) !== 0) fds.push(fd);
  }
  return fds;
}

/** Whether an epoll descriptor watches the terminal for input (lines `tfd: N events: HEX …` of its fdinfo). */
function epollReads(pid: number, epoll: number, isTty: (fd: number) => boolean): boolean {
  const info = readText(`/proc/${pid}/fdinfo/${epoll}`) ?? "";
  for (const [, fd, events] of info.matchAll(/^tfd:\s*(\d+)\s+events:\s*([0-9a-f]+)/gm)) {
    if ((Number.parseInt(events ?? "", 16) & READABLE) !== 0 && isTty(Number(fd))) return true;
  }
  return false;
}

/** Input that waits to be read: a program blocked in read has, for the blink until it wakes, not seen it yet. */
function unreadInput(path: string): number | null {
  let fd: number | null = null;
  try {
    fd = fs.openSync(path, fs.constants.O_RDONLY | fs.constants.O_NOCTTY | fs.constants.O_NONBLOCK);
    // The kernel hands input on from a queue of its own: only poll waits until all of that has arrived.
    libc().poll(new Int32Array([fd, POLLIN]), 1, 0);
    return readableBytes(fd);
  } catch {
    // Gone, or in another mount namespace.
    return null;
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}
