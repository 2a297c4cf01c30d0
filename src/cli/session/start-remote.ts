/** Starts a session on another machine, with the directory and environment of that machine's server. */

import type { LinkRequest } from "../../cluster/link.ts";
import { addressedSession } from "../../cluster/machine-prefix.ts";
import type { Instance } from "../../instance/paths.ts";
import type { OperationInput } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { cliCaller } from "./client.ts";
import { linkOf } from "./machines.ts";

/**
 * @param request id for repeating the request; default: a new id
 * @returns the session by its name here
 * @throws WshError of the operation sessions.create, machine_not_found, machine_unreachable, outcome_unknown
 */
export async function startRemote(
  instance: Instance,
  machine: string,
  input: OperationInput<"sessions.create">,
  request?: LinkRequest,
): Promise<SessionInfo> {
  const link = await linkOf(instance, machine);
  const callOptions = { caller: cliCaller, ...defined({ request }) };
  return addressedSession(machine, await link.call("sessions.create", { ...input, server: "local" }, callOptions));
}
