/**
 * Waits of another machine here, each lasting only while that machine is present. While an answer is missing, the
 * machine repeats its id; after LEASE_MS of silence its waits end, so that none remains for a machine that was
 * disconnected or killed. A machine that returns asks again.
 */
import { type Clock, systemClock } from "../../base/clock.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import { WshError } from "../../protocol/errors.ts";

/** Longest silence of the asking machine, in ms: it repeats its id every 1 or 5 s, and may be busy. */
const LEASE_MS = 20_000;

class Lease {
  readonly expired = new AbortController();
  waits = 0;
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

  renew(asking: string): void {
    this.leases.get(asking)?.renew();
  }

  /**
   * @param asking the asking machine's id; empty: no lease
   * @throws WshError server_unavailable after silence of the asking machine, and errors of `wait`
   */
  async during<T>(asking: string, signal: AbortSignal, wait: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (asking === "") return wait(signal);
    const lease = this.leases.get(asking) ?? new Lease(this.clock);
    this.leases.set(asking, lease);
    lease.renew();
    lease.waits++;
    const { signal: over } = lease.expired;
    using either = eitherSignal(signal, over);
    try {
      const answer = await wait(either.signal);
      if (!over.aborted) return answer;
      throw new WshError("server_unavailable", "the requesting machine was silent");
    } finally {
      if (--lease.waits === 0 || over.aborted) {
        lease[Symbol.dispose]();
        if (this.leases.get(asking) === lease) this.leases.delete(asking);
      }
    }
  }
}
