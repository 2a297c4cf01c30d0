/**
 * Routes a call to its handler: server operations here, session operations to their session process, unparsed. The one
 * entry for HTTP, WebSocket and MCP, so access and validation are the same everywhere.
 */
import { requireOwnCheckpoint } from "../../checkpoints/agent-rights.ts";
import type { Instance } from "../../instance/paths.ts";
import { type Call, type CallContext, parseInput, requireUsable } from "../../operations/call.ts";
import { requireAccess, requireAllSessions, requireRights, targetsIn } from "../../operations/rights.ts";
import {
  getOperation,
  type OperationOutput,
  type ParsedInput,
  type ServerOperationName,
} from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { requireNoAgent } from "../../protocol/owner.ts";
import type { Settings } from "../../settings/table.ts";
import { placeOf, requireNoMachine } from "../machines/placing.ts";
import type { RemoteCalls } from "../machines/remote-calls.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { createMissing, inMade } from "./create-missing.ts";
import { findOrShow } from "./find-or-show.ts";

/** A handler for every server operation: a missing one does not compile. */
export type ServerHandlers = {
  readonly [N in ServerOperationName]: (input: ParsedInput<N>, context: CallContext) => Promise<OperationOutput<N>>;
};

/**
 * @param remote executes calls to another machine
 * @param settings current settings
 * @param instance instance of the stored sessions
 */
export function createCall(
  proxies: SessionProxies,
  handlers: ServerHandlers,
  remote: RemoteCalls,
  settings: Pick<Settings, "agents_may">,
  instance: Instance,
): Call {
  const handlerOf = handlers as Readonly<Record<string, (input: unknown, context: CallContext) => Promise<unknown>>>;
  return async (name, input, context) => {
    const operation = getOperation(name);
    requireAccess(operation, context.access);
    const place = name === "sessions.create" ? placeOf(input) : null;
    const machine = remote.machineOf(name, input, context);
    if (place !== null && context.fromMachine !== true) {
      requireNoMachine(input, context);
      requireAllSessions(context, `${name} on another machine`);
      requireUsable(input);
      return (await remote.create(place, input as never, context)) as never;
    }
    if (machine !== null) {
      requireAllSessions(context, `${name} on another machine`);
      requireUsable(input);
      if (context.ahead === true) return (await remote.askAhead(machine, name, input, context)) as never;
      return remote.call(machine, name, input, context);
    }
    if (operation.scope === "server") {
      requireRights(context, operation, null);
      const handler = handlerOf[name];
      if (handler === undefined) throw new WshError("internal_error", `no handler for ${name}`);
      const { forAgents } = operation;
      // Operations of the server affect other sessions: an agent may change only those that it created.
      if (operation.access !== "observe" && forAgents === undefined) requireNoAgent(settings, context.caller, name);
      const parsed = parseInput(operation, input);
      if (forAgents === "stored") requireOwnCheckpoint(instance, settings, context.caller, name, parsed as object);
      return (await handler(parsed, context)) as never;
    }
    if (context.session === undefined) throw new WshError("session_required", `'${name}' needs a session`);
    requireUsable(input);
    const { only } = context.caller;
    for (const named of targetsIn(context, operation, input)) await proxies.find(named, only);
    const calls = { ...context, session: context.session };
    const made = await createMissing(proxies, handlers["sessions.create"], calls, name, input);
    const target = context.session;
    const proxy = await findOrShow(proxies, context, target);
    requireRights(context, operation, proxy.info.id, input);
    context.reached?.(proxy.info);
    const { access, caller, signal, once, deadline, waits } = context;
    const requestOptions = { ...defined({ once, deadline, waits }) };
    const from = { access, caller, signal, target, ...requestOptions };
    if (context.ahead === true) {
      await proxies.request(proxy, "peer.leave", { op: name, input, ahead: true }, { ...from, access: "admin" });
      return {} as never;
    }
    if (made !== null) return (await inMade(proxy, name, made, from)) as never;
    const result = await proxies.request(proxy, name, input, from);
    if (name === "input.capture") proxies.keyboards.recordCapture(context, proxy);
    return result as never;
  };
}
