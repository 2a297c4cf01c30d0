/**
 * Who answers at a socket path. Connecting is the only test that the kernel answers truly: a socket file outlives its
 * process, and a dead listener refuses. A listener that is stopped or overloaded still counts as alive; nothing is sent.
 */

import fs from "node:fs";
import { errorCode } from "./paths.ts";

export type SocketState = "alive" | "dead" | "absent" | "not_a_socket";

/** A local connect is answered by the kernel at once; after this many ms somebody is there but overloaded. */
const connectTimeoutMs = 1_000;

/** Connects to a Unix socket and hangs up at once. Never throws. */
export async function probeSocket(path: string): Promise<SocketState> {
  const stat = fs.lstatSync(path, { throwIfNoEntry: false });
  if (stat === undefined) return "absent";
  if (!stat.isSocket()) return "not_a_socket";
  const { promise, resolve } = Promise.withResolvers<SocketState>();
  const timer = setTimeout(resolve, connectTimeoutMs, "alive");
  const connection = Bun.connect({
    unix: path,
    socket: {
      open(socket) {
        resolve("alive");
        socket.end();
      },
      data() {},
      error() {},
      connectError(_socket, error) {
        resolve(stateOf(error));
      },
    },
  });
  connection.catch((error: unknown) => resolve(stateOf(error)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

function stateOf(error: unknown): SocketState {
  const code = errorCode(error);
  if (code === "ECONNREFUSED") return "dead";
  if (code === "ENOENT") return "absent";
  return "alive"; // a full queue (EAGAIN), no descriptors left here: not known to be dead, so never cleaned
}
