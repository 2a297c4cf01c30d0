/** The records and system data that the AI agent above this command may not know. */
import type { Instance } from "../../instance/paths.ts";
import { type Concealment, concealmentOf } from "../../protocol/concealed.ts";
import { sessionId } from "../../protocol/names.ts";
import { agentOfCaller, type Owner } from "../../protocol/owner.ts";
import { settingsOf } from "../instance.ts";
import { cliCaller } from "./client.ts";

/** @returns null for a person, or for an agent with a person's full permission */
export async function localConcealment(instance: Instance): Promise<Concealment | null> {
  const agent = await concealedAgent(instance);
  if (agent === null) return null;
  const [{ rememberedPrivate }, { findAll }] = await Promise.all([
    import("../../secrets/private-sessions.ts"),
    import("./session-list.ts"),
  ]);
  const all = await findAll(instance);
  const { hidden, ownSessions } = concealmentOf(
    all.flatMap((each) => ("info" in each ? each.info : [])),
    rememberedPrivate(instance),
    agent,
  );
  const silent = all.flatMap((each) =>
    "info" in each || each.entry.session === null ? [] : sessionId(each.entry.session),
  );
  return { hidden: new Set([...hidden, ...silent]), ownSessions };
}

/** The AI agent above this command that may learn only the names of private sessions; null: the caller may learn more. */
export async function concealedAgent(instance: Instance): Promise<Owner | null> {
  if (agentOfCaller(cliCaller) === null) return null;
  const [{ concealedFrom }, { values }] = await Promise.all([
    import("../../secrets/allowed-agents.ts"),
    settingsOf(instance),
  ]);
  return concealedFrom(instance, values, cliCaller);
}
