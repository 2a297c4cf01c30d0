/**
 * Executes requests with an id once, with the same answer for all callers with that id. A session process also
 * remembers the requests to its session, so that they outlive this server; the registry remembers those that
 * create sessions (registry/made-requests.ts). Only this server knows the others.
 */
import type { Call } from "../../operations/call.ts";
import { requireAccess } from "../../operations/rights.ts";
import { getOperation } from "../../operations/table.ts";
import { requireInTime } from "../../protocol/requests.ts";
import { RequestMemory } from "../../wire/request-memory.ts";

/** Maximum requests with an id that the server remembers, and bytes of their answers. */
const LIMITS = { ids: 32_768, bytes: 16 * 1024 * 1024 } as const;

export class IdempotentCalls {
  private readonly memory = new RequestMemory(LIMITS, true);

  /** @param isForRemote whether another machine executes the call */
  wrap(call: Call, isForRemote: (...call: Parameters<Call>) => boolean): Call {
    return async (name, input, { once, ...context }) => {
      const operation = getOperation(name);
      const { scope, access, makesSessions = false } = operation;
      // Repeating a read changes nothing.
      if (once === undefined || access === "observe") {
        requireInTime(context.deadline);
        return call(name, input, context);
      }
      const isLast = scope === "server" && !makesSessions && !isForRemote(name, input, context);
      // Only permitted callers get a remembered answer.
      requireAccess(operation, context.access);
      // A caller whose token has ended does not return.
      const caller = { signal: context.signal, isGone: () => context.ended?.aborted !== true };
      const run = async (signal: AbortSignal) => {
        requireInTime(context.deadline);
        return call(name, input, { ...context, once, signal });
      };
      return (await this.memory.answer(once, caller, run, isLast)) as never;
    };
  }

  /** The caller no longer wants an answer. */
  cancel(key: string): void {
    this.memory.cancel(key);
  }
}
