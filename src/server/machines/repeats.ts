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
  private readonly unknownOutcomes = new Map<string, UnknownOutcome>();

  /**
   * @param givenKey the caller's own id
   * @param send gets the request's id
   */
  async withRequestId<T>(
    describedRequest: Parameters<typeof requestKeyOf>[2],
    { kind, id: owner, connected }: Caller,
    givenKey: RequestKey | undefined,
    send: (key: RequestKey) => Promise<T>,
  ): Promise<T> {
    if (givenKey !== undefined) return send(givenKey);
    const newKey = requestKeyOf(Bun.randomUUIDv7(), owner, describedRequest);
    // Programs without a connection may share a token: an identical call may come from another caller.
    if (kind !== "mcp" || !connected) return send(newKey);
    const call = `${owner} ${newKey.digest}`;
    const earlier = this.unknownOutcomes.get(call);
    this.unknownOutcomes.delete(call);
    const now = Date.now();
    const outcome =
      earlier !== undefined && now - earlier.sentAt < REMEMBERED_MS ? earlier : { requestKey: newKey, sentAt: now };
    try {
      return await send(outcome === earlier ? { ...outcome.requestKey, first_at: outcome.sentAt } : newKey);
    } catch (thrown) {
      if (WshError.from(thrown).code === "outcome_unknown") this.remember(call, outcome);
      throw thrown;
    }
  }

  private remember(call: string, unknown: UnknownOutcome): void {
    this.unknownOutcomes.set(call, unknown);
    for (const oldest of this.unknownOutcomes.keys()) {
      if (this.unknownOutcomes.size <= MAX_CALLS) break;
      this.unknownOutcomes.delete(oldest);
    }
  }
}
