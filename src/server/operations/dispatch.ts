/**
 * Routes a call to its handler: server operations here, session operations to their session process, unparsed. The one
 * entry for HTTP, WebSocket and MCP, so access and validation are the same everywhere.
 */
import { type Call, type CallContext, parseInput, requireUsable } from "../../operations/call.ts";
import { requireAccess, requireAllSessions, requireMay, targetsIn } from "../../operations/rights.ts";
import { addressesPane, isForPane } from "../../operations/routing.ts";
import {
  getOperation,
  type OperationOutput,
  type ParsedInput,
  type ServerOperationName,
} from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";
import { wholeOf } from "../hosts/whole-session.ts";
import type { FarCalls } from "../machines/far-calls.ts";
import { placeOf, requireOpen } from "../machines/placing.ts";
import { createMissing, inMade } from "./create-missing.ts";
import { findOrShow } from "./find-or-show.ts";

/** A handler for every server operation: a missing one does not compile. */
export type ServerHandlers = {
  readonly [N in ServerOperationName]: (input: ParsedInput<N>, context: CallContext) => Promise<OperationOutput<N>>;
};

/** @param far carries out what concerns another machine */
export function createCall(hosts: Hosts, handlers: ServerHandlers, far: FarCalls): Call {
  const handlerOf = handlers as Readonly<Record<string, (input: unknown, context: CallContext) => Promise<unknown>>>;
  return async (name, input, context) => {
    const operation = getOperation(name);
    requireAccess(operation, context.access);
    const place = name === "sessions.create" ? placeOf(input) : null;
    const machine = far.machineOf(name, input, context);
    if (place !== null && context.isFar !== true) {
      requireOpen(input, context);
      requireAllSessions(context, `${name} on another machine`);
      requireUsable(input);
      return (await far.create(place, input as never, context)) as never;
    }
    if (machine !== null) {
      requireAllSessions(context, `${name} on another machine`);
      requireUsable(input);
      return far.call(machine, name, input, context);
    }
    if (operation.scope === "server") {
      requireMay(context, operation, null);
      const handler = handlerOf[name];
      if (handler === undefined) throw new WshError("internal_error", `no handler for ${name}`);
      return (await handler(parseInput(operation, input), context)) as never;
    }
    if (context.session === undefined) throw new WshError("session_required", `'${name}' needs a session`);
    requireUsable(input);
    const { only } = context.caller;
    for (const named of targetsIn(context, operation, input)) await hosts.find(named, only);
    const calls = { ...context, session: context.session };
    const made = await createMissing(hosts, handlers["sessions.create"], calls, name, input);
    const target = context.session;
    const reach = async (): Promise<{ found: Host; host: Host }> => {
      const found = await findOrShow(hosts, context, target);
      return { found, host: isForPane(name, target) ? await hosts.paneOf(found, target) : wholeOf(hosts, found) };
    };
    const { found, host } = await orOfSuccessor(reach);
    // A view's pane may be another session's.
    requireMay(context, operation, host.info.id, input);
    context.reached?.(host.info);
    const { access, caller, signal, once, deadline } = context;
    const asked = { ...(once === undefined ? {} : { once }), ...(deadline === undefined ? {} : { deadline }) };
    const from = { access, caller, signal, target, ...asked };
    if (made !== null) return (await inMade(host, name, made, from)) as never;
    const ask = (): Promise<unknown> => host.request(name, input, from);
    // What changes nothing may be asked twice.
    const mayRepeat = host.isSplit && operation.access === "observe";
    const repeat = async (): Promise<unknown> => (await reach()).host.request(name, input, from);
    const result = await (mayRepeat ? orOfSuccessor(ask, repeat) : ask());
    if (name === "input.capture") hosts.keyboards.captured(context, host);
    const isOpen = found.isSplit && host !== found && !addressesPane(target);
    return (isOpen ? withPane(result, host.info.pane_id) : result) as never;
  };
}

/** Asks the successor of a layout process that was lost before it answered, once. */
async function orOfSuccessor<T>(ask: () => Promise<T>, again = ask): Promise<T> {
  try {
    return await ask();
  } catch (thrown) {
    if (WshError.from(thrown).code !== "host_crashed") throw thrown;
    return again();
  }
}

/** A target that leaves open which pane of several is meant gets an answer that names it. */
function withPane(result: unknown, pane: string): unknown {
  const takesFacts = typeof result === "object" && result !== null && !Array.isArray(result);
  return takesFacts ? { ...result, pane } : result;
}
