/**
 * Connects to a Unix socket in a way that distinguishes a dead listener from a busy one and identifies the listener;
 * Bun's own connect does neither. This module keeps no descriptor.
 */
import { ptr } from "bun:ffi";
import { isDarwin, onFirstUse, openLibc, prepareErrno, readErrno } from "./libc.ts";

/** SOCK_STREAM, on Linux with SOCK_NONBLOCK and SOCK_CLOEXEC; macOS has neither flag and answers at once. */
const streamSocket = isDarwin ? 1 : 1 | 0o4000 | 0o2000000;
const unixFamily = 1;
/** Level and name of the socket option that begins with the listener's pid: SO_PEERCRED, on macOS LOCAL_PEERPID. */
const peerOption = isDarwin ? { level: 0, name: 2, bytes: 4 } : { level: 1, name: 17, bytes: 12 };
const ECONNREFUSED = isDarwin ? 61 : 111;
const ENOENT = 2;

const libc = onFirstUse(() => {
  prepareErrno();
  return openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    close: { args: ["i32"], returns: "i32" },
  });
});

/** `pid` is the listener's, null where the system does not report it. */
export type ConnectOutcome =
  | { readonly kind: "connected"; readonly pid: number | null }
  | { readonly kind: "refused" | "absent" | "other" };

/**
 * Connects without waiting and hangs up. `refused`: there is no listener any more; `absent`: no such path; `other`: a
 * listener has no room (EAGAIN), or we cannot connect (no descriptors left). The path must fit.
 */
export function tryConnect(path: string): ConnectOutcome {
  const { socket, connect, close } = libc();
  const fd = socket(unixFamily, streamSocket, 0);
  if (fd < 0) return { kind: "other" };
  try {
    const address = unixAddress(path);
    if (connect(fd, ptr(address), address.byteLength) === 0) return { kind: "connected", pid: peerPid(fd) };
    const errno = readErrno();
    if (errno === ECONNREFUSED) return { kind: "refused" };
    return { kind: errno === ENOENT ? "absent" : "other" };
  } finally {
    close(fd);
  }
}

/** The pid of the listener at the other end; null where the system does not report it. */
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
