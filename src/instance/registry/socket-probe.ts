/**
 * Who answers at a socket path. Connecting is the only test that the kernel answers truly: a socket file outlives its
 * process, and a dead listener refuses. A listener that is stopped or overloaded still counts as alive, because what is
 * dead may be removed. (Bun.connect cannot be used here: it reports ECONNREFUSED for a full queue too.) Nothing is
 * sent; the listener sees a connection that ends at once. Takes about 0.02 ms and never waits.
 */

import fs from "node:fs";
import { platform } from "../../platform/platform.ts";
import { maxSocketPathBytes } from "../paths.ts";

export type SocketState = "alive" | "dead" | "absent" | "not_a_socket";

/** Connects to a Unix socket and hangs up at once. A path too long to connect to counts as alive. */
export function probeSocket(path: string): SocketState {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "absent";
  if (!stat.isSocket()) return "not_a_socket";
  if (Buffer.byteLength(path) > maxSocketPathBytes) return "alive";
  switch (platform().sockets.connect(path).kind) {
    case "refused":
      return "dead";
    case "absent":
      return "absent";
    case "connected":
    case "other":
      return "alive";
  }
}

/**
 * The process that listens at a socket, according to the kernel, even if it is stopped or hangs, so that it can be
 * ended. null when there is no listener, its queue is full, or the system does not report it.
 */
export function listenerPid(path: string): number | null {
  if (Buffer.byteLength(path) > maxSocketPathBytes) return null;
  const outcome = platform().sockets.connect(path);
  return outcome.kind === "connected" ? outcome.pid : null;
}

/**
 * The paths in a directory where a socket was bound and still is open, deleted or not: the kernel remembers
 * what the file system has lost. Empty where it does not say (macOS).
 */
export function boundIn(directory: string): readonly string[] {
  return platform().sockets.bound(directory);
}
