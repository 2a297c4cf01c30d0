/** Actions of the command line on an instance's credentials: their expiry, and their entries in the audit log. */
import type { Instance } from "../instance/paths.ts";
import { durationOf } from "../protocol/time-text.ts";
import { UsageError } from "./arguments.ts";

/** Shortest lifetime of a token, in ms: less is a mistake. */
const SHORTEST_LIFE_MS = 1_000;

/** The time at which a credential of this lifetime expires, in ms since 1970. @throws UsageError */
export function endOf(duration: string): number {
  const ms = durationOf(duration);
  if (ms === null || ms < SHORTEST_LIFE_MS) {
    throw new UsageError(`'${duration}' is not a duration`, "Give a number and s, m, h, d or w: 30m, 12h, 7d.");
  }
  return Date.now() + ms;
}

/** Performs the action, and records it if calls are recorded. */
export async function recordAction<T>(
  instance: Instance,
  operation: string,
  input: object,
  action: () => Promise<T>,
): Promise<T> {
  const [{ directAudit, directly }, { withOutcome }, { loadSettings }] = await Promise.all([
    import("../log/audit/direct-audit.ts"),
    import("../log/audit/outcome.ts"),
    import("../settings/settings.ts"),
  ]);
  const audit = directAudit(instance, loadSettings(instance, { env: process.env, tolerant: true }).values)();
  const context = { caller: { kind: "cli", id: `cli:${process.pid}`, name: "wsh", via: directly } } as const;
  return withOutcome(action, (outcome) => audit?.write({ operation, input, context, ...outcome }));
}
