/**
 * Brings a session with several panes back: each pane's process under its id, then a layout process with the tree that
 * was saved, which takes the session's name when all are there. A pane that cannot come back leaves the layout.
 */
import { startLayout } from "../instance/launch/layout.ts";
import { hostSocket, type Instance } from "../instance/paths.ts";
import { findSession } from "../instance/registry/registry.ts";
import { WshError } from "../protocol/errors.ts";
import { paneId } from "../protocol/names.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { restoredEnvironment } from "../store/checkpoint/environment.ts";
import type { LayoutRecord } from "../store/checkpoint/record.ts";
import type { LostSession } from "../store/checkpoint/sessions.ts";
import { Connection } from "../wire/connection.ts";
import { endPane, type Restorer, startPane } from "./launch.ts";

export async function restoreSplit(
  instance: Instance,
  lost: LostSession,
  layout: LayoutRecord,
  restorer: Restorer,
): Promise<SessionInfo> {
  const { name } = lost.session;
  const started: number[] = [];
  try {
    // One after the other: they share two processors with everything else, and each needs one.
    for (const pane of lost.panes) {
      await startPane(instance, lost, pane, restorer, { isMember: true });
      started.push(pane.pane);
    }
    const [first] = lost.panes;
    const given = Object.entries(restorer.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const env = restoredEnvironment(first?.env ?? {}, Object.fromEntries(given));
    const nofile = first?.nofile ?? null;
    const { rows, cols, tags } = lost.session;
    const tree = { ...(layout.tree as object), name, tags, rows, cols, env, nofile };
    await startLayout(instance, { socket: instance.httpSocket, env, nofile, handed: null, session: lost.number, tree });
  } catch (thrown) {
    // They leave the checkpoint as it was.
    await Promise.allSettled(started.map((pane) => endPane(hostSocket(instance, pane), { undone: true })));
    throw thrown;
  }
  const entry = findSession(instance, { kind: "session_id", id: lost.number });
  const { connection, hello } = await Connection.open(entry.socket, "cli", {});
  connection.close();
  if (hello.info === undefined)
    throw new WshError("host_unavailable", `session '${name}' (${paneId(entry.id)}) is starting`);
  return hello.info;
}
