/**
 * Session operations, from a request to its handler. A module of its own because it brings every operation's schemas: the
 * host loads it with the first request (1.5 MB and some milliseconds), so that a session that only a person uses does
 * without.
 */
import { parseInput, requireAccess } from "../../operations/call.ts";
import { findOperation } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Session } from "../../session/session.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { HandlerContext } from "./context.ts";
import { sessionHandlers } from "./handlers.ts";

type AnyHandler = (session: Session, input: unknown, context: HandlerContext) => unknown;
const handlers = sessionHandlers as unknown as Readonly<Record<string, AnyHandler>>;

/** @throws WshError unknown_method, access_denied, invalid_request, and the operation's own */
export function operate(session: Session, request: PeerRequest): unknown {
  const operation = findOperation(request.op);
  const handler = handlers[request.op];
  if (operation === undefined || handler === undefined) {
    throw new WshError("unknown_method", `this session process knows no operation '${request.op}'`);
  }
  requireAccess(operation, request.access);
  const { signal, caller, access } = request;
  return handler(session, parseInput(operation, request.input), { signal, caller, access });
}
