/**
 * The further panes and windows of sessions in the registry: a pane that is not the first of its session is
 * found by a link `@s3.p9`, a window by `@s3.w5`, both to the socket of the session's process. The first pane
 * has the process's own id and needs no link. Everything here runs under the registry's lock.
 */

import { withDirectoryLock } from "../instance/lock.ts";
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { sessionId } from "../protocol/names.ts";
import { withCounters } from "./counters.ts";
import { carrierFile, fileNames, idsFile, paneFile, processOfLink, snapshot } from "./directories.ts";
import { unoccupied } from "./register.ts";
import { cleanStaleLocked, type KnownLinks, link, relink, unlinkName } from "./registry.ts";

interface PaneClaim {
  /** Id of its process, and number of its session. */
  readonly owner: number;
  readonly session: number;
  /** Number of the session's panes, and the limits of session and instance. */
  readonly paneCount: number;
  readonly maxPanes: number;
  readonly maxAll: number;
}

/**
 * Gives a session's new pane an id by which it can be found.
 * @throws WshError resource_limit_reached when the session, or all sessions together, are at their limit
 */
export async function claimPane(instance: Instance, claim: PaneClaim): Promise<number> {
  const { owner, session, paneCount, maxPanes, maxAll } = claim;
  return withDirectoryLock(instance.sessionsDir, async () => {
    if (paneCount >= maxPanes) throw tooMany(`session '${sessionId(session)}' has ${paneCount}`);
    // Every process has a pane that needs no link.
    const countAll = ({
      ids,
      panes,
    }: {
      readonly ids: readonly number[];
      readonly panes: readonly unknown[];
    }): number => ids.length + panes.length;
    if (countAll(fileNames(instance)) >= maxAll) {
      cleanStaleLocked(instance);
      const all = countAll(fileNames(instance));
      if (all >= maxAll) throw tooMany(`the instance has ${all}`);
    }
    const id = await withCounters(instance, fileNames(instance), (next) => {
      const id = unoccupied(instance, next.pane);
      return { result: id, after: { ...next, pane: id + 1 } };
    });
    link(instance, owner, paneFile(session, id));
    return id;
  });
}

function tooMany(what: string): WshError {
  return new WshError("resource_limit_reached", `${what} panes already`);
}

/** Removes the links of a pane. */
export async function releasePane(instance: Instance, owner: number, session: number, pane: number): Promise<void> {
  await withDirectoryLock(instance.sessionsDir, () => {
    const file = paneFile(session, pane);
    if (processOfLink(instance, file) === owner) unlinkName(instance, file);
  });
}

/** Issues the id of a new window. */
export function takeWindowId(instance: Instance): Promise<number> {
  return withDirectoryLock(instance.sessionsDir, () =>
    withCounters(instance, fileNames(instance), (next) => ({
      result: next.window,
      after: { ...next, window: next.window + 1 },
    })),
  );
}

/** Makes a session's window findable by its id, or no longer. */
export async function linkWindow(
  instance: Instance,
  window: { readonly id: number; readonly session: number; readonly window: number },
  isThere: boolean,
): Promise<void> {
  await withDirectoryLock(instance.sessionsDir, () => {
    const file = idsFile(window);
    if (isThere) relink(instance, window.id, file);
    else if (processOfLink(instance, file) === window.id) unlinkName(instance, file);
  });
}

/** Makes all windows and further panes of a session findable: it was restored, or its links were deleted. */
export async function linkAll(
  instance: Instance,
  ids: {
    readonly id: number;
    readonly session: number;
    readonly panes: readonly number[];
    readonly windows: readonly number[];
  },
): Promise<void> {
  const { id, session, panes, windows } = ids;
  await withDirectoryLock(instance.sessionsDir, () => {
    for (const window of windows) relink(instance, id, idsFile({ session, window }));
    for (const pane of panes) if (pane !== id) relink(instance, id, paneFile(session, pane));
  });
}

/** Makes a pane that another session's process runs findable in this session. */
export async function linkPane(instance: Instance, owner: number, session: number, pane: number): Promise<void> {
  await withDirectoryLock(instance.sessionsDir, () => relink(instance, owner, paneFile(session, pane)));
}

/**
 * Removes the links of a session that has ended while its process continues with panes of another session:
 * one link to that session replaces them.
 */
export async function leaveAsCarrier(instance: Instance, known: KnownLinks, of: number): Promise<void> {
  await withDirectoryLock(instance.sessionsDir, () => {
    const { links, ids, panes } = snapshot(instance);
    const carrier = carrierFile(of, known.id);
    relink(instance, known.id, carrier);
    for (const { file, owner } of [...links, ...ids, ...panes])
      if (owner === known.id && file !== carrier) unlinkName(instance, file);
  });
}
