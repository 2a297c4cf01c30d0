/**
 * Observes every call over any transport: its operation, result and duration. The call itself is unchanged. Observers
 * must be quick and must not throw.
 */
import type { AuditRecord } from "../../log/audit/audit-log.ts";
import { withOutcome } from "../../log/audit/outcome.ts";
import type { Call, CallContext, ReachedSession } from "../../operations/call.ts";
import { defined } from "../../protocol/defined.ts";

export interface CallRecord extends Omit<AuditRecord, "left_out"> {
  readonly context: CallContext & { readonly session?: string };
  readonly reached?: ReachedSession;
}

export function recorded(call: Call, sinks: readonly ((record: CallRecord) => void)[]): Call {
  if (sinks.length === 0) return call;
  return async (operation, input, context) => {
    let reached: ReachedSession | undefined;
    const hearing: typeof context = {
      ...context,
      reached: (ids) => {
        reached = ids;
      },
    };
    return await withOutcome(
      () => call(operation, input, hearing),
      (outcome) => {
        const record = { operation, input, context, ...outcome, ...defined({ reached }) };
        for (const sink of sinks) sink(record);
      },
    );
  };
}
