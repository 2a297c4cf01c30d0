/**
 * Flow control of one direction of a link's stream, both ends: the sender never has more bytes in transit than the
 * receiver has permitted, so a stopped reader causes at most LINK_CREDIT_BYTES to be queued and blocks no process in
 * between. Pure.
 */
import { LINK_CREDIT_BYTES } from "./machines.ts";

/** Bytes received after which credit is returned at once: often enough that the sender never waits. */
const GIVE_BACK_BYTES = LINK_CREDIT_BYTES / 4;

/** The sender's remaining credit. */
export class SendCredit {
  private remaining = LINK_CREDIT_BYTES;

  /** Number of these bytes that may be sent now; they count as sent. */
  take(wanted: number): number {
    const taken = Math.min(wanted, this.remaining);
    this.remaining -= taken;
    return taken;
  }

  /** The receiver permits more bytes, never more than a whole credit at once. */
  grant(bytes: number): void {
    this.remaining = Math.min(LINK_CREDIT_BYTES, this.remaining + bytes);
  }
}

/** Credit that the receiver has used and not returned. */
export class ReceiveCredit {
  private usedBytes = 0;
  private outstanding = LINK_CREDIT_BYTES;

  /** @returns whether the sender was permitted to send that many */
  arrived(bytes: number): boolean {
    this.outstanding -= bytes;
    return this.outstanding >= 0;
  }

  /** @returns the credit to send now; 0: none yet */
  used(bytes: number): number {
    this.usedBytes += bytes;
    if (this.usedBytes < GIVE_BACK_BYTES) return 0;
    const given = this.usedBytes;
    this.usedBytes = 0;
    this.outstanding += given;
    return given;
  }
}
