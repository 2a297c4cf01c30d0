/** The end of a wait, in the form of every answer. */
import type { WaitOutcome } from "../../pane/waiting/waiters.ts";
import type { WaitResult } from "../../protocol/conditions.ts";

export function decisionOf(outcome: WaitOutcome): Omit<WaitResult, "session"> {
  const { decidedBy, match, groups, lineId, port, reason, agent } = outcome;
  return {
    decided_by: decidedBy,
    ...(port === undefined ? {} : { port: { ...port, addresses: [...port.addresses] } }),
    ...(reason === undefined ? {} : { reason }),
    ...(match === undefined ? {} : { match }),
    ...(groups === undefined ? {} : { groups: [...groups] }),
    ...(lineId === undefined ? {} : { line_id: lineId }),
    ...(agent === undefined ? {} : { agent }),
  };
}
