/** Limits the running sessions that an AI agent has created, by whichever interface. */
import { WshError } from "./errors.ts";
import { isSameOwner, type Owner } from "./owner.ts";
import type { SessionInfo } from "./session.ts";

/** @throws WshError max_sessions_reached */
export function requireAgentRoom(
  sessions: readonly Pick<SessionInfo, "running" | "owner">[],
  agent: Owner,
  most: number,
): void {
  const own = sessions.filter(({ running, owner }) => running && owner !== undefined && isSameOwner(owner, agent));
  if (own.length < most) return;
  throw new WshError("max_sessions_reached", `${agent.name} has ${own.length} running sessions, as many as it may`, {
    hint: "Kill those that are done, as 'wsh prune' does, or raise max_agent_sessions.",
  });
}
