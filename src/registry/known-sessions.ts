/** Whether readers of events name sessions that exist, or existed: a misspelt name would wait forever. */
import { EventReader } from "../events/reader.ts";
import { eventsDir } from "../events/segments.ts";
import { isSelected } from "../events/selection.ts";
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { normalName, parseTarget, sessionId } from "../protocol/names.ts";
import { findSession } from "./registry.ts";

/**
 * The names, and the ids of the sessions that have them now: events are selected by both, also after a session is
 * renamed. The journal is searched only for a name that no session has.
 * @throws WshError session_not_found for a name or id that no session has or had in the kept events
 */
export function knownSessions(instance: Instance, names: readonly string[]): string[] {
  const ids: string[] = [];
  for (const name of names) {
    try {
      const { session } = findSession(instance, parseTarget(name));
      if (session !== null) ids.push(sessionId(session));
    } catch (thrown) {
      if (!wasThere(instance, normalName(name)))
        throw new WshError("session_not_found", WshError.from(thrown).message, {
          hint: "Without a name, the events of all sessions are read, also of later ones.",
        });
    }
  }
  return [...new Set([...names, ...ids])];
}

function wasThere(instance: Instance, name: string): boolean {
  const reader = new EventReader(eventsDir(instance), "start");
  for (let more = true; more; ) {
    const found = reader.read(1, (event) => isSelected({ type: [], session: [name], tag: [] }, event));
    if (found.events.length > 0) return true;
    more = found.more;
  }
  return false;
}
