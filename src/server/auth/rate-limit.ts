/**
 * Limits requests per peer address: a bucket of tokens that fills steadily. Pure bookkeeping over a clock. A full
 * bucket is forgotten, so only addresses with recent requests are remembered; past the limit of addresses the rest
 * share one bucket.
 */
import { WshError } from "../../protocol/errors.ts";

/** Limit of addresses remembered at one time: ~100 bytes each. */
const MAX_ADDRESSES = 10_000;
const SHARED = "";

interface Bucket {
  tokens: number;
  refilledAt: number;
}

export class RateLimit {
  private readonly buckets = new Map<string, Bucket>();

  /**
   * @param perSecond requests per second
   * @param burst most requests at once
   */
  constructor(
    private readonly perSecond: number,
    private readonly now: () => number = () => performance.now(),
    private readonly burst = perSecond,
  ) {}

  /** Takes one request. @returns seconds to wait (at least 1); null: it may proceed */
  admit(address: string): number | null {
    const wait = this.wait(address);
    if (wait === null) this.bucketOf(address).tokens--;
    return wait;
  }

  /** Like `admit`, without counting a request. */
  wait(address: string): number | null {
    const { tokens } = this.bucketOf(address);
    return tokens >= 1 ? null : Math.max(1, Math.ceil((1 - tokens) / this.perSecond));
  }

  private bucketOf(address: string): Bucket {
    const now = this.now();
    if (this.buckets.size >= MAX_ADDRESSES) this.forgetFull(now);
    const key = this.buckets.has(address) || this.buckets.size < MAX_ADDRESSES ? address : SHARED;
    const bucket = this.buckets.get(key) ?? { tokens: this.burst, refilledAt: now };
    bucket.tokens = Math.min(this.burst, bucket.tokens + ((now - bucket.refilledAt) / 1000) * this.perSecond);
    bucket.refilledAt = now;
    this.buckets.set(key, bucket);
    return bucket;
  }

  private forgetFull(now: number): void {
    for (const [address, { refilledAt }] of this.buckets)
      if (now - refilledAt > (1000 * this.burst) / this.perSecond) this.buckets.delete(address);
  }
}

/** Failed attempts of an address: at most this many at once, and as many per minute. */
const FAILED_ATTEMPTS = 5;
const MINUTE_S = 60;

export class FailedAttempts {
  private readonly limit = new RateLimit(FAILED_ATTEMPTS / MINUTE_S, undefined, FAILED_ATTEMPTS);

  /** Counts an attempt. @throws WshError rate_limited */
  add(peer: string | null): void {
    const wait = this.limit.admit(peer ?? "unknown");
    if (wait !== null) throw new WshError("rate_limited", "too many failed attempts", { retry_after_s: wait });
  }
}
