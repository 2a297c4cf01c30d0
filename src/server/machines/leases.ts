/**
 * Holds waits of other machines, each only while that machine is present. While an answer is missing, the machine
 * repeats its id; after LEASE_MS of silence its waits end, so that none remains for a machine that was
 * disconnected or killed. A machine that returns asks again.
 */
import { type Clock, systemClock } from "../../base/clock.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import { WshError } from "../../protocol/errors.ts";

/** Longest silence of the asking machine, in ms: it repeats its id every 1 or 5 s, and may be busy. */
const LEASE_MS = 20_000;

class Lease {
  readonly expired = new AbortController();
  waitCount = 0;
  private heardAt = 0;
  private timer: Disposable;

  constructor(private readonly clock: Clock) {
    this.renew();
    this.timer = this.expireAfter(LEASE_MS);
  }

  renew(): void {
    this.heardAt = this.clock.now();
  }

  [Symbol.dispose](): void {
    this.timer[Symbol.dispose]();
  }

  private expireAfter(ms: number): Disposable {
    return this.clock.after(ms, () => {
      const left = this.heardAt + LEASE_MS - this.clock.now();
      if (left > 0) this.timer = this.expireAfter(left);
      else this.expired.abort();
    });
  }
}

export class Leases {
  private readonly leases = new Map<string, Lease>();

  constructor(private readonly clock: Clock = systemClock) {}

  renew(askerId: string): void {
    this.leases.get(askerId)?.renew();
  }

  /**
   * @param askerId the asking machine's id; empty: no lease
   * @throws WshError server_unavailable after silence of the asking machine, and errors of `wait`
   */
  async holdWhile<T>(askerId: string, signal: AbortSignal, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (askerId === "") return wait(signal);
    const lease = this.leases.get(askerId) ?? new Lease(this.clock);
    this.leases.set(askerId, lease);
    lease.renew();
    lease.waitCount++;
    const { signal: expired } = lease.expired;
    using either = eitherSignal(signal, expired);
    try {
      const answer = await wait(either.signal);
      if (!expired.aborted) return answer;
      throw new WshError("server_unavailable", "the requesting machine was silent");
    } finally {
      if (--lease.waitCount === 0 || expired.aborted) {
        lease[Symbol.dispose]();
        if (this.leases.get(askerId) === lease) this.leases.delete(askerId);
      }
    }
  }
}
