/** Targets of a caller limited to one session: those in other sessions are reported as not existing. */
import type { Instance } from "../../instance/paths.ts";
import type { Acting } from "../../protocol/caller.ts";
import { notFound, parseTarget, sessionId } from "../../protocol/names.ts";
import type { SessionEntry } from "../../registry/directories.ts";
import { findSession } from "../../registry/registry.ts";

/** The process of a target, if the caller may know of it. @throws WshError session_not_found */
export function findPermittedSession(instance: Instance, { caller: { only } }: Acting, target: string): SessionEntry {
  const parsed = parseTarget(target);
  const entry = findSession(instance, parsed);
  const isPermitted = only === undefined || (entry.session !== null && sessionId(entry.session) === only);
  if (!isPermitted) throw notFound(parsed, instance.name);
  return entry;
}
