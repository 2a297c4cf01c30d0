/**
 * Defines an operation: its name, scope, required access, input, output, errors, and the transports it is bound to.
 * Transports (HTTP, WebSocket, MCP, session process sockets) are tables over these definitions, and handlers are typed
 * by them. Definitions only, no behaviour.
 */

import type * as v from "valibot";
import type { Access } from "../protocol/caller.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import type { GrantRight } from "../protocol/grants.ts";
import type { OptionRule } from "../protocol/option-rules.ts";

/**
 * The subject of an operation. `pane`: one program and its terminal; `session`: name, tags, size, viewers, keyboard and
 * drawing; `layout`: windows and panes. These name a target; the server forwards them to the session process, which
 * handles them. `server`: handled in the server.
 */
export type OperationScope = "pane" | "session" | "layout" | "server";

export interface HttpBinding {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Hono path; `:name` is the target of a session operation, other parameters are input keys. */
  readonly path: string;
  /** Status of success; 204 has no body. Default 200. */
  readonly status?: 200 | 201 | 204;
  /** Source of the input besides the path. Default: query for GET and DELETE, JSON otherwise. */
  readonly from?: "query" | "json" | "raw" | "nothing";
  /** Input keys fixed by the route. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** An older route of the same operation, omitted from the docs. */
  readonly alias?: boolean;
}

export interface Operation<
  N extends string = string,
  I extends v.GenericSchema = v.GenericSchema,
  O extends v.GenericSchema = v.GenericSchema,
  S extends OperationScope = OperationScope,
> {
  readonly name: N;
  readonly scope: S;
  /**
   * The subject, where it is not the scope's own (layout: the target's pane). `window`: the target's window; `named`:
   * the pane that the target names, else the session: drawing is clipped to a pane and stored with it.
   */
  readonly subject?: "window" | "named";
  readonly access: Access;
  /** The call may last as long as a program. A `wait` changes nothing: it is repeated after a lost connection. */
  readonly lasts?: "wait" | "program";
  /** The same input has the same answer later too: after a lost connection it is worth asking again. */
  readonly isStable?: true;
  /** The operation types into a pane's program. */
  readonly types?: true;
  /** The operation starts sessions, whose processes record the request that started them. */
  readonly makesSessions?: true;
  /** A server operation that is open to a token for one session: the answer concerns that session only. */
  readonly forOneSession?: true;
  /** The operation concerns data shared by all sessions: a token for one session may not call it. */
  readonly shared?: true;
  /**
   * The input field that names another machine, besides the target. `nowhere`: the operation always concerns the server
   * that is called.
   */
  readonly machineIn?: "server" | "session" | "nowhere";
  /**
   * The output's type: a session, a list of sessions, or a page of the history's commands, which belong to one machine.
   */
  readonly gives?: "sessions" | "commands";
  /**
   * AI agents may call it without a person's permission. For the server, `own`: it only affects what it creates;
   * `stored`: the owner of a stored session may call it. For a session, `any`: in any session, such as asking its
   * person. Offering a line is not among these: it changes what the person types, and its errors quote that.
   */
  readonly forAgents?: "own" | "stored" | "any";
  /** The command palette shows the answer, although the operation changes something. */
  readonly showsAnswer?: true;
  /** Programs of `wsh_script` may call it: their language needs it. */
  readonly inScripts?: true;
  /**
   * What a `layout` or `session` operation changes: an AI agent needs the permission of its owners. `pane`:
   * the target's pane; `panes`: all panes of its window; `window`: these and the session; `session`: all
   * panes of the session and the session itself. Absent: the session.
   */
  readonly affects?: "pane" | "panes" | "window" | "session";
  /** The input field that names another target of a `layout` operation, which may be in another session. */
  readonly otherIn?: "to" | "with";
  /** It ends programs of the session, or ends or deletes something else: a person's own line is confirmed first. */
  readonly ends?: "programs" | "data";
  /**
   * The right of `wsh grant` that permits it, within the grant (cli/grant/rules.ts). Without one, no grant permits it.
   */
  readonly grant?: GrantRight;
  /** One line for lists. */
  readonly summary: string;
  /** Input without the session target, which is sent separately. */
  readonly input: I;
  /** Rules on fields that exclude or require others. */
  readonly rules?: readonly OptionRule[];
  /**
   * Throws the error of an input that no state could make valid, beyond what schema and rules express. Pure. Every
   * interface applies it before any effect, and `wsh config check` to key bindings and hooks.
   */
  check?(input: v.InferOutput<I>): void;
  readonly output: O;
  /** Errors beyond those of every operation (auth, invalid_request, session_not_found for session scope). */
  readonly errors: readonly ErrorCode[];
  readonly http: readonly HttpBinding[];
  /** Method names over WebSocket, the first being the documented one. */
  readonly ws: readonly string[];
}

type Lists = "errors" | "http" | "ws";
type WithoutEmpty<O extends Operation> = Omit<O, Lists> & Partial<Pick<O, Lists>>;

/** Omitted lists are empty. */
export function operation<
  const N extends string,
  I extends v.GenericSchema,
  O extends v.GenericSchema,
  const S extends OperationScope,
>(definition: WithoutEmpty<Operation<N, I, O, S>>): Operation<N, I, O, S> {
  return { errors: [], http: [], ws: [], ...definition };
}

/** Scope and rights of operations that read a pane. */
export const readsPane = { scope: "pane", access: "observe", grant: "own-panes" } as const;
/** Of those that type into a pane, or end what runs there. */
export const drivesPane = { scope: "pane", access: "operate", grant: "own-panes" } as const;
/** Of those that change the arrangement of the target's window. */
export const changesWindow = { scope: "layout", access: "operate", affects: "window" } as const;
