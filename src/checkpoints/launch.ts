/**
 * Starts the process of a crashed session, under its former ids: to show its contents to readers, or with new shells
 * below them. Variables of a login (sockets, displays, secrets) are taken from the starter.
 */
import { dirname } from "node:path";
import * as v from "valibot";
import { type Instance, sessionSocket } from "../instance/paths.ts";
import { sessionSpecOf, startSessionProcess } from "../launch/session-process.ts";
import type { RestoredSpec } from "../launch/session-spec.ts";
import { isDirectory } from "../platform/directory.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { type SessionInfo, SessionInfoSchema } from "../protocol/session.ts";
import { processState } from "../registry/liveness.ts";
import { Connection } from "../wire/connection.ts";
import { restoredEnvironment } from "./files/environment.ts";
import type { PaneRecord } from "./files/record.ts";
import type { CrashedSession, LocatedPane } from "./files/sessions.ts";
import { readProcessId } from "./files/tree.ts";
import { staysAlive } from "./killed-processes.ts";

/** Longest wait until a process that shows a crashed session has ended, in ms. */
const EXIT_MS = 5_000;
const EXIT_POLL_MS = 20;
/** Longest time to restore a session with many panes, in ms: each has up to thousands of lines to read. */
const RESTORE_MS = 60_000;
/**
 * Attempts to start a process while readers keep showing the session: a reader that asks without a pause wins every
 * other attempt.
 */
const ATTEMPTS = 20;

/** The caller that restores or reads. */
export interface Restorer {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly starter: "server" | "cli";
  readonly maxSessions?: number | undefined;
}

/**
 * Starts a process that shows a crashed session, which is readable for as long as an ended one.
 * @throws WshError of the checkpoint's reader
 */
export async function startReader(instance: Instance, crashed: CrashedSession, restorer: Restorer): Promise<void> {
  // Another reader may have just started it.
  if (await staysAlive(sessionSocket(instance, processIdOf(crashed)))) return;
  try {
    await startSessionProcess(instance, planProcess(instance, crashed, restorer, false));
  } catch (thrown) {
    if (WshError.from(thrown).code !== "session_running") throw thrown;
  }
}

/**
 * Starts the process of a session, each pane with a shell below its earlier contents. @throws WshError of new sessions
 */
export async function startRestored(
  instance: Instance,
  crashed: CrashedSession,
  restorer: Restorer,
): Promise<SessionInfo> {
  const spec = planProcess(instance, crashed, restorer, true);
  for (let attempt = 1; ; attempt++) {
    try {
      const report = await startSessionProcess(instance, spec, { timeoutMs: RESTORE_MS });
      return v.parse(SessionInfoSchema, report.info);
    } catch (thrown) {
      if (WshError.from(thrown).code !== "session_running" || attempt === ATTEMPTS) throw thrown;
    }
    // Meanwhile a reader may have started a process that shows the crashed session.
    await endReader(sessionSocket(instance, processIdOf(crashed)));
  }
}

/** The id of its former process, which is used again; without one, its oldest pane's. */
export function processIdOf({ layout, panes }: Pick<CrashedSession, "layout" | "panes">): number {
  const process = layout === null ? 0 : readProcessId(layout);
  return process > 0 ? process : (panes[0]?.pane ?? 0);
}

function planProcess(instance: Instance, crashed: CrashedSession, restorer: Restorer, run: boolean): object {
  const { session, layout } = crashed;
  const [first] = crashed.panes;
  if (first === undefined) throw new WshError("checkpoint_not_found", `session '${session.name}' has no panes`);
  const panes = crashed.panes.map((pane) => planPaneRestart(instance, crashed, pane, restorer, run));
  const [oldest] = panes;
  if (layout === null) return { ...oldest, create: { ...oldest?.create, rows: session.rows, cols: session.cols } };
  const { rows, cols, name, tags } = session;
  const { env, nofile } = { env: environmentOf(first, restorer), nofile: first.nofile };
  const tree = { ...(layout.tree as object), name, tags, rows, cols, env, nofile };
  const create = { name, tags, rows, cols, idle_limit: session.idle_limit, on: session.on };
  return { ...oldest, create, env, nofile, split: { owner: processIdOf(crashed), tree, panes } };
}

/** The spec that restarts a pane, for a whole session or within a running one. */
export function planPaneRestart(
  instance: Instance,
  { session, number, why }: Pick<CrashedSession, "session" | "number" | "why">,
  pane: LocatedPane,
  restorer: Restorer,
  run: boolean,
) {
  const { rows, cols, program, directory } = pane;
  const { starter, maxSessions } = restorer;
  const { cwd, notes } = run
    ? existingDirectory(pane.foreground?.cwd ?? pane.cwd)
    : { cwd: pane.cwd ?? "/", notes: [] };
  const restored: RestoredSpec = {
    directory,
    why,
    run,
    notes,
    pane: pane.pane,
    session: number,
    window: session.window,
    created_at: session.created_at,
    owner: session.owner,
    pane_owner: pane.owner,
    worktree: session.worktree,
    saved_at: pane.saved_at,
    ...defined({ numbers: pane.numbers }),
  };
  const create = {
    name: session.name,
    tags: session.tags,
    shell: program.shell,
    env: program.env,
    rows,
    cols,
    idle_limit: session.idle_limit,
    on: session.on,
  };
  const spec = sessionSpecOf(instance, create, {
    starter,
    naming: "number",
    env: environmentOf(pane, restorer),
    cwd,
    ...defined({ max_sessions: maxSessions }),
  });
  return { ...spec, nofile: pane.nofile ?? spec.nofile, restored };
}

function environmentOf(pane: PaneRecord, { env }: Restorer): Record<string, string> {
  const given = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return restoredEnvironment(pane.env, Object.fromEntries(given));
}

/** Its former directory, or the nearest existing parent. */
function existingDirectory(wanted: string | null): { readonly cwd: string; readonly notes: string[] } {
  let cwd = wanted ?? "/";
  while (!isDirectory(cwd) && cwd !== dirname(cwd)) cwd = dirname(cwd);
  const notes = wanted === null || cwd === wanted ? [] : [`The directory ${wanted} no longer exists; this is ${cwd}.`];
  return { cwd, notes };
}

/**
 * Ends the process that shows a crashed pane, or a session that has ended; a session that was just killed ends without help.
 * @throws WshError session_running when another has the socket, lock_busy
 */
export async function endReader(socket: string): Promise<void> {
  if (!(await staysAlive(socket))) return;
  const check = (info: SessionInfo | undefined): void => {
    if (info?.state === "crashed" || info?.running === false) return;
    throw new WshError("session_running", `session '${info?.name ?? socket}' is already running`);
  };
  try {
    await endProcess(socket, check);
  } catch (thrown) {
    // The process ended meanwhile.
    if (processState(socket) === "alive") throw thrown;
  }
  const until = performance.now() + EXIT_MS;
  while (processState(socket) === "alive") {
    if (performance.now() > until) throw new WshError("lock_busy", `the process at ${socket} does not exit`);
    await Bun.sleep(EXIT_POLL_MS);
  }
}

/** Ends the process at a socket. @param check throws when it must not be ended */
async function endProcess(socket: string, check: (info: SessionInfo | undefined) => void): Promise<void> {
  const { connection, hello } = await Connection.open(socket, "cli", {});
  try {
    check(hello.info);
    await connection.request("peer.end", { reason: "killed" }, { caller: restoreCaller, access: "admin" });
  } finally {
    connection.close();
  }
}

export const restoreCaller = { kind: "cli", id: "restore", name: "wsh", connected: true } as const;
