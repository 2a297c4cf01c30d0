/**
 * Routes a call to its handler: server operations here, session operations to their session process, unparsed. The one
 * entry for HTTP, WebSocket and MCP, so access and validation are the same everywhere.
 */
import { type Call, type CallContext, parseInput, requireAccess, requireUsable } from "../../operations/call.ts";
import { addressesPane, isForPane } from "../../operations/routing.ts";
import {
  getOperation,
  inputSchema,
  type OperationName,
  type OperationOutput,
  type ParsedInput,
  type ServerOperationName,
} from "../../operations/table.ts";
import { stepsOf } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import { stepFilters } from "../../protocol/output-filter.ts";
import { parse } from "../../protocol/parse.ts";
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";

/** A handler for every server operation: a missing one does not compile. */
export type ServerHandlers = {
  readonly [N in ServerOperationName]: (input: ParsedInput<N>, context: CallContext) => Promise<OperationOutput<N>>;
};

export function createCall(hosts: Hosts, handlers: ServerHandlers): Call {
  const handlerOf = handlers as Readonly<Record<string, (input: unknown, context: CallContext) => Promise<unknown>>>;
  return async (name, input, context) => {
    const operation = getOperation(name);
    requireAccess(operation, context.access);
    if (operation.scope === "server") {
      requireOpenTo(name, context.only);
      const handler = handlerOf[name];
      if (handler === undefined) throw new WshError("internal_error", `no handler for ${name}`);
      return (await handler(parseInput(operation, input), context)) as never;
    }
    if (context.session === undefined) throw new WshError("session_required", `'${name}' needs a session`);
    requireUsable(input);
    if (context.only !== undefined) await requireOwnBusiness(hosts, name, input, context.only);
    const made = name === "exec" && (await createMissing(hosts, handlers, input, context, context.session));
    const found = await hosts.find(context.session, context.only);
    const target = context.session;
    const host = isForPane(name, target) ? await hosts.paneOf(found, target) : wholeOf(hosts, found);
    context.reached?.(host.info);
    const { access, caller, signal } = context;
    if (name === "input.capture" && caller.connected) hosts.captures(caller.id, host);
    const result = await host.request(name, input, { access, caller, signal, target });
    const pane = found.isSplit && host !== found && !addressesPane(target) ? host.info.pane_id : null;
    return withFacts(result, { ...(made ? { created: true } : {}), ...(pane === null ? {} : { pane }) }) as never;
  };
}

/** The process that has what belongs to the session as a whole: the pane's own, unless there are several. */
function wholeOf({ all }: Hosts, host: Host): Host {
  return (host.isMember ? all.find(({ info }) => info.id === host.info.id) : undefined) ?? host;
}

/** A target that leaves open which pane of several is meant gets an answer that names it. */
function withFacts(result: unknown, facts: { readonly created?: boolean; readonly pane?: string }): unknown {
  const takesFacts = typeof result === "object" && result !== null && !Array.isArray(result);
  return takesFacts ? { ...result, ...facts } : result;
}

/**
 * Makes the session that an exec with `create` names, unless there is one. Everything else that could be refused is
 * checked before. @returns whether it was made
 */
async function createMissing(
  hosts: Hosts,
  handlers: ServerHandlers,
  input: unknown,
  context: CallContext,
  session: string,
): Promise<boolean> {
  requireUsable(input);
  const exec = parse(inputSchema("exec"), input ?? {});
  if (!exec.create || context.only !== undefined) return false;
  await stepFilters(exec, stepsOf(exec));
  try {
    await hosts.find(session);
    return false;
  } catch (thrown) {
    if (!(thrown instanceof WshError) || thrown.code !== "session_not_found") throw thrown;
  }
  const create = parse(inputSchema("sessions.create"), { name: session, if_exists: "attach" });
  await handlers["sessions.create"](create, context);
  return true;
}

/** What a token for one session may ask of the server: the list shows it that session alone. */
const openToOneSession: ReadonlySet<string> = new Set(["sessions.list", "server.info", "servers.list", "servers.get"]);

/** @throws WshError access_denied */
export function requireOpenTo(name: string, only: string | undefined): void {
  if (only === undefined || openToOneSession.has(name)) return;
  throw new WshError("access_denied", `'${name}' concerns more than session '${only}', the only one of this token`);
}

/**
 * Whether a name is free would tell which other sessions exist; a view would show them, and a move would change them.
 * @throws WshError access_denied, session_not_found
 */
async function requireOwnBusiness(hosts: Hosts, name: OperationName, input: unknown, only: string): Promise<void> {
  if (typeof input !== "object" || input === null) return;
  if (name === "session.update" && "name" in input) {
    throw new WshError("access_denied", "a token for one session does not rename it");
  }
  if (getOperation(name).scope !== "layout") return;
  const named = [...viewsIn(input), ...(name === "pane.move" && "to" in input ? [input.to] : [])];
  for (const target of named) if (typeof target === "string") await hosts.find(target, only);
}

/** Targets that a pane is to show, in an input of windows and panes. */
function viewsIn(input: unknown): unknown[] {
  if (typeof input !== "object" || input === null) return [];
  const own = "view" in input ? [input.view] : [];
  return [...own, ...Object.entries(input).flatMap(([key, value]) => (key === "env" ? [] : viewsIn(value)))];
}
