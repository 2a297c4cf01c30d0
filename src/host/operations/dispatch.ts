/**
 * Session operations, from a request to its handler. A module of its own because it brings every operation's schemas: the
 * host loads it with the first request (1.5 MB and some milliseconds), so that a session that only a person uses does
 * without.
 */
import { parseInput, requireAccess } from "../../operations/call.ts";
import { findOperation } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { Session } from "../session.ts";
import type { HandlerContext } from "./context.ts";
import { paneHandlers, sessionHandlers } from "./handlers.ts";

/** The tables as dispatch reads them: which input belongs to which handler is what parsing has made sure of. */
type AnyHandlers<S> = Readonly<Record<string, (subject: S, input: unknown, context: HandlerContext) => unknown>>;
const ofPane = paneHandlers as unknown as AnyHandlers<Pane>;
const ofSession = sessionHandlers as unknown as AnyHandlers<Session>;

/** @throws WshError unknown_method, access_denied, invalid_request, and the operation's own */
export function operate(session: Session, request: PeerRequest): unknown {
  const operation = findOperation(request.op);
  const { pane } = session;
  const handler =
    operation?.scope === "pane" ? ofPane[request.op]?.bind(null, pane) : ofSession[request.op]?.bind(null, session);
  if (operation === undefined || handler === undefined) {
    throw new WshError("unknown_method", `this session process knows no operation '${request.op}'`);
  }
  requireAccess(operation, request.access);
  const { signal, caller, access } = request;
  return handler(parseInput(operation, request.input), {
    signal,
    caller,
    access,
    get session() {
      return session.name;
    },
    sessionId: session.id,
  });
}
