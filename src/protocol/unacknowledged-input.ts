/**
 * A person's input on its way to a session over view WebSockets, for the page and for `wsh/client`. Each
 * piece has a number and waits until the session acknowledges it, over any connection, so that nothing is
 * typed twice and no sent input is lost. A session that has lost its record of numbers cannot tell which sent
 * input it has received: such input is dropped. The owner of the input opens the connections and sends.
 */
import type { NumberedInput } from "./numbered-input.ts";
import type { ViewMessage } from "./view.ts";

/** Maximum bytes that wait for the session. */
export const MAX_WAITING = 1024 * 1024;

export class UnacknowledgedInput<Extra extends object> {
  /** Oldest first. */
  waiting: (NumberedInput & Extra)[] = [];
  /** Highest number sent over any connection. */
  sent = 0;
  private next = 1;
  /** The session's name for its record of numbers. */
  private record: string | null = null;

  /** @returns whether it waits now; false: too much does */
  add(bytes: Uint8Array, extra: Extra): boolean {
    const waits = this.waiting.reduce((sum, piece) => sum + piece.bytes.length, 0);
    if (waits + bytes.length > MAX_WAITING) return false;
    this.waiting.push({ ...extra, number: this.next++, bytes });
    return true;
  }

  /** A connection begins: input that it has not taken must be sent over it. */
  opened({ took, record }: Pick<Extract<ViewMessage, { type: "opened" }>, "took" | "record">) {
    const taken = this.removeUpTo(took);
    const isOther = this.record !== null && record !== undefined && record !== this.record;
    this.record = record ?? this.record;
    return { taken, lost: isOther ? this.removeUpTo(this.sent) : [] };
  }

  /** Input up to this number has been acknowledged. @returns the removed pieces */
  took({ n, record }: Omit<Extract<ViewMessage, { type: "took" }>, "type">): (NumberedInput & Extra)[] {
    this.record = record ?? this.record;
    return this.removeUpTo(n);
  }

  /** The session has another record, and does not know sent input up to this number. @returns the removed pieces */
  lost({ n, record }: Extract<ViewMessage, { type: "lost" }>): (NumberedInput & Extra)[] {
    this.record = record;
    return this.removeUpTo(n);
  }

  /** Drops what was never sent. */
  dropUnsent(): void {
    this.waiting = this.waiting.filter(({ number }) => number <= this.sent);
    this.next = this.sent + 1;
  }

  private removeUpTo(number: number): (NumberedInput & Extra)[] {
    const count = this.waiting.findIndex((piece) => piece.number > number);
    return this.waiting.splice(0, count < 0 ? this.waiting.length : count);
  }
}
