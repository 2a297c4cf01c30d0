/**
 * Dispatches session operations from a request to its handler. A separate module because it imports every operation's
 * schemas: the session process loads it with the first request (1.5 MB and some milliseconds), so a session that only a
 * person uses never does.
 */
import { parseInput, requireAccess } from "../../operations/call.ts";
import { findOperation } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { Session } from "../session.ts";
import type { HandlerContext } from "./context.ts";
import { paneHandlers, sessionHandlers } from "./handlers.ts";

/** The tables as dispatch reads them: parsing has ensured that each input fits its handler. */
type AnyHandlers<S> = Readonly<Record<string, (subject: S, input: unknown, context: HandlerContext) => unknown>>;
const ofPane = paneHandlers as unknown as AnyHandlers<Pane>;
const ofSession = sessionHandlers as unknown as AnyHandlers<Session>;

/** @throws WshError unknown_method, access_denied, invalid_request, and the operation's own errors */
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
