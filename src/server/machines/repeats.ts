/**
 * Ids for requests to other machines whose caller gave none. An AI agent repeats a call after `outcome_unknown`, and a
 * tool has no parameter for an id: so one repetition of the same call by the same caller counts as the same request,
 * and is not executed again.
 */
import type { Caller } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import { REMEMBERED_MS, type RequestKey, requestKeyOf } from "../../protocol/requests.ts";

/** Maximum remembered calls; the oldest is forgotten first. */
const MAX_CALLS = 256;

interface UnknownOutcome {
  readonly requestKey: RequestKey;
  readonly sentAt: number;
}

export class Repeats {
  private readonly unknown = new Map<string, UnknownOutcome>();

  /**
   * @param given the caller's own id
   * @param ask gets the request's id
   */
  async withRequestId<T>(
    asks: Parameters<typeof requestKeyOf>[2],
    { kind, id: owner, connected }: Caller,
    given: RequestKey | undefined,
    ask: (once: RequestKey) => Promise<T>,
  ): Promise<T> {
    if (given !== undefined) return ask(given);
    const fresh = requestKeyOf(Bun.randomUUIDv7(), owner, asks);
    // Programs without a connection may share a token: an identical call may come from another caller.
    if (kind !== "mcp" || !connected) return ask(fresh);
    const call = `${owner} ${fresh.digest}`;
    const before = this.unknown.get(call);
    this.unknown.delete(call);
    const now = Date.now();
    const again =
      before !== undefined && now - before.sentAt < REMEMBERED_MS ? before : { requestKey: fresh, sentAt: now };
    try {
      return await ask(again === before ? { ...again.requestKey, first_at: again.sentAt } : fresh);
    } catch (thrown) {
      if (WshError.from(thrown).code === "outcome_unknown") this.remember(call, again);
      throw thrown;
    }
  }

  private remember(call: string, unknown: UnknownOutcome): void {
    this.unknown.set(call, unknown);
    for (const oldest of this.unknown.keys()) {
      if (this.unknown.size <= MAX_CALLS) break;
      this.unknown.delete(oldest);
    }
  }
}
