/**
 * Dispatches the requests of a session with several panes: what concerns windows and panes or the session as a whole is
 * handled here; what concerns one pane is answered with where that pane is served. A module of its own because it
 * imports every operation's schemas.
 */
import * as v from "valibot";
import type { HandlerContext } from "../../endpoint/operations/context.ts";
import { sessionHandlers } from "../../endpoint/operations/handlers.ts";
import { findOwn } from "../../endpoint/operations/own-targets.ts";
import { parseInput } from "../../operations/call.ts";
import { requireMay, targetsIn } from "../../operations/rights.ts";
import { addressesPane, isForPane } from "../../operations/routing.ts";
import { findOperation, inputSchema } from "../../operations/table.ts";
import { splitConditions } from "../../protocol/conditions.ts";
import { WshError } from "../../protocol/errors.ts";
import { parse } from "../../protocol/parse.ts";
import { waitForAnswer } from "../../session/questions/wait-answer.ts";
import type { Session } from "../../session/session.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import type { Split } from "../split.ts";
import type { WindowView } from "../view.ts";
import { layoutHandlers } from "./layouts.ts";
import { paneHandlers } from "./panes.ts";
import { type LayoutCall, ownFocusHandlers } from "./subject.ts";
import { windowHandlers } from "./windows.ts";

const FocusingSchema = v.looseObject({ focus: v.optional(v.boolean()) });
const AboutSchema = v.looseObject({ pane: v.string() });

type AnyHandlers<S> = Readonly<Record<string, (subject: S, input: unknown, context: HandlerContext) => unknown>>;
const ofSession = sessionHandlers as unknown as AnyHandlers<Session>;
const ofLayout = { ...paneHandlers, ...windowHandlers, ...layoutHandlers } as unknown as AnyHandlers<LayoutCall>;

/**
 * @param view whose focus a person's key is about, when it is not the session's
 * @throws WshError unknown_method, access_denied, invalid_request, moved, and the operation's own errors
 */
export async function operate(split: Split, request: PeerRequest, view?: WindowView): Promise<unknown> {
  const operation = findOperation(request.op);
  if (operation === undefined || operation.scope === "server") {
    throw new WshError("unknown_method", `this layout process knows no operation '${request.op}'`);
  }
  const { session } = split;
  const { signal, caller, access, target } = request;
  requireMay(request, operation, session.id, request.input);
  for (const named of targetsIn(request, operation, request.input)) findOwn(split.instance, request, named);
  const answered = request.op === "wait" ? await answerOf(session, request) : null;
  if (answered !== null) return answered;
  if (isForPane(operation.name, target)) throw split.elsewhere(target);
  const input = parseInput(operation, request.input);
  const context: HandlerContext = {
    ...{ signal, caller, access, session: session.name, sessionId: session.id, questions: session.questions },
    pane: () => split.place(target).pane,
    notice: session.notice,
    ...(target === undefined ? {} : { target }),
  };
  if (operation.scope === "session") {
    if (request.op === "session.kill") refusePart(split, target);
    if (request.op === "session.get") await split.content.refresh();
    if (request.op === "session.restart" && session.exit === null) {
      const { pane } = split.place(target);
      return split.arrangement.change(() => split.arrangement.restart(pane));
    }
    const handler = ofSession[request.op];
    if (handler === undefined) throw new WshError("internal_error", `no handler for ${request.op}`);
    return handler(session, input, context);
  }
  const call: LayoutCall = { split, place: split.place(target), byPerson: caller.kind === "cli" };
  if (view?.own != null && ownFocusHandlers(call, view, request.op, input)) return {};
  const handler = ofLayout[request.op];
  if (handler === undefined) throw new WshError("internal_error", `no handler for ${request.op}`);
  return view?.own == null ? handler(call, input, context) : withOwnFocus(view, handler, call, input, context);
}

/** A change that a key asks for gives what it makes the focus of that terminal alone. */
async function withOwnFocus(
  view: WindowView,
  handler: AnyHandlers<LayoutCall>[string],
  call: LayoutCall,
  input: unknown,
  context: HandlerContext,
): Promise<unknown> {
  const { focus, ...rest } = v.parse(FocusingSchema, input);
  if (focus !== true) return handler(call, input, context);
  const made = await handler(call, { ...rest, focus: false }, context);
  if (view.own !== null) view.own.zoomed = false;
  const about = v.safeParse(AboutSchema, made);
  // What has gone to another session is no longer here to be looked at.
  if (about.success && call.split.arrangement.state.panes[about.output.pane] !== undefined)
    view.focus(about.output.pane);
  return made;
}

/** A wait for answers alone is the session's; null for every other. */
async function answerOf(session: Session, { input, signal }: PeerRequest): Promise<object | null> {
  const { any_of, max_wait_ms } = parse(inputSchema("wait"), input);
  const { program, asked } = splitConditions(any_of);
  if (asked.length === 0 || program.length > 0) return null;
  const limits = { ids: asked, maxWaitMs: max_wait_ms, signal, session: session.name, others: null };
  const first = await waitForAnswer(session.questions, limits);
  return { session: session.name, decided_by: first === null ? "timeout" : "answer", ...first };
}

/** Whoever names a pane among others may not mean all of them. @throws WshError invalid_request */
function refusePart({ session, arrangement }: Split, target: string | undefined): void {
  if (target === undefined || !(addressesPane(target) || /^@w/.test(target) || target.includes(":"))) return;
  const panes = Object.keys(arrangement.state.panes).length;
  if (panes < 2) return;
  throw new WshError(
    "invalid_request",
    `'${target}' is a part of session '${session.name}', which has ${panes} panes`,
    {
      hint: `Close the pane or window, or end the session by its name or '${session.id}'.`,
    },
  );
}
