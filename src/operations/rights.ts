/**
 * What a caller may do: the one place that decides, for calls, for streams, and for what a key, a click or a line of the
 * palette calls at an attached terminal.
 *
 * What must stay true: access and the one session of a token come from what admitted the caller, and travel with it
 * (protocol/caller.ts); they are held against the session where a thing is now, in the process that has it, and again when
 * it goes to another (endpoint/limited-callers.ts). Pure, and without the schemas: a session that only a person uses loads
 * none of them.
 */
import { type Access, type Acting, accessCovers, type Caller } from "../protocol/caller.ts";
import { WshError } from "../protocol/errors.ts";
import type { Operation } from "./define.ts";

/** What is asked, as the table of operations has it. */
export type Asked = Pick<Operation, "name" | "access" | "scope">;

/**
 * What may be asked of a session's process besides operations, by those who are no process of this account, and the access
 * that it takes. Everything else is for processes of this account. What changes something checks besides whether the
 * stream's terminal only looks.
 */
export const streamRequests: ReadonlyMap<string, Access> = new Map([
  ...[
    "host.ping",
    "host.resolve",
    "host.attach",
    "host.client",
    "host.subscribe",
    "host.follow",
    "host.raw",
    "host.window",
    "host.written",
    "host.release",
    "host.give_back",
    "host.colors",
    "host.settings",
    "host.help",
    "host.look",
    "host.focus",
    "host.watched",
  ].map((name) => [name, "observe"] as const),
  ...["host.command"].map((name) => [name, "operate"] as const),
]);

/** What a caller of one session may ask of the server: the answers are about that session alone. */
const openToOneSession: ReadonlySet<string> = new Set(["sessions.list", "server.info", "servers.list", "servers.get"]);

/** Whether it may do everything: then nothing has to be looked up. */
export function isUnlimited({ access, caller }: Acting): boolean {
  return access === "admin" && caller.only === undefined;
}

/**
 * @param session id of the session that it is about, where that is now; null: the server, or no session that there is
 * @throws WshError access_denied, session_not_found for another session than its own
 */
export function requireMay(by: Acting, asked: Asked, session: string | null, input?: unknown): void {
  requireAccess(asked, by.access);
  const { only } = by.caller;
  if (only === undefined) return;
  if (session !== null) requireOwnSession(by, session);
  else if (!openToOneSession.has(asked.name)) throw moreThanOne(asked.name, only);
  // Whether a name is free would tell which other sessions exist.
  if (asked.name === "session.update" && typeof input === "object" && input !== null && "name" in input) {
    throw new WshError("access_denied", "a token for one session cannot rename it");
  }
}

/** Whether `requireMay` passes, for lists of what can be done. */
export function may(by: Acting, asked: Asked, session: string | null): boolean {
  try {
    requireMay(by, asked, session);
    return true;
  } catch {
    return false;
  }
}

/** A request of a stream, or between processes. @throws WshError as requireMay */
export function requireMayStream(by: Acting, name: string, session: string): void {
  if (isUnlimited(by)) return;
  const access = streamRequests.get(name);
  if (access === undefined) throw new WshError("access_denied", `'${name}' is only for processes of this account`);
  requireMay(by, { name, access, scope: "session" }, session);
}

/** What a subscription wants to hear, asked of a session here or on another machine. @throws WshError access_denied */
export function requireMayHear({ access }: Pick<Acting, "access">, events: readonly string[]): void {
  if (events.includes("input")) requireAccess({ name: "subscribe to keys of people", access: "operate" }, access);
}

/** @throws WshError session_not_found */
export function requireOwnSession({ caller: { only } }: Pick<Acting, "caller">, session: string): void {
  if (only === undefined || only === session) return;
  throw new WshError("session_not_found", "the named object is outside the only session of this token");
}

/** What reaches other sessions or machines. @throws WshError access_denied */
export function requireAllSessions(
  { caller: { only } }: { readonly caller: Pick<Caller, "only"> },
  what: string,
): void {
  if (only !== undefined) throw moreThanOne(what, only);
}

/**
 * What a call's input names besides its target that has to be in the caller's one session: a view would show it, a move
 * would change it. Nothing for a caller of all sessions.
 */
export function targetsIn(
  { caller: { only } }: Pick<Acting, "caller">,
  { name, scope }: Asked,
  input: unknown,
): string[] {
  if (only === undefined || scope !== "layout" || typeof input !== "object" || input === null) return [];
  const named = [...viewsIn(input), ...(name === "pane.move" && "to" in input ? [input.to] : [])];
  return named.filter((target) => typeof target === "string");
}

/** Targets that a pane is to show. */
function viewsIn(input: unknown): unknown[] {
  if (typeof input !== "object" || input === null) return [];
  const own = "view" in input ? [input.view] : [];
  return [...own, ...Object.entries(input).flatMap(([key, value]) => (key === "env" ? [] : viewsIn(value)))];
}

/** @throws WshError access_denied */
export function requireAccess(asked: Pick<Asked, "name" | "access">, held: Access): void {
  if (accessCovers(held, asked.access)) return;
  throw new WshError("access_denied", `'${asked.name}' needs the access '${asked.access}'; this caller has '${held}'`);
}

function moreThanOne(what: string, only: string): WshError {
  return new WshError("access_denied", `'${what}' concerns more than session '${only}', the only one of this token`);
}
