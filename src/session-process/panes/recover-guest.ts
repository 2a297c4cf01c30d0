/**
 * Recovers a guest pane, which another session's process ran, after that process is gone: the pane is restarted
 * here from its checkpoint, as in a restored session. Without a checkpoint, because the session is private or
 * stores nothing, a new shell takes its place. If only the connection was lost, the pane is shown again.
 */
import * as v from "valibot";
import { PaneOwnership } from "../../checkpoints/files/claims.ts";
import { readPane } from "../../checkpoints/files/part-reader.ts";
import { describeCrash } from "../../checkpoints/files/sessions.ts";
import { staysAlive } from "../../checkpoints/killed-processes.ts";
import { planPaneRestart } from "../../checkpoints/launch.ts";
import { SessionSpecSchema } from "../../launch/session-spec.ts";
import type { Logger } from "../../log/log.ts";
import { isDirectory } from "../../platform/directory.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { paneNumber } from "../../protocol/names.ts";
import { linkPane } from "../../registry/panes.ts";
import { replacePane } from "../../session/windows/changes.ts";
import { paneEntry, windowWith } from "../../session/windows/state.ts";
import { planPane } from "../create.ts";
import type { SessionParts } from "../parts.ts";
import { placeGuest } from "./moving.ts";
import { ViewLink } from "./view-link.ts";

export async function recoverLostGuest(
  parts: SessionParts,
  pane: string,
  { env, logger }: { readonly env: Readonly<Record<string, string>>; readonly logger: Logger },
): Promise<void> {
  const { arrangement, session } = parts;
  const link = arrangement.placedPanes.get(pane);
  if (!(link instanceof ViewLink)) return;
  const isConnected = await staysAlive(link.socket);
  await arrangement.change(async () => {
    if (arrangement.placedPanes.get(pane) !== link || session.lifetime.isEnding) return;
    try {
      if (!isConnected || !(await showGuestAgain(parts, link))) {
        session.questions.handleProgramEnd(pane);
        await restartFromCheckpoint(parts, pane, env);
      }
      arrangement.assignSizes();
    } catch (error) {
      logger.warn("a pane whose process is gone has no checkpoint here", { pane, error });
      await startShellInstead(parts, link).catch(() => arrangement.remove(pane, { code: null, signal: null }));
    }
  });
}

/** @returns false if the process at the socket does not have the pane: it was started after a crash */
async function showGuestAgain(parts: SessionParts, { id, socket, size }: ViewLink): Promise<boolean> {
  try {
    await placeGuest(parts, id, socket, size);
    return true;
  } catch (thrown) {
    if (WshError.from(thrown).code !== "pane_not_found") throw thrown;
    return false;
  }
}

/** @throws WshError checkpoint_not_found: it belongs to another session, or it has no checkpoint */
async function restartFromCheckpoint(
  parts: SessionParts,
  pane: string,
  env: Readonly<Record<string, string>>,
): Promise<void> {
  const { arrangement, instance, settings, session, processId, sessionNumber, keeper } = parts;
  const id = paneNumber(pane);
  const directory = new PaneOwnership(instance).findStateFolder(sessionNumber, id);
  const { record } = readPane(directory, id);
  const crashed = { session: record.session, number: sessionNumber, why: describeCrash(record) };
  const restorer = { env, starter: "server" } as const;
  const request = v.parse(
    SessionSpecSchema,
    planPaneRestart(instance, crashed, { ...record, directory }, restorer, true),
  );
  const planned = await planPane(request, { instance, settings });
  const window = windowWith(arrangement.state, pane).id;
  const owner = record.owner ?? session.owner ?? undefined;
  arrangement.addLocal(await keeper.createPane(planned, { id, window, request, startedByProgram: true, owner }));
  if (id !== processId) await linkPane(instance, processId, sessionNumber, id);
}

/** A new shell takes the pane's place. @throws WshError of new panes */
async function startShellInstead(parts: SessionParts, link: ViewLink): Promise<void> {
  const { arrangement, session } = parts;
  const { state } = arrangement;
  const { title = null, keep = null, env } = state.panes[link.id] ?? {};
  const { cwd } = link.paneInfo();
  const local = await parts.startProgram(
    {
      create: { command: null, cwd: null, shell: null, env: env ?? null },
      cwd: cwd !== null && isDirectory(cwd) ? cwd : "/",
      window: windowWith(state, link.id).id,
      byPerson: false,
      owner: session.owner ?? { kind: "person", name: "wsh" },
    },
    link.size,
  );
  arrangement.addLocal(local);
  arrangement.commit(replacePane(state, link.id, paneEntry(local.id, { title, keep, ...defined({ env }) })));
  arrangement.forget(link.id);
  arrangement.events.emit("paneEnded", { pane: link.id, exit: { code: null, signal: null }, isKept: false });
  session.notice.show(`the process of pane ${link.id} is gone; ${local.id} is a new shell in its place`);
}
