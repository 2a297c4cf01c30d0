/** Finds the session that a call names; for a lost one, starts a process that shows its remaining contents. */
import type { CallContext } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";

/** @throws WshError session_not_found, and errors of a checkpoint */
export async function findOrShow(hosts: Hosts, context: CallContext, session: string): Promise<Host> {
  const { caller, env = process.env } = context;
  const { only } = caller;
  try {
    return await hosts.find(session, only);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "session_not_found") throw thrown;
    const { showLost } = await import("../../checkpoints/find.ts");
    if (!(await showLost(hosts.instance, session, { env, starter: "server" }, only))) throw thrown;
    return hosts.find(session, only);
  }
}
