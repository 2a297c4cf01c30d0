/**
 * Copies that one terminal's client is to put into the system's clipboard itself. A client that falls behind gets the
 * newest one once it reads again.
 */
import { messageTypes } from "../../protocol/messages.ts";
import type { Peer } from "../../wire/peer.ts";

export class Copies {
  private owed: string | null = null;

  /** @param isWanted the client copies */
  constructor(
    private readonly peer: Peer,
    private readonly isWanted: boolean,
  ) {}

  copied(base64: string): void {
    if (!this.isWanted) return;
    this.owed = base64;
    this.tell();
  }

  /** The client may read again. */
  tell(): void {
    const { owed: base64, peer } = this;
    if (base64 === null || peer.outbox.pending > 0 || peer.isClosed) return;
    this.owed = null;
    peer.send(messageTypes.event, { event: "copied", base64 });
  }
}
