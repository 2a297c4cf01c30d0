/** Records the requests that reach a session's process directly in the audit log. */
import type { AuditLog } from "../log/audit/audit-log.ts";
import { directly } from "../log/audit/direct-audit.ts";
import { withOutcome } from "../log/audit/outcome.ts";
import type { PeerRequest } from "../wire/peer.ts";
import type { ServedSession } from "./served-session.ts";

/** @param audit null: the request is not recorded */
export async function recordRequest(
  audit: AuditLog | null,
  { op: operation, input, caller }: Pick<PeerRequest, "op" | "input" | "caller">,
  { session, paneId }: Pick<ServedSession, "session" | "paneId">,
  act: () => Promise<unknown>,
): Promise<unknown> {
  if (audit === null) return act();
  const context = { caller: { via: directly, ...caller }, session: session.name };
  return withOutcome(act, (outcome) => {
    const reached = { id: session.id, pane_id: paneId };
    audit.write({ operation, input, context, reached, ...outcome });
  });
}

/** Records a stream that ends since its caller may no longer use the session. @param reason as its caller gets it */
export function recordStreamEnd(
  audit: AuditLog | null,
  { op, input, caller }: Pick<PeerRequest, "op" | "input" | "caller">,
  { session, paneId }: Pick<ServedSession, "session" | "paneId">,
  reason: string,
): void {
  const context = { caller: { via: directly, ...caller }, session: session.name };
  const reached = { id: session.id, pane_id: paneId };
  audit?.write({ operation: `end:${op}`, input, context, reached, result: reason, ms: 0 });
}
