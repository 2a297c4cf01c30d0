/** Owners of sessions and panes: an AI agent's creations are its own, and everything else belongs to others. */
import * as v from "valibot";
import { type Caller, callerLabel, ownToken } from "./caller.ts";
import { WshError } from "./errors.ts";
import { described } from "./fields.ts";
import { quoted } from "./harmless-text.ts";

export const OwnerSchema = v.object({
  kind: described(
    v.picklist(["person", "agent", "token", "program"]),
    "a person at a terminal, an AI agent, the holder of a token, or a program of this account",
  ),
  name: described(v.string(), "the agent, the token, or the client that made it"),
});
export type Owner = v.InferOutput<typeof OwnerSchema>;

/** The process to which a session is bound: no other process has its start time. */
export const OwnerProcessSchema = v.object({ pid: v.number(), started: v.number() });
export type OwnerProcess = v.InferOutput<typeof OwnerProcessSchema>;

/** The agent that makes a call; null: another caller. */
export function agentOfCaller({ kind, name, agent }: Caller): string | null {
  if (agent !== undefined) return agent;
  return kind === "mcp" ? (name ?? "an MCP client") : null;
}

/** The owner of a caller's creations. */
export function ownerOf(caller: Caller): Owner {
  const agent = agentOfCaller(caller);
  const { kind } = caller;
  const token = ownToken(caller);
  // Two agents of the same name with different tokens are two owners.
  if (agent !== null) return { kind: "agent", name: token === null ? agent : `${agent} (${token})` };
  if (token !== null) return { kind: "token", name: token };
  return kind === "cli" ? { kind: "person", name: "wsh" } : { kind: "program", name: callerLabel(caller) };
}

export function isSameOwner(a: Owner, b: Owner): boolean {
  return a.kind === b.kind && a.name === b.name;
}

/** An owner in messages: `the agent "Claude Code"`, `a person`. */
export function ownerText({ kind, name }: Owner): string {
  return kind === "person" ? "a person" : `the ${kind} ${quoted(name)}`;
}

/** For operations that affect more than one session, such as ending all. @throws WshError access_denied */
export function requireNoAgent(
  { agents_may }: { readonly agents_may: "everything" | "own" },
  caller: Caller,
  what: string,
): void {
  const agent = agentOfCaller(caller);
  if (agent === null || agents_may === "everything") return;
  throw new WshError("access_denied", `${agent} may not use ${what}: it reaches beyond what the agent created`, {
    hint: "A person can do it (setting agents_may).",
  });
}
