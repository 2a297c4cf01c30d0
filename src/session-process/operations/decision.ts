/** The end of a wait, in the form of every answer. */
import type { WaitOutcome } from "../../pane/waiting/waiters.ts";
import type { WaitResult } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";

export function decisionOf(outcome: WaitOutcome): Omit<WaitResult, "session"> {
  const { decidedBy, match, groups, lineId, port, reason, agent } = outcome;
  return {
    decided_by: decidedBy,
    ...(port === undefined ? {} : { port: { ...port, addresses: [...port.addresses] } }),
    ...defined({ reason, match }),
    ...(groups === undefined ? {} : { groups: [...groups] }),
    ...defined({ line_id: lineId, agent }),
  };
}
