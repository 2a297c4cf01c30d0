/** Counts the parts of a session's limits that its callers use: open streams, and requests being answered. */
import { WshError } from "../protocol/errors.ts";
import { requireRoom, type Share, shareOf } from "../protocol/shares.ts";
import type { Session } from "../session/session.ts";
import type { Peer, PeerRequest } from "../wire/peer.ts";

export class CallerShares {
  private readonly streams = new Map<Peer, Share>();
  private readonly openRequests = new Map<PeerRequest, Share>();

  constructor(private readonly limits: { readonly clients: number; readonly waiters: number }) {}

  /**
   * Answers a token's request, within its limit: most long requests are waits.
   * @throws WshError resource_limit_reached
   */
  async answer(request: PeerRequest, act: () => Promise<unknown>): Promise<unknown> {
    const share = shareOf(request);
    if (share === null) return act();
    requireRoom(this.limits.waiters, share, this.openRequests.values(), "requests are being answered");
    this.openRequests.set(request, share);
    try {
      return await act();
    } finally {
      this.openRequests.delete(request);
    }
  }

  /** Call before a peer's stream is opened. @throws WshError resource_limit_reached */
  openStream(session: Session, request: PeerRequest, peer: Peer): void {
    const { clients } = this.limits;
    if (session.streamCount >= clients) {
      throw new WshError("resource_limit_reached", `session '${session.name}' already has ${clients} clients`);
    }
    const share = shareOf(request);
    if (share === null) return;
    requireRoom(clients, share, this.streams.values(), "clients of the session");
    this.streams.set(peer, share);
  }

  peerClosed(peer: Peer): void {
    this.streams.delete(peer);
  }
}
