/**
 * The calls in which the Linux kernel reports a process as blocked, thread by thread; a read, poll, select or epoll
 * counts as waiting for input only when one of its descriptors is this very terminal. An unavailable fact (another
 * user's process) is "hidden", never a guess.
 */
import fs from "node:fs";
import type { ProcessActivity, RunState, Stat } from "../port.ts";
import { namesIn, readLink, readText } from "../readable.ts";
import { type BlockedCall, type BlockedIn, blockedByChannel, parseSyscall } from "./blocked-syscall.ts";
import { parseStat } from "./proc.ts";

/** Maximum threads read of one process; a program with more does not read its terminal in the last of them. */
const MAX_THREADS = 64;
/** struct pollfd: int fd, short events, short revents. */
const POLLFD_BYTES = 8;
/** Maximum descriptors read of one poll or select. */
const MAX_POLLED = 1_024;
/** POLLIN and EPOLLIN, the same bit. */
const READABLE = 1;

export function activityOf(stat: Stat, tty: number, path: string | null): ProcessActivity {
  if (stat.state === "stopped") return "stopped";
  const isTty = stat.tty === tty ? (fd: number) => isTerminal(stat.pid, fd, path) : () => false;
  const main = threadActivity(stat.pid, stat.pid, stat.state, isTty);
  if (stat.threads <= 1 || main === "reading_tty" || main === "hidden") return main;
  // A runtime with threads (Go, Java) may read in one thread while its first waits for a lock. A helper
  // thread that sleeps between checks says nothing about the program; a thread on a processor does.
  let running = false;
  for (const tid of threadsOf(stat.pid)) {
    const state = threadState(stat.pid, tid);
    if (state === null) continue;
    if (threadActivity(stat.pid, tid, state, isTty) === "reading_tty") return "reading_tty";
    running ||= state === "running";
  }
  return running ? "working" : main;
}

function threadsOf(pid: number): number[] {
  return namesIn(`/proc/${pid}/task`)
    .map(Number)
    .filter((tid) => tid !== pid)
    .slice(0, MAX_THREADS);
}

function threadState(pid: number, tid: number): RunState | null {
  const text = readText(`/proc/${pid}/task/${tid}/stat`);
  return text === null ? null : (parseStat(text)?.state ?? null);
}

function threadActivity(pid: number, tid: number, state: RunState, isTty: (fd: number) => boolean): ProcessActivity {
  if (state === "running") return "working";
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

/** Only the wait channel is known, not the descriptor: the standard ones are checked instead. */
function channelActivity(blockedIn: BlockedIn, isTty: (fd: number) => boolean): ProcessActivity {
  if (blockedIn === "sleep") return "working";
  if (blockedIn === "child") return "child";
  if (blockedIn === "read") return isTty(0) ? "reading_tty" : "waiting";
  return "waiting";
}

function isTerminal(pid: number, fd: number, path: string | null): boolean {
  const target = readLink(`/proc/${pid}/fd/${fd}`);
  // /dev/tty is whatever controls the process, and the caller has checked that this is our terminal.
  return target !== null && (target === path || target === "/dev/tty");
}

/** A piece of another process's memory; empty without permission. */
function memoryOf(pid: number, address: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  let fd: number | null = null;
  try {
    fd = fs.openSync(`/proc/${pid}/mem`, "r");
    return bytes.subarray(0, fs.readSync(fd, bytes, 0, length, address));
  } catch {
    // The memory is hidden, or was unmapped meanwhile.
    return bytes.subarray(0, 0);
  } finally {
    if (fd !== null) fs.closeSync(fd);
  }
}

/** Descriptors that a poll(2) waits to read from. */
function polledFds(pid: number, array: number, count: number): number[] {
  const memory = memoryOf(pid, array, Math.min(count, MAX_POLLED) * POLLFD_BYTES);
  const fds: number[] = [];
  for (let index = 0; index + POLLFD_BYTES <= memory.length; index += POLLFD_BYTES) {
    const fd = memory.readInt32LE(index);
    if (fd >= 0 && (memory.readInt16LE(index + 4) & READABLE) !== 0) fds.push(fd);
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
