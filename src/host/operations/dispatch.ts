/**
 * Dispatches operations from a request to its handler. A separate module because it imports every operation's schemas:
 * the session process loads it with the first request (1.5 MB and some milliseconds), so a session that only a person
 * uses never does. Once a layout process serves the session, what concerns the whole of it is passed on.
 */

import type { HandlerContext } from "../../endpoint/operations/context.ts";
import { sessionHandlers } from "../../endpoint/operations/handlers.ts";
import { findOwn } from "../../endpoint/operations/own-targets.ts";
import type { Instance } from "../../instance/paths.ts";
import { parseInput } from "../../operations/call.ts";
import { requireMay, targetsIn } from "../../operations/rights.ts";
import { isForPane } from "../../operations/routing.ts";
import { findOperation } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { callerLabel } from "../../protocol/caller.ts";
import { WshError } from "../../protocol/errors.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { Membership } from "../membership.ts";
import type { Promotion } from "../promotion.ts";
import { answersThere } from "../questions-there.ts";
import type { Session } from "../session.ts";
import { paneHandlers } from "./handlers.ts";
import { isOfOnePane, onePaneHandlers } from "./one-pane.ts";

/** The tables as dispatch reads them: parsing has ensured that each input fits its handler. */
type AnyHandlers<S> = Readonly<Record<string, (subject: S, input: unknown, context: HandlerContext) => unknown>>;
const ofPane = paneHandlers as unknown as AnyHandlers<Pane>;
const ofSession = sessionHandlers as unknown as AnyHandlers<Session>;
const ofOnePane = onePaneHandlers as unknown as AnyHandlers<Session>;

/** Operations by which a caller types into a pane. */
const typing: ReadonlySet<string> = new Set(["input.send", "exec", "run"]);

/** @throws WshError unknown_method, access_denied, invalid_request, and the operation's own errors */
export async function operate(
  session: Session,
  request: PeerRequest,
  {
    instance,
    membership,
    promotion,
  }: {
    readonly instance: Instance;
    readonly membership: Membership;
    readonly promotion: Promotion;
  },
): Promise<unknown> {
  const operation = findOperation(request.op);
  const { pane } = session;
  if (operation === undefined || operation.scope === "server") {
    throw new WshError("unknown_method", `this session process knows no operation '${request.op}'`);
  }
  requireMay(request, operation, session.id, request.input);
  if (pane.endedAs === "lost" && operation.access !== "observe") {
    throw new WshError("session_lost", `session '${session.name}' is lost: its process is gone`);
  }
  const { signal, caller, access, target, deadline } = request;
  const input = parseInput(operation, request.input);
  if (!isForPane(operation.name, target)) {
    await promotion.settled();
    if (membership.isMember || needsLayout(operation.name, input)) {
      // Before there are several panes because of it.
      for (const named of targetsIn(request, operation, request.input)) findOwn(instance, request, named);
      const about = target ?? (operation.scope === "layout" ? pane.id : undefined);
      const context = {
        ...{ caller, access, signal },
        ...(about === undefined ? {} : { target: about }),
        ...(deadline === undefined ? {} : { deadline }),
      };
      return promotion.forward(request.op, request.input, context);
    }
  }
  const handler =
    operation.scope === "pane"
      ? ofPane[request.op]?.bind(null, pane)
      : operation.scope === "session"
        ? ofSession[request.op]?.bind(null, session)
        : ofOnePane[request.op]?.bind(null, session);
  if (handler === undefined) throw new WshError("internal_error", `no handler for ${request.op}`);
  // Who uses the command line may be the person.
  if (typing.has(operation.name) && caller.kind !== "cli") session.typist.typed(callerLabel(caller));
  return handler(input, {
    signal,
    caller,
    access,
    get session() {
      return session.name;
    },
    sessionId: session.id,
    ...(target === undefined ? {} : { target }),
    ...(deadline === undefined ? {} : { deadline }),
    questions: membership.isMember ? answersThere(promotion, { caller, access }) : session.questions,
    pane: () => pane.id,
    notice: session.notice,
  });
}

/** Whether only a layout process can carry it out. */
export function needsLayout(name: string, input: unknown): boolean {
  return findOperation(name)?.scope === "layout" && !isOfOnePane(name, input);
}
