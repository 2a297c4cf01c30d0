/**
 * Processes that were just killed. Until the kernel has freed their memory (20 ms, on a busy machine seconds)
 * they hold their locks and count as alive, although nothing answers at their sockets. A caller that restores,
 * forgets or attaches at that moment waits for their end here. A process that answers or hangs is alive.
 */
import fs from "node:fs";
import { type Instance, sessionSocket } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { processState } from "../registry/liveness.ts";
import { listProcesses } from "../registry/registry.ts";
import { Connection } from "../wire/connection.ts";
import { listLockedParts, listWrittenNumbers } from "./files/sessions.ts";

/** Longest wait for the end of a process at whose socket nothing listens, in ms. */
const DEATH_MS = 10_000;
/** The same if its socket is not in this runtime directory: the process may be alive in another one. */
const ELSEWHERE_MS = 500;
const POLL_MS = 20;
/** Longest wait for an answer, in ms: a healthy process answers in time, a stopped one never. */
const ANSWER_MS = 1_000;

/** Whether the process at a socket is alive. Waits for a dying one to be gone. */
export async function staysAlive(socket: string): Promise<boolean> {
  const until = performance.now() + DEATH_MS;
  while (processState(socket) === "alive") {
    if ((await isResponding(socket)) || performance.now() > until) return true;
    await Bun.sleep(POLL_MS);
  }
  return false;
}

/** False if nothing listens, or the process ends before it answers: it was killed. */
async function isResponding(socket: string): Promise<boolean> {
  try {
    const { connection } = await Connection.open(socket, "cli", {}, ANSWER_MS);
    connection.close();
    return true;
  } catch (thrown) {
    return WshError.from(thrown).code !== "session_not_found";
  }
}

/**
 * Waits until every session with a checkpoint has either a living process or none. A process that only runs panes of a
 * crashed session saves their last state and exits.
 */
export async function waitForDyingProcesses(instance: Instance): Promise<void> {
  const began = performance.now();
  const alive = new Set<number>();
  for (;;) {
    const written = listWrittenNumbers(instance).filter((number) => !alive.has(number));
    if (written.length === 0) return;
    const sockets = new Map(written.map((number) => [number, findWriterSockets(instance, number)]));
    const isLocal = [...sockets.values()].flat().some((socket) => fs.existsSync(socket));
    if (performance.now() - began > (isLocal ? DEATH_MS : ELSEWHERE_MS)) return;
    const writers = [...sockets].flatMap(([number, writerSockets]) =>
      writerSockets.map((socket) => ({ number, socket })),
    );
    await Promise.all(
      writers.map(async ({ number, socket }) => {
        if (servesSession(instance, number, socket) && processState(socket) === "alive" && (await isResponding(socket)))
          alive.add(number);
      }),
    );
    await Bun.sleep(POLL_MS);
  }
}

/** Whether a process serves the session itself, as far as is known. */
function servesSession(instance: Instance, number: number, socket: string): boolean {
  const entry = listProcesses(instance).find((each) => each.socket === socket);
  return entry === undefined || entry.session === null || (entry.session === number && !entry.isMember);
}

/** Sockets of the processes that write a session's checkpoint. */
function findWriterSockets(instance: Instance, number: number): string[] {
  const parts = listLockedParts(instance, number);
  const paneSockets = parts.flatMap((part) =>
    part === "layout" ? [] : [sessionSocket(instance, Number(part.slice(1)))],
  );
  return parts.length === 0 ? [] : [...new Set([...findServerSockets(instance, number), ...paneSockets])];
}

/** Sockets of the processes that serve a session, usually one. */
export function findServerSockets(instance: Instance, number: number): string[] {
  return listProcesses(instance).flatMap(({ session, socket }) => (session === number ? [socket] : []));
}
