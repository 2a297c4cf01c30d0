/**
 * Connects to a Unix socket in a way that distinguishes a dead listener from a busy one and identifies the listener;
 * Bun's own connect does neither. This module keeps no descriptor.
 */
import { ptr } from "bun:ffi";
import { onFirstUse, openLibc, prepareErrno, readErrno } from "./libc.ts";
import type { ConnectOutcome } from "./port.ts";
import { system } from "./system.ts";
import { libc as ttyLibc } from "./tty-calls.ts";

const { constants, layouts } = system;
const { AF_UNIX, SOCK_STREAM, ECONNREFUSED, ENOENT } = constants;
const socketFlags = (constants.SOCK_NONBLOCK ?? 0) | (constants.SOCK_CLOEXEC ?? 0);
/** Level, name and length in bytes of the option that begins with the listener's pid. */
const peerOption = {
  level: constants.SOL_LOCAL ?? constants.SOL_SOCKET,
  name: constants.LOCAL_PEERPID ?? constants.SO_PEERCRED ?? 0,
  bytes: layouts.ucred?.bytes ?? 4,
};

const libc = onFirstUse(() => {
  prepareErrno();
  return openLibc({
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    connect: { args: ["i32", "ptr", "u32"], returns: "i32" },
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
    close: { args: ["i32"], returns: "i32" },
  });
});

/** See Sockets.connect of port.ts. */
export function tryConnect(path: string): ConnectOutcome {
  const { socket, connect, close } = libc();
  const fd = socket(AF_UNIX, SOCK_STREAM | socketFlags, 0);
  if (fd < 0) return { kind: "exhausted" };
  if (socketFlags === 0) closeOnExec(fd);
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

/** For systems whose socket(2) takes no flags; connecting to a Unix socket does not wait there. */
function closeOnExec(fd: number): void {
  ttyLibc().fcntl(fd, constants.F_SETFD, constants.FD_CLOEXEC);
}

/** The pid of the process at the other end; null when the system does not report it. */
export function peerPid(fd: number): number | null {
  const value = new Int32Array(peerOption.bytes / 4);
  const length = new Uint32Array([peerOption.bytes]);
  const result = libc().getsockopt(fd, peerOption.level, peerOption.name, ptr(value), ptr(length));
  const pid = value[0] ?? 0;
  return result === 0 && pid > 0 ? pid : null; // 0: a process of another pid namespace
}

/** The family, after a byte for the length if the family has only one byte; then the path. */
function unixAddress(path: string): Uint8Array {
  const { sun_family, sun_path } = layouts.sockaddr_un.fields;
  const bytes = Buffer.from(`${"\0".repeat(sun_path.offset)}${path}\0`);
  if (sun_family.offset > 0) bytes[0] = bytes.byteLength;
  bytes.writeUIntLE(AF_UNIX, sun_family.offset, sun_family.bytes); // every machine that we build for is little-endian
  return bytes;
}
