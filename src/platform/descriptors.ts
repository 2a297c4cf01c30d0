/** Calls on any file descriptor: flock, dup, dup2, FIONREAD. This module keeps no descriptor. */
import { ptr } from "bun:ffi";
import fs from "node:fs";
import { getSystemErrorName } from "node:util";
import { WshError } from "../protocol/errors.ts";
import { isDarwin, onFirstUse, openLibc, prepareErrno, readErrno } from "./libc.ts";

/** Failures of flock(2) that no retry cures. */
const lockRefusals: ReadonlySet<string> = new Set([
  "ENOSYS",
  "ENOLCK",
  "EOPNOTSUPP",
  "ENOTSUP",
  "EPERM",
  "EACCES",
  "EIO",
]);
/** LOCK_EX | LOCK_NB of flock(2), the same number on Linux and macOS. */
const lockExclusiveNonBlocking = 2 | 4;
/** FIONREAD of ioctl(2) on Linux; macOS has another number and passes variadic arguments in another way. */
const FIONREAD = 0x541b;
/** F_DUPFD_CLOEXEC of fcntl(2) on Linux. */
const F_DUPFD_CLOEXEC = 1030;

const libc = onFirstUse(() => {
  prepareErrno();
  return openLibc({
    flock: { args: ["i32", "i32"], returns: "i32" },
    fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
    dup: { args: ["i32"], returns: "i32" },
    dup2: { args: ["i32", "i32"], returns: "i32" },
    ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
  });
});

/** `held`: by another process. `refused`: this file system or a sandbox has no such lock. */
export type FlockOutcome =
  | { readonly kind: "taken" | "held" }
  | { readonly kind: "refused"; readonly error: NodeJS.ErrnoException };

/** Takes an exclusive flock if it is free. Closing the descriptor releases it. */
export function tryFlock(fd: number): FlockOutcome {
  if (libc().flock(fd, lockExclusiveNonBlocking) === 0) return { kind: "taken" };
  const errno = readErrno();
  const code = errno === 0 ? "" : getSystemErrorName(-errno);
  if (!lockRefusals.has(code)) return { kind: "held" };
  return { kind: "refused", error: Object.assign(new Error(`${code}: refused by the system`), { code }) };
}

/**
 * Detaches descriptors 0 and 1 from the starter: both become /dev/null, so that the starter sees the end of its pipe
 * and a later write cannot fail with EPIPE.
 */
export function detachStdio(): void {
  const fd = fs.openSync("/dev/null", "r+");
  try {
    for (const target of [0, 1]) {
      if (libc().dup2(fd, target) !== target) throw new WshError("internal_error", `dup2 of ${target} failed`);
    }
  } finally {
    if (fd > 1) fs.closeSync(fd); // it is one of the two when that one was closed
  }
}

/** Returns a second descriptor of the same open file that no program inherits; negative on failure. */
export function duplicate(fd: number): number {
  // macOS needs no close-on-exec: Bun spawns there with POSIX_SPAWN_CLOEXEC_DEFAULT. (fcntl is variadic, as ioctl is.)
  return isDarwin ? libc().dup(fd) : libc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/** Bytes that a read of this terminal or pipe would get (cooked terminal: whole lines). Linux only, else null. */
export function readableBytes(fd: number): number | null {
  if (process.platform !== "linux") return null;
  const count = new Int32Array(1);
  return libc().ioctl(fd, FIONREAD, ptr(count)) === 0 ? (count[0] ?? 0) : null;
}
