/** A client that a person's key started in a pane switches their terminal to another session, instead of nesting it. */
import * as v from "valibot";
import { WshError } from "../protocol/errors.ts";
import { GoSchema, type WentSchema } from "../protocol/switch-session.ts";
import type { Session } from "../session/session.ts";
import type { Submission } from "../session/submitted-lines.ts";
import type { SessionAddress } from "../session/viewers.ts";
import type { ServedSession } from "./served-session.ts";

/** @throws WshError nested_session */
export async function switchTerminal(served: ServedSession, input: unknown): Promise<v.InferOutput<typeof WentSchema>> {
  const { pid, asks_only, ...place } = v.parse(GoSchema, input);
  const startingKey = served.findStartingKey(pid);
  if (startingKey === null) return { isInside: false };
  if (!asks_only) await switchViewer(served.session, startingKey, place);
  return { isInside: true };
}

/** @throws WshError nested_session when that terminal is no longer attached, or would show itself */
async function switchViewer(
  { viewers }: Pick<Session, "viewers">,
  { viewer: id }: Submission,
  place: SessionAddress,
): Promise<void> {
  const viewer = viewers.all.find((each) => each.id === id);
  if (viewer === undefined)
    throw new WshError("nested_session", "the terminal that started this is no longer attached", {
      hint: "Attach from a terminal, or start with --nested.",
    });
  await viewer.switchTo(place);
}
