/**
 * Consequences when a session becomes private: its panes in other processes are notified, and overlays, panels and
 * captures of AI agents that may no longer see it are removed. Their requests and streams end in
 * endpoint/limited-callers.ts. The same when a pane that runs here becomes another session's private one.
 */
import { present } from "../protocol/defined.ts";
import type { LocalPane } from "./panes/local-pane.ts";
import type { SessionParts } from "./parts.ts";

export function followPrivacy(parts: SessionParts): void {
  const { session, arrangement, locals, content } = parts;
  const tellPanes = (): void => {
    for (const local of locals.values()) if (local.home === null) local.ownSession.setPrivate(session.isPrivate);
    for (const { link } of arrangement.placed.values()) if (link?.isGuest) link.setPrivate(session.isPrivate);
  };
  // Its panes here always know: `own` of each reports it.
  for (const change of ["info", "private"] as const) session.events.on(change, tellPanes);
  arrangement.events.on("placed", tellPanes);
  session.events.on("private", () => void takeBack(parts));
  let wasPrivate = session.isPrivate;
  session.events.on("info", () => {
    if (session.isPrivate === wasPrivate) return;
    wasPrivate = session.isPrivate;
    void remember(parts);
  });
  let had = false;
  arrangement.events.on("listed", () => {
    const has = content.privateOwners.length > 0;
    if (has && !had) session.events.emit("private", undefined);
    had = has;
  });
}

async function remember({ session, instance }: SessionParts): Promise<void> {
  const { id, owner, isPrivate } = session;
  const { rememberPrivate } = await import("../secrets/private-sessions.ts");
  // If the state directory is not writable, there is no journal either.
  await rememberPrivate(instance, { id, ...present({ owner }) }, isPrivate).catch(() => {});
}

/** Called when the session that shows a pane of this process becomes private, or stops being private. */
export function setGuestPrivate({ session }: SessionParts, { ownSession }: LocalPane, on: boolean): void {
  const hasBecome = on && !ownSession.isPrivate;
  ownSession.setPrivate(on);
  if (hasBecome) session.events.emit("private", undefined);
}

async function takeBack({ session, locals, content, permission }: SessionParts): Promise<void> {
  const ofPanes = [...locals.values()].map(({ ownSession }) => ownSession);
  const isWhole = session.isPrivate || content.privateOwners.length > 0;
  const all = isWhole ? [session, ...ofPanes] : ofPanes.filter(({ isPrivate }) => isPrivate);
  const agents = all.flatMap(({ makers, keyboard }) => [...makers.agents, keyboard.owner?.agent ?? ""]);
  for (const agent of new Set(agents)) {
    const isOwn = session.owner?.kind === "agent" && session.owner.name === agent;
    if (isOwn || (await permission.isAllowed(agent).catch(() => false))) continue;
    for (const { makers, keyboard } of all) {
      makers.removeOf(agent);
      if (keyboard.owner?.agent === agent) keyboard.release();
    }
  }
}
