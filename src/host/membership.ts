/**
 * Whether this process serves its session itself, or is one pane of a session that a layout process serves. It begins
 * as one or the other, and may become a pane: at the session's first split. What concerns the session as a whole is
 * then passed on to the layout process. If that process is lost, the oldest pane of the session starts another.
 */
import type { Instance } from "../instance/paths.ts";
import type { SessionIds } from "../instance/registry/directories.ts";
import { releaseMember } from "../instance/registry/members.ts";
import { markEnded, markLive, releaseSession, renameSession } from "../instance/registry/registry.ts";
import type { SessionRegistry } from "../session/types.ts";

export class Membership {
  private inSession: number | null;

  /** @param session the session that the process is a pane of from the start */
  constructor(session: number | null) {
    this.inSession = session;
  }

  /** Another process serves the session. */
  get isMember(): boolean {
    return this.inSession !== null;
  }

  /** The number of the session that it is a pane of. */
  get session(): number | null {
    return this.inSession;
  }

  /** It is a pane of this session from now on. */
  become(session: number): void {
    this.inSession = session;
  }

  /** Removes the process from the registry. */
  async leave(instance: Instance, ids: SessionIds, name: string): Promise<void> {
    const { session } = this;
    if (session === null) await releaseSession(instance, { ...ids, name });
    else await releaseMember(instance, session, ids.id);
  }

  registry(instance: Instance, ids: SessionIds): SessionRegistry {
    const unlessMember = async (act: () => Promise<void>): Promise<void> => {
      if (!this.isMember) await act();
    };
    return {
      rename: (name) => unlessMember(() => renameSession(instance, ids.id, name)),
      ended: (name) => unlessMember(() => markEnded(instance, { ...ids, name })),
      live: () => unlessMember(() => markLive(instance, ids.id)),
      leave: (name) => this.leave(instance, ids, name),
    };
  }
}
