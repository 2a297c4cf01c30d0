/**
 * Whether a socket's process is alive: it holds its lock (life-lock.ts). A process that does not answer is not dead: it
 * may be stopped or busy, and macOS refuses connections when a listener's queue is full. Only a socket without a lock
 * beside it, which wsh did not bind, is judged by connecting. Takes about 0.02 ms and never waits.
 */

import fs from "node:fs";
import { maxSocketPathBytes } from "../instance/paths.ts";
import { platform } from "../platform/platform.ts";
import { lockBeside, lockOwner, lockState } from "./life-lock.ts";

export type ProcessState = "alive" | "dead" | "absent" | "not_a_socket";

/** @param link the process's lock, when it is not beside this socket */
export function processState(socket: string, link: string = lockBeside(socket)): ProcessState {
  const stat = fs.lstatSync(socket, { throwIfNoEntry: false });
  if (stat === undefined) return "absent";
  if (!stat.isSocket()) return "not_a_socket";
  switch (lockState(link)) {
    case "held":
      return "alive";
    case "free":
      return "dead";
    case "none":
      return isRefused(socket) ? "dead" : "alive";
  }
}

/** Whether a socket without a lock refuses connections; on macOS a busy one does too. */
function isRefused(path: string): boolean {
  if (Buffer.byteLength(path) > maxSocketPathBytes) return false;
  return platform().sockets.connect(path).kind === "refused";
}

/**
 * The process that listens at a socket, even if it is stopped or hangs, so that it can be ended. null when it is dead,
 * or is not known for certain.
 */
export function listenerPid(path: string): number | null {
  if (Buffer.byteLength(path) > maxSocketPathBytes) return null;
  const outcome = platform().sockets.connect(path);
  if (outcome.kind === "connected") return outcome.pid;
  // Its queue is full. The number in the lock's name is its pid, on systems without pid namespaces.
  const isNumbered = platform().processes.namespace() === "" && lockState(lockBeside(path)) === "held";
  return isNumbered ? lockOwner(lockBeside(path)) : null;
}

/**
 * The paths in a directory to which an open socket was bound, deleted or not: the kernel remembers paths that the file
 * system has lost. Empty when the system does not report them (macOS).
 */
export function boundIn(directory: string): readonly string[] {
  return platform().sockets.bound(directory);
}
