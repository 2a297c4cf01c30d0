/**
 * The subject of an operation on a session with several panes: one pane, its window, or the whole session. Pure; the
 * facts about operations are compiled into this file, so that routing need not load the schemas.
 */
import type { Operation } from "./define.ts";
import { routingTable } from "./routing-table.ts" with { type: "macro" };

const byName: ReadonlyMap<string, Pick<Operation, "scope" | "subject" | "ends">> = new Map(
  Object.entries(routingTable()),
);

/** @param target as the caller wrote it; absent: the session as a whole */
export function isForPane(operation: string, target?: string): boolean {
  const { scope, subject } = byName.get(operation) ?? {};
  if (subject === "named") return target !== undefined && addressesPane(target);
  return scope === "pane";
}

/** The target of an operation that an event triggers: the event's pane or window, or else its session. */
export function subjectOf(
  operation: string,
  {
    pane,
    window,
    session_id,
  }: { readonly pane?: string | undefined; readonly window?: string | undefined; readonly session_id: string },
): string {
  const { scope, subject } = byName.get(operation) ?? {};
  if (subject === "window") return window ?? pane ?? session_id;
  return scope === "layout" || isForPane(operation, pane) ? (pane ?? window ?? session_id) : session_id;
}

/** Whether a target names a pane, not only the session that has it. */
export function addressesPane(target: string): boolean {
  return /^@\d/.test(target) || /^[^@][^:]*:.*\.\d+$/.test(target);
}

/** If the target leaves open which of several panes is meant, the answer names the pane. */
export function withPane(result: unknown, pane: string): unknown {
  const takesFacts = typeof result === "object" && result !== null && !Array.isArray(result);
  return takesFacts ? { ...result, pane } : result;
}

/** Whether the server handles it, for any session. */
export function isForServer(operation: string): boolean {
  return byName.get(operation)?.scope === "server";
}

/** What the operation ends, if anything. */
export function endsOf(operation: string): Operation["ends"] {
  return byName.get(operation)?.ends;
}
