/**
 * Refused requests in the audit log: limited to what a person can read, so that guessing tokens does not displace older
 * records.
 */
import type { AuditLog } from "../../log/audit/audit-log.ts";
import { RateLimit } from "../auth/rate-limit.ts";
import type { RefusedRequest } from "../http/context.ts";

/** Lines per second, and the largest burst; the others are only counted. */
const LINES_PER_SECOND = 10;
/** Recorded characters of a path. */
const SHOWN_PATH = 200;

export function auditRefusals(audit: AuditLog): (code: string, request: RefusedRequest) => void {
  const limit = new RateLimit(LINES_PER_SECOND);
  let leftOut = 0;
  return (code, { method, path, peer }) => {
    if (limit.admit("all") !== null) {
      leftOut++;
      return;
    }
    audit.write({
      operation: "refused",
      input: null,
      context: {
        caller: { kind: "http", id: "unknown", via: { token: "unknown", peer } },
        session: `${method} ${path.slice(0, SHOWN_PATH)}`,
      },
      result: code,
      ms: 0,
      ...(leftOut === 0 ? {} : { left_out: leftOut }),
    });
    leftOut = 0;
  };
}
