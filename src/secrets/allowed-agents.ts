/**
 * AI agents that a person has allowed, for all sessions, to act on sessions and panes of others ("Always" in the
 * dialog).
 */
import { join } from "node:path";
import * as v from "valibot";
import type { Instance } from "../instance/paths.ts";
import type { Caller } from "../protocol/caller.ts";
import { WshError } from "../protocol/errors.ts";
import { agentOfCaller, type Owner, ownerOf } from "../protocol/owner.ts";
import { PrivateList } from "./private-list.ts";

const AllowedSchema = v.object({
  /** The agent's name as an owner. */
  name: v.string(),
  /** Milliseconds since 1970. */
  since: v.number(),
});
type AllowedAgent = v.InferOutput<typeof AllowedSchema>;

export const allowedAgents = new PrivateList<AllowedAgent>(
  (instance) => join(instance.stateDir, `${instance.fileName}.allowed-agents.json`),
  AllowedSchema,
  "allowed agents",
);

/** @param name the agent's name as an owner */
export function isAllowed(instance: Instance, name: string): boolean {
  return allowedAgents.read(instance).some((each) => each.name === name);
}

/** The AI agent that may learn only the names of private sessions; null: the caller may learn more. */
export function concealedFrom(
  instance: Instance,
  { agents_may }: { readonly agents_may: "everything" | "own" },
  caller: Caller,
): Owner | null {
  if (agentOfCaller(caller) === null || agents_may === "everything") return null;
  const owner = ownerOf(caller);
  return isAllowed(instance, owner.name) ? null : owner;
}

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
