/**
 * C library calls on a terminal's descriptors, its processes and its limits. Every call is non-blocking or returns at
 * once, except `pollWithin`, which takes as long as its caller specifies.
 *
 * read, pread, write, poll, tcgetattr, tcgetpgrp, getpgid and ptsname take a fixed number of arguments. ioctl is
 * variadic: on Apple silicon its variable arguments travel on the stack, which the padded signature reproduces.
 */

import { isDarwin, onFirstUse, openLibc } from "./libc.ts";

const fixed = {
  read: { args: ["i32", "ptr", "usize"], returns: "i32" },
  pread: { args: ["i32", "ptr", "usize", "i64"], returns: "i32" },
  write: { args: ["i32", "ptr", "usize"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  poll: { args: ["ptr", "usize", "i32"], returns: "i32" },
  ptsname: { args: ["i32"], returns: "cstring" },
  tcgetattr: { args: ["i32", "ptr"], returns: "i32" },
  tcgetpgrp: { args: ["i32"], returns: "i32" },
  getpgid: { args: ["i32"], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
} as const;

/** Six register arguments of padding push the variable argument onto the stack, where Apple's arm64 ABI wants it. */
const padded = ["i32", "u64", "u64", "u64", "u64", "u64", "u64", "u64", "ptr"] as const;
const plain = ["i32", "u64", "ptr"] as const;

/** Linux only: poll with a time in nanoseconds, and system calls that have no function. */
const linux = {
  ppoll: { args: ["ptr", "usize", "ptr", "ptr"], returns: "i32" },
  syscall: { args: ["i64", "i32", "ptr", "u32", "u32"], returns: "i64" },
  fcntl: { args: ["i32", "i32", "i64"], returns: "i32" },
} as const;

/** Polls one descriptor for at most `us` microseconds: struct pollfd as two words. */
type PollWithin = (watched: Int32Array, us: number) => number;

function inNs(ppoll: (watched: Int32Array, n: number, time: BigInt64Array, signals: null) => number): PollWithin {
  // struct timespec { time_t tv_sec; long tv_nsec; }
  const time = new BigInt64Array(2);
  return (watched, us) => {
    time[1] = BigInt(us * 1_000);
    return ppoll(watched, 1, time, null);
  };
}

function inMs(poll: (watched: Int32Array, n: number, ms: number) => number): PollWithin {
  return (watched, us) => poll(watched, 1, Math.ceil(us / 1_000));
}

function open() {
  const symbols = openLibc(fixed);
  if (isDarwin && process.arch === "arm64") {
    const { ioctl } = openLibc({ ioctl: { args: padded, returns: "i32" } });
    const call = (fd: number, request: number, data: Uint16Array) => ioctl(fd, request, 0, 0, 0, 0, 0, 0, data);
    return { ...symbols, ioctl: call, pollWithin: inMs(symbols.poll), syscall: null, fcntl: null };
  }
  const { ioctl } = openLibc({ ioctl: { args: plain, returns: "i32" } });
  const own = isDarwin ? null : openLibc(linux);
  return {
    ...symbols,
    ioctl: (fd: number, request: number, data: Uint16Array) => ioctl(fd, request, data),
    pollWithin: own === null ? inMs(symbols.poll) : inNs(own.ppoll),
    syscall: own?.syscall ?? null,
    fcntl: own?.fcntl ?? null,
  };
}

/** @throws WshError internal_error when no C library can be opened */
export const libc = onFirstUse(open);

/** poll.h. */
export const POLLIN = 0x1;
export const POLLOUT = 0x4;
