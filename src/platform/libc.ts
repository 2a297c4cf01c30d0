/**
 * The few system calls that neither Node's nor Bun's API offers, through bun:ffi: flock, dup, dup2, FIONREAD,
 * and a connect that tells a dead listener from a busy one.
 * The library is opened at the first call, so that importing this module costs nothing; it is the C library that the
 * process already uses, by the name it has on glibc, musl and macOS. Nothing here keeps a descriptor.
 */

import { dlopen, ptr, read } from "bun:ffi";
import fs from "node:fs";
import { getSystemErrorName } from "node:util";
import { WshError } from "../protocol/errors.ts";

const isDarwin = process.platform === "darwin";
/** The C library by the names that it has on glibc, musl and macOS; for modules that need calls of their own. */
export const libraryNames = isDarwin
  ? ["libSystem.B.dylib"]
  : ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`, "libc.so"];

/** What the C library calls the function that says where errno is. */
const errnoFunction = isDarwin ? "__error" : "__errno_location";
/** SOCK_STREAM, on Linux with SOCK_NONBLOCK and SOCK_CLOEXEC; macOS has neither flag and answers at once. */
const streamSocket = isDarwin ? 1 : 1 | 0o4000 | 0o2000000;
const unixFamily = 1;
/** Level and name of the socket option that begins with the listener's pid: SO_PEERCRED, on macOS LOCAL_PEERPID. */
const peerOption = isDarwin ? { level: 0, name: 2, bytes: 4 } : { level: 1, name: 17, bytes: 12 };
/** ECONNREFUSED and ENOENT. */
const connectionRefused = isDarwin ? 61 : 111;
const noEntry = 2;
/** Failures of flock(2) that no patience mends. */
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
const fionread = 0x541b;
/** F_DUPFD_CLOEXEC of fcntl(2) on Linux. */
const duplicateClosedOnExec = 1030;

function open() {
  let failure: unknown;
  for (const name of libraryNames) {
    try {
      const errno = dlopen(name, { [errnoFunction]: { args: [], returns: "ptr" } }).symbols[errnoFunction];
      const { symbols } = dlopen(name, {
        flock: { args: ["i32", "i32"], returns: "i32" },
        fcntl: { args: ["i32", "i32", "i32"], returns: "i32" },
        dup: { args: ["i32"], returns: "i32" },
        dup2: { args: ["i32", "i32"], returns: "i32" },
        ioctl: { args: ["i32", "u64", "ptr"], returns: "i32" },
        socket: { args: ["i32", "i32", "i32"], returns: "i32" },
        connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
        getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
        close: { args: ["i32"], returns: "i32" },
      });
      return { ...symbols, errno };
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

/** `held`: by another process. `refused`: this file system or a sandbox has no such lock. */
export type FlockOutcome =
  | { readonly kind: "taken" | "held" }
  | { readonly kind: "refused"; readonly error: NodeJS.ErrnoException };

/** Takes an exclusive flock if it is free. Closing the descriptor gives it back. */
export function tryFlock(fd: number): FlockOutcome {
  if (libc().flock(fd, lockExclusiveNonBlocking) === 0) return { kind: "taken" };
  const errno = readErrno();
  const code = errno === 0 ? "" : getSystemErrorName(-errno);
  if (!lockRefusals.has(code)) return { kind: "held" };
  return { kind: "refused", error: Object.assign(new Error(`${code}: refused by the system`), { code }) };
}

/** `pid` is the listener's, null where the system does not say. */
export type ConnectOutcome =
  | { readonly kind: "connected"; readonly pid: number | null }
  | { readonly kind: "refused" | "absent" | "other" };

/**
 * Connects to a Unix socket without waiting and hangs up. `refused`: nobody listens any more; `absent`: no such path;
 * `other`: somebody is there but has no room (EAGAIN), or we cannot ask (no descriptors left). The path must fit.
 */
export function tryConnect(path: string): ConnectOutcome {
  const { socket, connect, close } = libc();
  const fd = socket(unixFamily, streamSocket, 0);
  if (fd < 0) return { kind: "other" };
  try {
    const address = unixAddress(path);
    if (connect(fd, ptr(address), address.byteLength) === 0) return { kind: "connected", pid: peerPid(fd) };
    const errno = readErrno();
    if (errno === connectionRefused) return { kind: "refused" };
    return { kind: errno === noEntry ? "absent" : "other" };
  } finally {
    close(fd);
  }
}

/** The process that listens at the other end; null where the system does not say. */
function peerPid(fd: number): number | null {
  const value = new Int32Array(peerOption.bytes / 4);
  const length = new Uint32Array([peerOption.bytes]);
  const result = libc().getsockopt(fd, peerOption.level, peerOption.name, ptr(value), ptr(length));
  const pid = value[0] ?? 0;
  return result === 0 && pid > 0 ? pid : null; // 0: a process of another pid namespace
}

/** sockaddr_un: the family, on macOS after the length, each a byte there and two bytes on Linux; then the path. */
function unixAddress(path: string): Uint8Array {
  const bytes = Buffer.from(`\0\0${path}\0`);
  if (isDarwin) {
    bytes[0] = bytes.byteLength;
    bytes[1] = unixFamily;
  } else {
    bytes.writeUInt16LE(unixFamily); // every machine that we build for is little-endian
  }
  return bytes;
}

/** The reason of the failed call just before this. 0 where it cannot be had. */
function readErrno(): number {
  const place = libc().errno?.();
  return typeof place === "number" ? read.i32(place) : 0;
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
    if (fd > 1) fs.closeSync(fd); // it is one of the two when that one was closed
  }
}

/** A second descriptor of the same open file that no program inherits; negative when there is none. */
export function duplicate(fd: number): number {
  // macOS needs no close-on-exec: Bun spawns there with POSIX_SPAWN_CLOEXEC_DEFAULT. (fcntl is variadic, as ioctl is.)
  return isDarwin ? libc().dup(fd) : libc().fcntl(fd, duplicateClosedOnExec, 0);
}

/** Bytes that a read of this terminal or pipe would find (of a cooked terminal: whole lines). Null but on Linux. */
export function readableBytes(fd: number): number | null {
  if (process.platform !== "linux") return null;
  const count = new Int32Array(1);
  return libc().ioctl(fd, fionread, ptr(count)) === 0 ? (count[0] ?? 0) : null;
}
