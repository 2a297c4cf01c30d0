/** An event consumer of the settings, or of a session's creator: a hook, or a notice. Pure. */
import * as v from "valibot";
import { type Hook, HookSchema, hookMatches } from "./hooks.ts";
import { type Notify, NotifySchema, noticeFor } from "./notices.ts";
import type { RecordedEvent } from "./recorded-events.ts";

export const WantedSchema = v.union([HookSchema, NotifySchema]);
export type EventConsumer = Hook | Notify;

export function isNotify(wanted: EventConsumer): wanted is Notify {
  return "way" in wanted;
}

/** Whether a server must act for it: attached terminals are notified by their session. */
export function isWanted(wanted: EventConsumer, event: RecordedEvent): boolean {
  if (!isNotify(wanted)) return hookMatches(wanted, event);
  return wanted.way !== "terminals" && noticeFor(wanted, event) !== null;
}
