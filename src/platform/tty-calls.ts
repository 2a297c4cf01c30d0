/**
 * C library calls on a terminal's descriptors, its processes and its limits. Every call is non-blocking or returns at
 * once, except ppoll, select and nanosleep, which take the time that the caller specifies.
 */
import { onFirstUse, openFcntl, openIoctl, openLibc } from "./libc.ts";
import { system } from "./system.ts";

const common = {
  read: { args: ["i32", "ptr", "usize"], returns: "i32" },
  pread: { args: ["i32", "ptr", "usize", "i64"], returns: "i32" },
  write: { args: ["i32", "ptr", "usize"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  poll: { args: ["ptr", "usize", "i32"], returns: "i32" },
  ptsname: { args: ["i32"], returns: "cstring" },
  tcgetattr: { args: ["i32", "ptr"], returns: "i32" },
  tcsetattr: { args: ["i32", "i32", "ptr"], returns: "i32" },
  tcgetpgrp: { args: ["i32"], returns: "i32" },
  getpgid: { args: ["i32"], returns: "i32" },
  getrlimit: { args: ["i32", "ptr"], returns: "i32" },
  setrlimit: { args: ["i32", "ptr"], returns: "i32" },
} as const;

/** poll with nanoseconds, system calls without a function, and files without a path. */
const ofLinux = {
  ppoll: { args: ["ptr", "usize", "ptr", "ptr"], returns: "i32" },
  syscall: { args: ["i64", "i32", "ptr", "u32", "u32"], returns: "i64" },
  prlimit: { args: ["i32", "i32", "ptr", "ptr"], returns: "i32" },
  memfd_create: { args: ["ptr", "u32"], returns: "i32" },
} as const;

/** @throws WshError internal_error when no C library can be opened */
export const libc = onFirstUse(() => ({ ...openLibc(common), ioctl: openIoctl(), fcntl: openFcntl() }));

/** Null on other systems. */
export const linuxLibc = onFirstUse(() => (system.name === "linux" ? openLibc(ofLinux) : null));

export const { POLLIN } = system.constants;
