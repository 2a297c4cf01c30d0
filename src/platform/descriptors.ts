/** Calls on any file descriptor: flock, fcntl, dup2, FIONREAD. This module keeps no descriptor. */
import fs from "node:fs";
import { constants } from "node:os";
import { WshError } from "../protocol/errors.ts";
import { onFirstUse, openLibc, prepareErrno, readErrno } from "./libc.ts";
import { system } from "./system.ts";
import { libc as ttyLibc } from "./tty-calls.ts";

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
const { LOCK_EX, LOCK_SH, LOCK_NB, FIONREAD, F_DUPFD_CLOEXEC, TIOCGWINSZ } = system.constants;

const libc = onFirstUse(() => {
  prepareErrno();
  return openLibc({
    flock: { args: ["i32", "i32"], returns: "i32" },
    dup2: { args: ["i32", "i32"], returns: "i32" },
  });
});

/** `held`: by another process. `refused`: this file system or a sandbox supports no such lock. */
type FlockOutcome =
  | { readonly kind: "taken" | "held" }
  | { readonly kind: "refused"; readonly error: NodeJS.ErrnoException };

/** Takes a flock, exclusive by default, if it is free. Closing the descriptor releases it. */
export function tryFlock(fd: number, mode: "exclusive" | "shared" = "exclusive"): FlockOutcome {
  if (libc().flock(fd, (mode === "shared" ? LOCK_SH : LOCK_EX) | LOCK_NB) === 0) return { kind: "taken" };
  const errno = readErrno();
  const code = Object.entries(constants.errno).find(([, number]) => number === errno)?.[0] ?? "";
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

/** Returns a second descriptor of the same open file, which no started program inherits; negative on failure. */
export function duplicate(fd: number): number {
  return ttyLibc().fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

/** Size of this terminal's window in pixels; zeros: it reports none. */
export function windowPixels(fd: number): { readonly width: number; readonly height: number } {
  // struct winsize: rows, columns, width and height.
  const size = new Uint16Array(4);
  const [, , width = 0, height = 0] = ttyLibc().ioctl(fd, TIOCGWINSZ, size) === 0 ? size : [];
  return { width, height };
}

/** Bytes that a read of this terminal or pipe would get (cooked terminal: whole lines); null when it is neither. */
export function readableBytes(fd: number): number | null {
  const count = new Int32Array(1);
  return ttyLibc().ioctl(fd, FIONREAD, count) === 0 ? (count[0] ?? 0) : null;
}
