/**
 * Methods of `/ws/json` whose parameters or results differ from those of the operation behind them: older clients send
 * and read these forms. Pure; looked up by the client's method name.
 */

import type { OperationName } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import type { JsonRequest } from "./json-socket.ts";

/** Converts a method's parameters to the operation's input, if they differ. */
export const aliasedCalls = methodMap({
  kill_session: ({ params, session }) => ({
    operation: "session.kill",
    session: params.name ?? session,
    input: {},
  }),
  detach_session: ({ params, session }) => ({
    operation: "session.detach",
    session: params.name ?? session,
    input: defined({ which: params.which, client: params.client }),
  }),
  rename_session: ({ params, session }) => ({
    operation: "session.update",
    session: params.name ?? session,
    input: { name: params.new_name ?? "" },
  }),
  update_tags: ({ params, session }) => ({
    operation: "session.update",
    session: params.session ?? session,
    input: { add_tags: params.add ?? [], remove_tags: params.remove ?? [] },
  }),
  set_server_mode: ({ params }) =>
    typeof params.persistent === "boolean"
      ? { operation: "server.persist.set", input: { persistent: params.persistent } }
      : { operation: "server.persist.get", input: {} },
  list_sessions: ({ params }) => ({
    operation: "sessions.list",
    input: Array.isArray(params.tag) || typeof params.tag === "string" || params.all === true ? params : {},
  }),
});

type Alias = (request: JsonRequest) => { operation: OperationName; session?: unknown; input: unknown };

/** A Map, since the client chooses the name: `constructor` is not a method. */
function methodMap(aliases: Readonly<Record<string, Alias>>): ReadonlyMap<string, Alias> {
  return new Map(Object.entries(aliases));
}

/** Results without `server`: those clients would take a session with one for another machine's. */
export const aliasedResults: ReadonlyMap<string, (result: unknown) => unknown> = new Map<
  string,
  (result: unknown) => unknown
>([
  ["list_sessions", (list) => (Array.isArray(list) ? list.map(dropServer) : list)],
  ["update_tags", dropServer],
]);

function dropServer(session: unknown): unknown {
  if (typeof session !== "object" || session === null) return session;
  const { server: _, ...rest } = session as Readonly<Record<string, unknown>>;
  return rest;
}
