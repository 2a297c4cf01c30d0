/**
 * Ends session processes by their sockets: a pane of a session, or one that no session lists any more because it has
 * left its layout and is kept so that its result can be read.
 */
import { orUntil } from "../base/deadline.ts";
import { Connection } from "./connection.ts";

/** Longest wait for one of them, in ms: more than a program has between SIGHUP and SIGKILL by default. */
const END_MS = 5_000;

export interface EndRequest {
  readonly reason: "killed" | "server_stopped";
  /** The signal that ends the whole session from outside. */
  readonly by?: string | undefined;
}

/** Resolves when all have ended, or do not answer. */
export async function endProcesses(sockets: readonly string[], request: EndRequest): Promise<void> {
  const ends = sockets.map((socket) => orUntil(endProcess(socket, request), { ms: END_MS }, () => {}));
  await Promise.allSettled(ends);
}

/** Resolves when its program has ended. @throws WshError when it cannot be asked */
export async function endProcess(socket: string, { reason, by }: EndRequest): Promise<void> {
  const { connection } = await Connection.open(socket, "cli");
  try {
    const caller = { kind: "cli", id: `ending:${process.pid}`, name: "wsh", connected: true } as const;
    const input = { reason, ...(by === undefined ? {} : { by }) };
    await connection.request("host.end", input, { caller, access: "admin" });
  } finally {
    connection.close();
  }
}
