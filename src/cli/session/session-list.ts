/**
 * The sessions of an instance, for `wsh list` and `wsh agents`. It asks a running server, which knows most of
 * them without waking their processes. Without a server, all session processes are found and asked at once;
 * a hanging process delays the list by at most a second.
 */
import * as v from "valibot";
import { hostname } from "../../instance/hostname.ts";
import { type Instance, sessionSocket } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneId, paneNumber, parseTarget, sessionId } from "../../protocol/names.ts";
import { type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import type { SessionEntry } from "../../registry/directories.ts";
import { cleanStale, listSessions, lookUp } from "../../registry/registry.ts";
import { askServer } from "../../registry/server-client.ts";
import { loadSettings } from "../../settings/settings.ts";
import { Connection } from "../../wire/connection.ts";
import { connectFailure } from "./client.ts";

/** Longest wait for a session process to answer before it is shown as unresponsive, in ms: a healthy one takes one. */
const HELLO_PATIENCE_MS = 900;
/** Longest wait for the server, in ms: it waits up to a second for a session process that hangs. */
const SERVER_PATIENCE_MS = 1_500;
/** Like HELLO_PATIENCE_MS, for a process that the server reports as unresponsive: only the reason is requested. */
const SILENT_PATIENCE_MS = 150;

/** A session process that answered, or the reason why it did not. */
export type ListedSession =
  | { readonly entry: SessionEntry; readonly info: SessionInfo }
  | { readonly entry: SessionEntry; readonly error: WshError };

export async function findAll(instance: Instance): Promise<ListedSession[]> {
  const serverList = await askAtServer(instance);
  const sessions = serverList ?? (await Promise.all(listSessions(instance).map((each) => askProcess(each))));
  const dead = sessions.filter((one) => "error" in one && one.error.code === "session_not_found");
  // Left by session processes that were killed.
  if (dead.length > 0)
    await cleanStale(
      instance,
      dead.map(({ entry }) => entry.id),
    ).catch(() => []);
  const living = sessions.filter((one) => !dead.includes(one));
  return serverList === null ? [...living, ...(await crashedBeside(instance, living))] : living;
}

/** Crashed sessions, if no server lists them. */
async function crashedBeside(instance: Instance, living: readonly ListedSession[]): Promise<ListedSession[]> {
  const { listCrashed } = await import("../../checkpoints/operations.ts");
  const ids = living.flatMap((one) => ("info" in one ? one.info.id : sessionId(one.entry.session ?? 0)));
  return listCrashed(instance, new Set(ids), configuredHostname(instance)).map((info) => ({
    entry: entryOf(instance, info),
    info,
  }));
}

/** The list is shown even if the settings are invalid. */
export function configuredHostname(instance: Instance): string {
  try {
    return hostname(loadSettings(instance, { env: process.env }).values.hostname);
  } catch {
    return hostname("");
  }
}

/** The server's answer; null when it is late, or of another version's form. */
async function askAtServer(instance: Instance): Promise<ListedSession[] | null> {
  const answer = await askServer(instance, "GET", "/sessions?all=true&server=local", {
    patienceMs: SERVER_PATIENCE_MS,
  }).catch(() => null);
  const infos = v.safeParse(v.array(SessionInfoSchema), answer);
  if (!infos.success) return null;
  return Promise.all(
    infos.output.map((info) => {
      const entry = entryOf(instance, info);
      return info.state === "unresponsive" ? askProcess(entry, SILENT_PATIENCE_MS) : { entry, info };
    }),
  );
}

function entryOf(instance: Instance, { id, pane_id, name, running }: SessionInfo): SessionEntry {
  const pane = paneNumber(pane_id);
  const own = parseTarget(id);
  const session = own.kind === "session_id" ? own.id : null;
  // The session's first pane may be gone.
  const entry = session === null ? undefined : lookUp(listSessions(instance), own);
  const socket = entry?.socket ?? sessionSocket(instance, pane);
  return { id: pane, session, window: null, socket, name, ended: !running, isMember: false };
}

async function askProcess(entry: SessionEntry, patienceMs = HELLO_PATIENCE_MS): Promise<ListedSession> {
  try {
    const { connection, hello } = await Connection.open(entry.socket, "cli", {}, patienceMs);
    connection.close();
    if (hello.info !== undefined) return { entry, info: hello.info };
    return { entry, error: new WshError("session_unavailable", "the session is being started") };
  } catch (thrown) {
    return { entry, error: connectFailure(thrown, entry.socket) };
  }
}

export function isEnded(one: ListedSession | { readonly info: SessionInfo }): boolean {
  return "info" in one ? !one.info.running && one.info.state !== "crashed" : one.entry.ended;
}

export function asJson(one: ListedSession): object {
  if ("info" in one) return one.info;
  const { entry, error } = one;
  const { code, message } = error;
  const pane_id = paneId(entry.id);
  const id = entry.session === null ? pane_id : sessionId(entry.session);
  return { id, pane_id, name: entry.name ?? pane_id, state: "unresponsive", error: { code, message } };
}
