/**
 * An operation is defined once, here: its name, where it is handled, what access it takes, what goes in and out, which
 * errors it may give, and the doors it is bound to. Doors (HTTP, WebSocket, MCP, host sockets) are tables over these
 * definitions; handlers are typed by them. Definitions only: nothing here does anything.
 */

import type * as v from "valibot";
import type { Access } from "../protocol/caller.ts";
import type { ErrorCode } from "../protocol/errors.ts";

/**
 * What an operation is about. `pane`: one program and its terminal; `session`: name, tags, size, viewers, keyboard and
 * what is drawn. Both name a target, are forwarded by the server and handled in the session's process. `server`: handled
 * in the server.
 */
export type Scope = "pane" | "session" | "server";

export interface HttpBinding {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Hono path; `:name` is the target of a session operation, other parameters are input keys. */
  readonly path: string;
  /** Status of success; 204 sends no body. Default 200. */
  readonly status?: 200 | 201 | 204;
  /** Where the input comes from besides the path. Default: query for GET and DELETE, JSON otherwise. */
  readonly from?: "query" | "json" | "raw" | "nothing";
  /** Input keys fixed by the route. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** Not shown in the docs: an older name of another route. */
  readonly alias?: boolean;
}

export interface Operation<
  N extends string = string,
  I extends v.GenericSchema = v.GenericSchema,
  O extends v.GenericSchema = v.GenericSchema,
  S extends Scope = Scope,
> {
  readonly name: N;
  readonly scope: S;
  readonly access: Access;
  /** One line for lists. */
  readonly summary: string;
  /** Input without the session target, which travels beside it. */
  readonly input: I;
  readonly output: O;
  /** Codes it may give beyond those of every operation (auth, invalid_request, session_not_found for session scope). */
  readonly errors: readonly ErrorCode[];
  readonly http: readonly HttpBinding[];
  /** Method names over WebSocket, the first being the documented one. */
  readonly ws: readonly string[];
}

export function operation<
  const N extends string,
  I extends v.GenericSchema,
  O extends v.GenericSchema,
  const S extends Scope,
>(definition: Operation<N, I, O, S>): Operation<N, I, O, S> {
  return definition;
}
