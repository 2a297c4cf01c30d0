/**
 * A caller's rights, decided only here: for calls, for streams, and for operations by a key, a click or a line of the
 * palette at an attached terminal.
 *
 * Invariant: access and the one session of a token come from the caller's admission, and travel with it
 * (protocol/caller.ts). They are checked against the current session of the subject, in the process that has it, and
 * again when the subject moves to another session (endpoint/limited-callers.ts). Pure, and without the schemas: a
 * session that only a person uses loads none of them.
 */
import { type Access, type Acting, accessCovers, type Caller } from "../protocol/caller.ts";
import { WshError } from "../protocol/errors.ts";
import { agentOfCaller } from "../protocol/owner.ts";
import type { Operation } from "./define.ts";
import { peerRequest, streamRequests } from "./peer-requests.ts";

/** The requested operation, as the table of operations describes it. */
type RequestedOperation = Pick<
  Operation,
  "name" | "access" | "scope" | "subject" | "otherIn" | "forOneSession" | "shared"
>;

/**
 * The permission that a request besides operations requires for an AI agent, which may read what is not private.
 * @returns null: none; `observe`: a person's permission in a private session; `operate`: that permission in any session
 * not its own
 * @throws WshError access_denied for a request between processes
 */
export function permissionFor({
  op,
  input,
  caller,
  access,
}: Acting & { readonly op: string; readonly input: unknown }): "observe" | "operate" | null {
  const { forAgents } = peerRequest(op);
  if (!op.startsWith("peer.") || agentOfCaller(caller) === null || forAgents === "free") return null;
  if (forAgents === "read") return hearsKeys(op, input) ? "operate" : "observe";
  if ((op === "peer.reload" && isSet(input, "ask")) || (op === "peer.go" && isSet(input, "asks_only"))) return null;
  if (forAgents === undefined) throw new WshError("access_denied", `'${op}' is reserved for session processes`);
  const isStream = op === "peer.attach" || op === "peer.raw";
  return isStream && (access === "observe" || isSet(input, "read_only")) ? "observe" : "operate";
}

/** Whether a request subscribes to the keys that people press. */
export function hearsKeys(op: string, input: unknown): boolean {
  if (op !== "peer.subscribe" || typeof input !== "object" || input === null || !("events" in input)) return false;
  return Array.isArray(input.events) && input.events.includes("input");
}

function isSet(input: unknown, field: string): boolean {
  return typeof input === "object" && input !== null && Reflect.get(input, field) === true;
}

/** Whether the caller has all rights: then no check is needed. */
export function isUnlimited({ access, caller }: Acting): boolean {
  return access === "admin" && caller.only === undefined;
}

/**
 * @param session id of the subject's current session; null: the server, or a missing session
 * @throws WshError access_denied, session_not_found for another session than its own
 */
export function requireRights(
  by: Acting,
  operation: RequestedOperation,
  session: string | null,
  input?: unknown,
): void {
  requireAccess(operation, by.access);
  const { only } = by.caller;
  if (only === undefined) return;
  if (operation.shared === true) throw moreThanOne(operation.name, only);
  if (session !== null) requireOwnSession(by, session);
  else if (operation.forOneSession !== true) throw moreThanOne(operation.name, only);
  // An answer whether a name is free would reveal other sessions.
  if (operation.name === "session.update" && typeof input === "object" && input !== null && "name" in input) {
    throw new WshError("access_denied", "a token for one session cannot rename it");
  }
}

/** Whether `requireRights` passes, for lists of possible actions. */
export function may(by: Acting, asked: RequestedOperation, session: string | null): boolean {
  try {
    requireRights(by, asked, session);
    return true;
  } catch {
    return false;
  }
}

/** Checks a request of a stream, or between processes. @throws WshError as requireRights */
export function requireMayStream(by: Acting, name: string, session: string): void {
  if (isUnlimited(by)) return;
  const access = streamRequests.get(name);
  if (access === undefined) throw new WshError("access_denied", `'${name}' is reserved for processes of this account`);
  requireRights(by, { name, access, scope: "session" }, session);
}

/** Checks a subscription to events, of a session here or on another machine. @throws WshError access_denied */
export function requireMayHear({ access }: Pick<Acting, "access">, events: readonly string[]): void {
  if (events.includes("input")) requireAccess({ name: "subscribe to keys of people", access: "operate" }, access);
}

/** @throws WshError session_not_found */
export function requireOwnSession({ caller: { only } }: Pick<Acting, "caller">, session: string): void {
  if (only === undefined || only === session) return;
  throw new WshError("session_not_found", "the named object is outside the only session of this token");
}

/** Checks a call that affects other sessions or machines. @throws WshError access_denied */
export function requireAllSessions(
  { caller: { only } }: { readonly caller: Pick<Caller, "only"> },
  what: string,
): void {
  if (only !== undefined) throw moreThanOne(what, only);
}

/**
 * Objects in a call's input, besides its target, that must be in the caller's one session: a view would show them, a
 * move would change them. Empty for a caller of all sessions.
 */
export function targetsIn(
  { caller: { only } }: Pick<Acting, "caller">,
  operation: RequestedOperation,
  input: unknown,
): string[] {
  return only === undefined ? [] : othersIn(operation, input);
}

/** Targets in a layout operation's input: panes that a view would show, and the other pane, window or session. */
export function othersIn(
  { scope, subject, otherIn }: Pick<Operation, "scope" | "subject" | "otherIn">,
  input: unknown,
): string[] {
  if (scope !== "layout" || typeof input !== "object" || input === null) return [];
  const other: unknown = otherIn === undefined ? null : Reflect.get(input, otherIn);
  const isHere = subject === "window" && typeof other === "string" && isWithinSession(other);
  return [...viewsIn(input), isHere ? null : other].filter((target) => typeof target === "string");
}

/** Whether `window.move` or `window.swap` names a window of the same session. */
export function isWithinSession(text: string): boolean {
  return /^(\d+|next|previous|last)$/.test(text);
}

/** Targets of views in the input. */
function viewsIn(input: unknown): unknown[] {
  if (typeof input !== "object" || input === null) return [];
  const own = "view" in input ? [input.view] : [];
  return [...own, ...Object.entries(input).flatMap(([key, value]) => (key === "env" ? [] : viewsIn(value)))];
}

/** @throws WshError access_denied */
export function requireAccess(asked: Pick<RequestedOperation, "name" | "access">, held: Access): void {
  if (accessCovers(held, asked.access)) return;
  throw new WshError("access_denied", `'${asked.name}' needs the access '${asked.access}'; this caller has '${held}'`);
}

function moreThanOne(what: string, only: string): WshError {
  return new WshError("access_denied", `'${what}' concerns more than session '${only}', the only one of this token`);
}
