/**
 * The few C library calls that Bun has no API for, on the descriptor of a terminal's master side. Loaded on first use
 * (~0.3 ms). Every call is non-blocking or returns at once, so that any thread may make it.
 *
 * write, poll, dup, tcgetattr, tcgetpgrp, getpgid and ptsname take a fixed number of arguments. ioctl and fcntl are
 * variadic: on Apple silicon their variable arguments travel on the stack, which the padded signature reproduces.
 */

import { dlopen } from "bun:ffi";

const darwin = process.platform === "darwin";

/** In order of likelihood: glibc, musl (whose loader is its libc), macOS. */
const libraries = darwin
  ? ["libSystem.B.dylib"]
  : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`, "libc.so"];

const fixed = {
  write: { args: ["i32", "ptr", "usize"], returns: "i32" },
  close: { args: ["i32"], returns: "i32" },
  dup: { args: ["i32"], returns: "i32" },
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

/** Linux, include/uapi/linux/fcntl.h. */
const F_DUPFD_CLOEXEC = 1030;

function load() {
  for (const [at, name] of libraries.entries()) {
    try {
      const { symbols } = dlopen(name, fixed);
      if (darwin && process.arch === "arm64") {
        const { ioctl } = dlopen(name, { ioctl: { args: padded, returns: "i32" } }).symbols;
        const call = (fd: number, request: number, data: Uint16Array) => ioctl(fd, request, 0, 0, 0, 0, 0, 0, data);
        return { ...symbols, ioctl: call, duplicate: symbols.dup };
      }
      const { ioctl, fcntl } = dlopen(name, {
        ioctl: { args: plain, returns: "i32" },
        fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
      }).symbols;
      // macOS needs no close-on-exec here: Bun spawns there with POSIX_SPAWN_CLOEXEC_DEFAULT.
      const duplicate = darwin ? symbols.dup : (fd: number) => fcntl(fd, F_DUPFD_CLOEXEC, 0);
      return {
        ...symbols,
        ioctl: (fd: number, request: number, data: Uint16Array) => ioctl(fd, request, data),
        duplicate,
      };
    } catch (error) {
      if (at === libraries.length - 1) throw error;
    }
  }
  throw new Error(`no C library among ${libraries.join(", ")}`);
}

export type Libc = ReturnType<typeof load>;

let loaded: Libc | undefined;

/** @throws Error when no C library can be opened */
export function libc(): Libc {
  loaded ??= load();
  return loaded;
}

/** poll.h. */
export const POLLOUT = 0x4;
