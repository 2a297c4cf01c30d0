/**
 * Applies a session's privacy: notifies its panes in other processes, and removes overlays, panels and captures
 * of AI agents that may no longer see the session. Their requests and streams are ended by
 * endpoint/limited-callers.ts. The same applies to a pane that runs here when the session that has adopted it
 * becomes private.
 */
import { present } from "../protocol/defined.ts";
import type { PaneSession } from "./pane-session.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import type { SessionParts } from "./parts.ts";

export function followPrivacy(parts: SessionParts): void {
  const { session, arrangement, localPanes, content } = parts;
  const notifyPanes = (): void => {
    for (const local of localPanes.values())
      if (local.adoptedBy === null) changePrivacy(local.ownSession, session.isPrivate);
    for (const { link } of arrangement.placedPanes.values()) if (link?.isGuest) link.setPrivate(session.isPrivate);
  };
  // Both events: the flag of each pane's own session follows that of the session.
  for (const change of ["info", "private"] as const) session.events.on(change, notifyPanes);
  arrangement.events.on("positionsChanged", notifyPanes);
  session.events.on("private", () => void revokeFromAgents(parts));
  let wasPrivate = session.isPrivate;
  session.events.on("info", () => {
    if (session.isPrivate === wasPrivate) return;
    wasPrivate = session.isPrivate;
    void storePrivacy(parts);
  });
  let hadPrivateViews = false;
  arrangement.events.on("listingChanged", () => {
    const hasPrivateViews = content.privateOwners.length > 0;
    if (hasPrivateViews && !hadPrivateViews) session.events.emit("private", undefined);
    hadPrivateViews = hasPrivateViews;
  });
}

async function storePrivacy({ session, instance }: SessionParts): Promise<void> {
  const { id, owner, isPrivate } = session;
  const { rememberPrivate } = await import("../secrets/private-sessions.ts");
  // If the state directory is not writable, there is no journal to conceal either.
  await rememberPrivate(instance, { id, ...present({ owner }) }, isPrivate).catch(() => {});
}

/** Called when the session that shows a pane of this process becomes private, or stops being private. */
export function setGuestPrivate({ session }: SessionParts, { ownSession }: LocalPane, isPrivate: boolean): void {
  if (changePrivacy(ownSession, isPrivate) && isPrivate) session.events.emit("private", undefined);
}

/** The pane's checkpoint follows. @returns whether it was different */
function changePrivacy(ownSession: PaneSession, isPrivate: boolean): boolean {
  if (isPrivate === ownSession.isPrivate) return false;
  ownSession.setPrivate(isPrivate);
  ownSession.events.emit("info", undefined);
  return true;
}

async function revokeFromAgents({ session, localPanes, content, permission }: SessionParts): Promise<void> {
  const paneSessions = [...localPanes.values()].map(({ ownSession }) => ownSession);
  const affectsWholeSession = session.isPrivate || content.privateOwners.length > 0;
  const affectedSessions = affectsWholeSession
    ? [session, ...paneSessions]
    : paneSessions.filter(({ isPrivate }) => isPrivate);
  const agents = affectedSessions.flatMap(({ makers, keyboard }) => [...makers.agents, keyboard.owner?.agent ?? ""]);
  for (const agent of new Set(agents)) {
    const isOwn = session.owner?.kind === "agent" && session.owner.name === agent;
    if (isOwn || (await permission.isAllowed(agent).catch(() => false))) continue;
    for (const { makers, keyboard } of affectedSessions) {
      makers.removeOf(agent);
      if (keyboard.owner?.agent === agent) keyboard.release();
    }
  }
}
