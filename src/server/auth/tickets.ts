/**
 * Tickets: a browser cannot send a header with a WebSocket, so it requests a ticket with a header and puts that in the
 * URL. A ticket has the rights of its owner's token, once, within half a minute; a URL that leaks later opens nothing.
 */

import { randomToken } from "../../base/random-token.ts";
import { requireRoom, type Share } from "../../protocol/shares.ts";
import type { Admitted } from "./guard.ts";

/** Time for which a ticket is valid, in ms (docs/security.md, Tickets). */
const TICKET_LIFE_MS = 30_000;

interface Ticket {
  readonly admitted: Admitted;
  readonly share: Share;
  readonly expires: number;
}

export class Tickets {
  private readonly tickets = new Map<string, Ticket>();

  constructor(
    private readonly max: number,
    private readonly clock: () => number = () => performance.now(),
  ) {}

  /** @throws WshError resource_limit_reached */
  issue(admitted: Admitted, share: Share): string {
    this.forgetExpired();
    const shares = [...this.tickets.values()].map((ticket) => ticket.share);
    requireRoom(this.max, share, shares, "tickets are unused");
    const ticket = randomToken();
    this.tickets.set(ticket, { admitted, share, expires: this.clock() + TICKET_LIFE_MS });
    return ticket;
  }

  /** Null for an unknown or expired ticket. */
  redeem(ticket: string): Admitted | null {
    const entry = this.tickets.get(ticket);
    this.tickets.delete(ticket);
    if (entry === undefined || entry.expires <= this.clock() || entry.admitted.endSignal?.aborted === true) return null;
    return entry.admitted;
  }

  private forgetExpired(): void {
    const now = this.clock();
    // Oldest first: all have the same lifetime.
    for (const [ticket, { expires }] of this.tickets) {
      if (expires > now) return;
      this.tickets.delete(ticket);
    }
  }
}
