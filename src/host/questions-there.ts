/** Waits for answers where the session's questions are: in its layout process, once there is one. */
import * as v from "valibot";
import { AskResultSchema } from "../protocol/ask-result.ts";
import type { Answers } from "../session/questions/types.ts";
import type { RequestContext } from "../wire/connection.ts";

interface Forwarding {
  /** Passes a request on to the layout process. @throws what it answered */
  forward(op: string, input: unknown, context: RequestContext): Promise<unknown>;
}

const WaitedSchema = v.looseObject({ ask: v.optional(AskResultSchema) });

export function answersThere(layout: Forwarding, context: Pick<RequestContext, "caller" | "access">): Answers {
  return {
    async answer(id, maxWaitMs, signal) {
      const input = { any_of: [{ type: "answer", ask_id: id }], max_wait_ms: maxWaitMs };
      const { ask } = v.parse(WaitedSchema, await layout.forward("wait", input, { ...context, signal }));
      if (ask === undefined) return { ask_id: id, state: "pending" };
      const { session: _, ...result } = ask;
      return result;
    },
  };
}
