/** AI agents that a person has allowed, once for all sessions, to act on what is not theirs ("Always" in the dialog). */
import { join } from "node:path";
import * as v from "valibot";
import type { Instance } from "../instance/paths.ts";
import { WshError } from "../protocol/errors.ts";
import { PrivateList } from "./private-list.ts";

const AllowedSchema = v.object({
  /** As the agent is called as an owner. */
  name: v.string(),
  /** Milliseconds since 1970. */
  since: v.number(),
});
export type AllowedAgent = v.InferOutput<typeof AllowedSchema>;

export const allowedAgents = new PrivateList<AllowedAgent>(
  (instance) => join(instance.stateDir, `${instance.fileName}.allowed-agents.json`),
  AllowedSchema,
  "allowed agents",
);

export async function allowAgent(instance: Instance, name: string): Promise<void> {
  await allowedAgents.change(instance, (known) => [
    ...known.filter((each) => each.name !== name),
    { name, since: Date.now() },
  ]);
}

/** @throws WshError invalid_request: it was not allowed */
export async function forgetAgent(instance: Instance, name: string): Promise<void> {
  await allowedAgents.change(instance, (known) => {
    const kept = known.filter((each) => each.name !== name);
    if (kept.length === known.length) throw notAllowed(name, known);
    return kept;
  });
}

function notAllowed(name: string, known: readonly AllowedAgent[]): WshError {
  const names = known.map((each) => `'${each.name}'`).join(", ");
  return new WshError("invalid_request", `agent '${name}' has not been allowed`, {
    hint: names === "" ? "No agent has been allowed." : `Allowed: ${names}.`,
  });
}
