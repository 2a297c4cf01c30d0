/**
 * Starts the processes of lost panes, under the ids that they had: one that shows what is left, for readers; or one with
 * a new shell below that. Whoever starts them lends what belongs to a login: sockets, displays, secrets.
 */
import fs from "node:fs";
import { dirname } from "node:path";
import * as v from "valibot";
import { hostSpecOf, startHost } from "../instance/launch/host.ts";
import type { RestoredSpec } from "../instance/launch/host-spec.ts";
import { hostSocket, type Instance } from "../instance/paths.ts";
import { processState } from "../instance/registry/liveness.ts";
import { WshError } from "../protocol/errors.ts";
import { type SessionInfo, SessionInfoSchema } from "../protocol/session.ts";
import { restoredEnvironment } from "../store/checkpoint/environment.ts";
import type { PaneRecord } from "../store/checkpoint/record.ts";
import type { LostSession } from "../store/checkpoint/sessions.ts";
import { Connection } from "../wire/connection.ts";
import { lives } from "./dying.ts";

/** Longest wait for a process that shows what is left to make room, in ms. */
const ROOM_MS = 5_000;
const ROOM_POLL_MS = 20;
/** Attempts to start a pane's process where readers have it shown in between: one that asks without a pause wins every other. */
const ATTEMPTS = 20;

/** Who restores or reads. */
export interface Restorer {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly starter: "server" | "cli";
  readonly maxSessions?: number | undefined;
}

/**
 * A process that shows a lost pane as it was, to be read for as long as an ended session is.
 * @returns its socket
 * @throws WshError of the checkpoint's reader
 */
export async function startReader(
  instance: Instance,
  lost: LostSession,
  pane: PaneRecord,
  restorer: Restorer,
): Promise<string> {
  const socket = hostSocket(instance, pane.pane);
  // Another reader may have started it just now.
  if (await lives(socket)) return socket;
  const isMain = pane.pane === lost.panes[0]?.pane;
  try {
    await startHost(instance, specOf(instance, lost, pane, restorer, { run: false, isMember: !isMain, notes: [] }));
  } catch (thrown) {
    if (WshError.from(thrown).code !== "session_running") throw thrown;
  }
  return socket;
}

/** Starts the process of one pane, a shell below what was there. @throws WshError of new sessions */
export async function startPane(
  instance: Instance,
  lost: LostSession,
  pane: PaneRecord,
  restorer: Restorer,
  { isMember }: { readonly isMember: boolean },
): Promise<SessionInfo> {
  const { cwd, notes } = directoryFor(pane.foreground?.cwd ?? pane.cwd);
  const spec = specOf(instance, lost, { ...pane, cwd }, restorer, { run: true, isMember, notes });
  for (let attempt = 1; ; attempt++) {
    try {
      const report = await startHost(instance, spec);
      return v.parse(SessionInfoSchema, report.info);
    } catch (thrown) {
      if (WshError.from(thrown).code !== "session_running" || attempt === ATTEMPTS) throw thrown;
    }
    // Somebody reads what is lost, and had it shown again since there was room.
    await makeRoom(hostSocket(instance, pane.pane));
  }
}

function specOf(
  instance: Instance,
  { session, directory, number, why, layout }: LostSession,
  pane: PaneRecord,
  { env, starter, maxSessions }: Restorer,
  { run, isMember, notes }: { readonly run: boolean; readonly isMember: boolean; readonly notes: readonly string[] },
): object {
  const { rows, cols, program } = pane;
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const restored: RestoredSpec = {
    directory,
    pane: pane.pane,
    session: number,
    window: session.window,
    created_at: session.created_at,
    why,
    saved_at: pane.saved_at,
    run,
    restorer: process.pid,
    notes: [...notes],
    ...(pane.numbers === undefined ? {} : { numbers: pane.numbers }),
  };
  const outer = isMember || layout !== null ? { rows, cols } : { rows: session.rows, cols: session.cols };
  const create = {
    name: session.name,
    tags: isMember ? [] : session.tags,
    shell: program.shell,
    env: program.env,
    ...outer,
  };
  return {
    ...hostSpecOf(instance, create, {
      starter,
      naming: "number",
      env: restoredEnvironment(pane.env, Object.fromEntries(given)),
      cwd: pane.cwd ?? "/",
      ...(maxSessions === undefined ? {} : { max_sessions: maxSessions }),
    }),
    restored,
    ...(isMember
      ? { member: { session: number, window: session.window, name: session.name, max_panes: 0, max_all: 0 } }
      : {}),
  };
}

/** The directory that it had, or the nearest above it that is left. */
function directoryFor(wanted: string | null): { readonly cwd: string; readonly notes: string[] } {
  let cwd = wanted ?? "/";
  while (!isDirectory(cwd) && cwd !== dirname(cwd)) cwd = dirname(cwd);
  const notes = wanted === null || cwd === wanted ? [] : [`The directory ${wanted} is gone: this is ${cwd}.`];
  return { cwd, notes };
}

function isDirectory(path: string): boolean {
  try {
    return fs.statSync(path).isDirectory();
  } catch {
    return false;
  }
}

/**
 * Ends the process that shows what is left of a pane, or of a session that has ended; one that was killed just now ends
 * by itself.
 * @throws WshError session_running when another has the socket, lock_busy
 */
export async function makeRoom(socket: string): Promise<void> {
  if (!(await lives(socket))) return;
  const check = (info: SessionInfo | undefined, isMember: boolean): void => {
    if (info?.state === "lost" || (info?.running === false && !isMember)) return;
    throw new WshError("session_running", `session '${info?.name ?? socket}' runs: there is nothing to restore`);
  };
  try {
    await endPane(socket, { check });
  } catch (thrown) {
    // It ended meanwhile.
    if (processState(socket) === "alive") throw thrown;
  }
  const until = performance.now() + ROOM_MS;
  while (processState(socket) === "alive") {
    if (performance.now() > until) throw new WshError("lock_busy", `the process at ${socket} does not end`);
    await Bun.sleep(ROOM_POLL_MS);
  }
}

/** Ends the process at a socket. @param check throws where it is not to be ended @param undone its restore has failed */
export async function endPane(
  socket: string,
  {
    check = () => {},
    undone = false,
  }: { readonly check?: (info: SessionInfo | undefined, isMember: boolean) => void; readonly undone?: boolean },
): Promise<void> {
  const { connection, hello } = await Connection.open(socket, "cli", {});
  try {
    check(hello.info, hello.member ?? false);
    await connection.request("host.end", { reason: "killed", undone }, { caller: ownCaller, access: "admin" });
  } finally {
    connection.close();
  }
}

export const ownCaller = { kind: "cli", id: "restore", name: "wsh", connected: true } as const;
