/** Peers that are notified of the session's changes: servers, sessions that show it, clients of tmux's control mode. */
import { asSeenBy } from "../protocol/concealed.ts";
import { messageTypes } from "../protocol/messages.ts";
import type { Owner } from "../protocol/owner.ts";
import type { SessionInfo } from "../protocol/session.ts";
import type { Peer } from "../wire/peer.ts";

export class Watchers {
  private readonly peers = new Set<Peer>();
  /** Watchers of AI agents, which may not see everything until a person allows it. */
  private readonly agents = new WeakMap<Peer, { readonly owner: Owner; isAllowed(): boolean }>();

  constructor(private readonly info: () => SessionInfo) {}

  get size(): number {
    return this.peers.size;
  }

  add(peer: Peer): void {
    this.peers.add(peer);
  }

  delete(peer: Peer): void {
    this.peers.delete(peer);
  }

  limitToAgent(peer: Peer, owner: Owner, isAllowed: () => boolean): void {
    this.agents.set(peer, { owner, isAllowed });
  }

  visibleInfo(peer: Peer, info: SessionInfo): SessionInfo {
    const agent = this.agents.get(peer);
    return asSeenBy(info, agent === undefined || agent.isAllowed() ? null : agent.owner);
  }

  /** An AI agent is only told that a private session has changed. */
  send(event: { readonly info?: SessionInfo; readonly [field: string]: unknown }): void {
    for (const peer of this.peers) {
      const info = this.agents.has(peer) ? (event.info ?? this.info()) : undefined;
      const visible = info === undefined ? undefined : this.visibleInfo(peer, info);
      peer.send(messageTypes.event, visible === info ? event : { event: "info", info: visible });
    }
  }

  closeConnections(): void {
    for (const peer of this.peers) peer.finish();
  }
}
