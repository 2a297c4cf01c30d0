/** The facts about a guest pane, from the process that runs it to the session that has it. */
import * as v from "valibot";
import { WshError } from "../../protocol/errors.ts";
import { OwnerSchema } from "../../protocol/owner.ts";
import { PaneInfoSchema } from "../../protocol/session.ts";
import type { LocalPane } from "./local-pane.ts";

export const GuestFactsSchema = v.object({
  info: v.omit(PaneInfoSchema, ["index", "active", "last"]),
  owner: v.nullish(OwnerSchema),
  /** Time since the last activity, in ms; absent from a process of an earlier version. */
  idle_ms: v.optional(v.number(), 0),
});

export async function readGuestFacts(local: LocalPane): Promise<v.InferInput<typeof GuestFactsSchema>> {
  await local.refresh();
  return { info: local.paneInfo(), owner: local.ownSession.owner, idle_ms: local.idleMs() };
}

/** The process that ran a guest's program forgets it soon after its end. */
export function guestEndedError(pane: string): WshError {
  return new WshError("session_ended", `the program of pane '${pane}', which came from another session, has ended`, {
    hint: `Start another one in its place: \`wsh pane respawn ${pane} -- COMMAND\`.`,
  });
}
