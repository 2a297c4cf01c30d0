/**
 * The few system calls that neither Node's nor Bun's API offers, through bun:ffi: flock, dup2, setrlimit, FIONREAD.
 * The library is opened at the first call, so that importing this module costs nothing; it is the C library that the
 * process already uses, by the name it has on glibc, musl and macOS. Nothing here keeps a descriptor.
 */

import { dlopen, ptr } from "bun:ffi";
import fs from "node:fs";
import { WshError } from "../protocol/errors.ts";

const libraryNames =
  process.platform === "darwin"
    ? ["libSystem.B.dylib"]
    : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`, "libc.so"];

/** LOCK_EX | LOCK_NB of flock(2), the same number on Linux and macOS. */
const lockExclusiveNonBlocking = 2 | 4;
/** FIONREAD of ioctl(2) on Linux; macOS has another number and passes variadic arguments in another way. */
const fionread = 0x541b;
/** RLIMIT_NOFILE of setrlimit(2). */
const rlimitNofile = process.platform === "darwin" ? 8 : 7;

function open() {
  let failure: unknown;
  for (const name of libraryNames) {
    try {
      return dlopen(name, {
        flock: { args: ["i32", "i32"], returns: "i32" },
        dup2: { args: ["i32", "i32"], returns: "i32" },
        ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
        getrlimit: { args: ["i32", "ptr"], returns: "i32" },
        setrlimit: { args: ["i32", "ptr"], returns: "i32" },
      }).symbols;
    } catch (error) {
      failure = error;
    }
  }
  const message = `none of ${libraryNames.join(", ")} can be loaded`;
  throw new WshError("internal_error", message, {}, { cause: failure });
}

let opened: ReturnType<typeof open> | null = null;

function libc(): ReturnType<typeof open> {
  opened ??= open();
  return opened;
}

/** Takes an exclusive flock if it is free; false when somebody holds it. Closing the descriptor gives it back. */
export function tryFlock(fd: number): boolean {
  return libc().flock(fd, lockExclusiveNonBlocking) === 0;
}

/**
 * Ends what a detached process was given on descriptors 0 and 1: both become /dev/null, so that the starter sees the
 * end of its pipe and a later write cannot fail with EPIPE.
 */
export function detachStdio(): void {
  const fd = fs.openSync("/dev/null", "r+");
  try {
    for (const target of [0, 1]) {
      if (libc().dup2(fd, target) !== target) throw new WshError("internal_error", `dup2 of ${target} failed`);
    }
  } finally {
    fs.closeSync(fd);
  }
}

/** Bytes that a read of this terminal or pipe would find (of a cooked terminal: whole lines). Null but on Linux. */
export function readableBytes(fd: number): number | null {
  if (process.platform !== "linux") return null;
  const count = new Int32Array(1);
  return libc().ioctl(fd, fionread, ptr(count)) === 0 ? (count[0] ?? 0) : null;
}

/** Soft and hard limit of open descriptors, as this process has them now. */
export function nofileLimit(): { soft: number; hard: number } {
  const limits = new BigUint64Array(2);
  if (libc().getrlimit(rlimitNofile, ptr(limits)) !== 0) throw new WshError("internal_error", "getrlimit failed");
  return { soft: Number(limits[0] ?? 0n), hard: Number(limits[1] ?? 0n) };
}

/**
 * Sets the soft limit of open descriptors for this process and for the children that it starts from now on.
 * False when the system refuses (above the hard limit).
 */
export function setNofileSoftLimit(soft: number): boolean {
  const limits = new BigUint64Array(2);
  if (libc().getrlimit(rlimitNofile, ptr(limits)) !== 0) return false;
  limits[0] = BigInt(soft);
  return libc().setrlimit(rlimitNofile, ptr(limits)) === 0;
}
