/** Finds the session that a call names; for a crashed one, starts a process that shows its stored contents. */
import type { CallContext } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";

/** @throws WshError session_not_found, and errors of a checkpoint */
export async function findOrShow(
  proxies: SessionProxies,
  context: CallContext,
  session: string,
): Promise<SessionProxy> {
  const { caller, env = process.env } = context;
  const { only } = caller;
  try {
    return await proxies.find(session, only);
  } catch (thrown) {
    if (WshError.from(thrown).code !== "session_not_found") throw thrown;
    const { showCrashed } = await import("../../checkpoints/find-crashed.ts");
    if (!(await showCrashed(proxies.instance, session, { env, starter: "server" }, only))) throw thrown;
    return proxies.find(session, only);
  }
}
