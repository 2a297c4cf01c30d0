/**
 * Dispatches operations from a request to its handler: for the pane that the target names, for the session, or
 * for its windows. A separate module because it imports every operation's schemas: the session process loads it
 * (1.5 MB, some milliseconds) with the first request, or soon after a terminal has attached.
 */
import * as v from "valibot";
import type { HandlerContext } from "../../endpoint/operations/context.ts";
import { sessionHandlers } from "../../endpoint/operations/handlers.ts";
import { parseInput } from "../../operations/call.ts";
import type { Operation } from "../../operations/define.ts";
import { peerRequest } from "../../operations/peer-requests.ts";
import { othersIn, permissionFor, requireRights, targetsIn } from "../../operations/rights.ts";
import { addressesPane, isForPane, withPane } from "../../operations/routing.ts";
import { findOperation, inputSchema, type OperationName } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { callerLabel } from "../../protocol/caller.ts";
import { asSeenBy, type Concealment, concealmentOf, holdersSeen, withoutConcealed } from "../../protocol/concealed.ts";
import { splitConditions } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { parsePlace, parseTarget, sessionId } from "../../protocol/names.ts";
import { agentOfCaller, type Owner, ownerOf } from "../../protocol/owner.ts";
import { parse } from "../../protocol/parse.ts";
import type { PortHolder } from "../../protocol/ports.ts";
import { SessionInfoSchema } from "../../protocol/session.ts";
import { listPorts } from "../../registry/ports.ts";
import { findSession } from "../../registry/registry.ts";
import { waitForAnswer } from "../../session/questions/wait-answer.ts";
import type { Session } from "../../session/session.ts";
import { findPermittedSession } from "../../viewer/calls/permitted-targets.ts";
import { Connection } from "../../wire/connection.ts";
import type { PeerRequest } from "../../wire/peer.ts";
import { type PasswordPrompter, passwordPrompters } from "../events/password-prompter.ts";
import type { WindowView } from "../panes/window-view.ts";
import type { SessionParts } from "../parts.ts";
import { paneHandlers } from "./handlers.ts";
import { layoutHandlers } from "./layout/layouts.ts";
import { layoutPaneHandlers } from "./layout/panes.ts";
import { popupHandlers } from "./layout/popups.ts";
import { type LayoutCall, ownFocusHandlers } from "./layout/subject.ts";
import { windowHandlers } from "./layout/windows.ts";
import { permissionQuery, subjectOf } from "./subjects.ts";

const FocusingSchema = v.looseObject({ focus: v.optional(v.boolean()) });
const WaitingSchema = v.looseObject({ waits_for: v.literal("password"), warnings: v.optional(v.array(v.string())) });
const CreatedPaneSchema = v.looseObject({ pane: v.string() });

/** The tables as dispatch reads them: parsing has ensured that each input fits its handler. */
interface AnyHandler<S> {
  handle(subject: S, input: unknown, context: HandlerContext): unknown;
}
type AnyHandlers<S> = Readonly<Record<string, AnyHandler<S>["handle"]>>;
const handlersOfPane: AnyHandlers<Pane> = paneHandlers;
const handlersOfSession: AnyHandlers<Session> = sessionHandlers;
const handlersOfLayout: AnyHandlers<LayoutCall> = {
  ...layoutPaneHandlers,
  ...popupHandlers,
  ...windowHandlers,
  ...layoutHandlers,
};

/**
 * @param view given for a person's key, whose answer nobody reads: the view with its own focus; null: the
 * session's focus
 * @throws WshError unknown_method, access_denied, invalid_request, moved, and the operation's own errors
 */
export async function operate(parts: SessionParts, request: PeerRequest, view?: WindowView | null): Promise<unknown> {
  const isByAgent = agentOfCaller(request.caller) !== null;
  if (isByAgent && permissionFor(request) !== null) {
    const { checkedRequest, operation, subject, ahead } = permissionQuery(parts, request);
    const requireSamePane = samePaneCheck(parts, request.target, peerRequest(request.op).concernsPane === true);
    await parts.permission.require(checkedRequest, operation, subject, ahead);
    requireSamePane();
    return;
  }
  const operation = ownOperation(request.op);
  const { target } = request;
  if (request.caller.program !== undefined) requireProgram(parts.localPaneFor(target).pane, request.caller.program);
  requireRights(request, operation, parts.subjectSessionId(request)(), request.input);
  for (const named of targetsIn(request, operation, request.input))
    findPermittedSession(parts.instance, request, named);
  const requireSamePane = samePaneCheck(parts, target, isByAgent && operation.scope !== "session");
  const requireValid = (): void => void parseInput(operation, request.input);
  await parts.permission.require({ ...request, requireValid }, operation, () => subjectOf(parts, request));
  if (isByAgent) {
    await requireOtherSubjects(parts, request, operation);
    requireSamePane();
    return seenByAgent(parts, request, await handleOperation(parts, request, operation, view));
  }
  return handleOperation(parts, request, operation, view);
}

/**
 * Returns a check for the time after a person's decision about one pane: whether the target still names it.
 * @throws WshError pane_not_found
 */
function samePaneCheck(parts: SessionParts, target: string | undefined, isChecked: boolean): () => void {
  const pane = isChecked ? parts.paneIdFor(target) : null;
  return () => {
    if (pane === null || parts.paneIdFor(target) === pane) return;
    const message = `the target named pane '${pane}' when the person was asked, and names another one now`;
    throw new WshError("pane_not_found", message, { hint: `Name the pane by its id: '${pane}'.` });
  };
}

/** @throws WshError unknown_method */
function ownOperation(op: string): Operation<OperationName> {
  const operation = findOperation(op);
  if (operation !== undefined && operation.scope !== "server") return operation;
  throw new WshError("unknown_method", `this session process does not support the operation '${op}'`);
}

/** Why an AI agent may no longer use what it has begun; null: it may. */
export async function findDenial(parts: SessionParts, request: PeerRequest): Promise<WshError | null> {
  const { caller, op } = request;
  const agent = agentOfCaller(caller);
  if (agent === null || (op.startsWith("peer.") && permissionFor(request) === null)) return null;
  const { checkedRequest, operation, subject } = op.startsWith("peer.")
    ? permissionQuery(parts, request)
    : { checkedRequest: request, operation: ownOperation(op), subject: () => subjectOf(parts, request) };
  if ((await parts.permission.findMissing(checkedRequest, operation, subject)) === null) return null;
  const { session, content } = parts;
  const { name, isPrivate } = session;
  const why =
    isPrivate || content.privateOwners.length > 0
      ? `session '${name}' is private now: ${agent} may not see it`
      : `${agent} may no longer ${operation.name} in '${name}'`;
  return new WshError("access_denied", why, {
    hint: "Use a session of your own. Do not try another way.",
  });
}

/** Of a private session that is not its own, an agent learns only the name. */
async function seenByAgent({ session, content, permission }: SessionParts, request: PeerRequest, result: unknown) {
  if (!session.isPrivate && content.privateOwners.length === 0) return result;
  const agent = ownerOf(request.caller);
  if (await permission.isAllowed(agent.name)) return result;
  const info = request.op === "session.get" ? v.safeParse(SessionInfoSchema, result) : null;
  return info?.success === true ? asSeenBy(info.output, agent) : withoutConcealed(result);
}

async function handleOperation(
  parts: SessionParts,
  request: PeerRequest,
  operation: Operation<OperationName>,
  view: WindowView | null | undefined,
): Promise<unknown> {
  const { session } = parts;
  const { target } = request;
  const answers = request.op === "wait" ? await waitForAnswersOnly(session, request) : null;
  if (answers !== null) return answers;
  if (isForPane(operation.name, target)) return handlePaneOperation(parts, request);
  const { oldest } = parts.content;
  if (oldest?.pane.endedAs === "crashed" && operation.access !== "observe") throw notRunningError(session);
  const input = parseInput(operation, request.input);
  const context = contextOf(parts, request, () => parts.findSubject(target).pane);
  if (operation.scope === "session") {
    if (request.op === "session.kill") requireWholeSession(parts, target);
    if (request.op === "session.get") await parts.content.refresh();
    if (request.op === "session.restart" && session.exit === null) {
      const { pane } = parts.findSubject(target);
      await session.lifetime.restart(async () => {
        await parts.arrangement.change(() => parts.arrangement.restart(pane));
      });
      return session.info();
    }
    return handlerOf(handlersOfSession, request.op)(session, input, context);
  }
  const { caller } = request;
  const byPerson = caller.kind === "cli" && agentOfCaller(caller) === null;
  const isAnswered = view === undefined;
  const call: LayoutCall = { parts, subject: parts.findSubject(target), byPerson, owner: ownerOf(caller), isAnswered };
  if (view?.ownFocus != null && ownFocusHandlers(call, view, request.op, input)) return {};
  const handler = handlerOf(handlersOfLayout, request.op);
  return view?.ownFocus == null ? handler(call, input, context) : withOwnFocus(view, handler, call, input, context);
}

/** A restored pane keeps its id but runs another program. @throws WshError access_denied */
function requireProgram({ id, pid }: Pane, program: number): void {
  if (pid !== null && pid !== program) throw new WshError("access_denied", `pane '${id}' runs another program now`);
}

/**
 * Asks for permission in the processes of a call's other subjects: panes that it shows, the session that receives
 * one.
 */
async function requireOtherSubjects(
  parts: SessionParts,
  request: PeerRequest,
  operation: Operation<OperationName>,
): Promise<void> {
  const { op, input, caller, access, signal, waits } = request;
  for (const target of othersIn(operation, input)) {
    // The terminal in a view of another machine's session attaches as the agent, and is asked about there.
    if (parsePlace(target).machine !== null) continue;
    const { socket, session } = findSession(parts.instance, parseTarget(target));
    if (session === parts.sessionNumber) continue;
    const { connection } = await Connection.open(socket, "cli");
    try {
      await connection.request("peer.leave", { op, input }, { caller, access, signal, target, waits });
    } finally {
      connection.close();
    }
  }
}

async function handlePaneOperation(parts: SessionParts, request: PeerRequest): Promise<unknown> {
  const { op, target, caller } = request;
  const local = parts.localPaneFor(target);
  const { pane } = local;
  const operation = findOperation(op);
  if (operation === undefined) throw new WshError("unknown_method", `no operation '${op}'`);
  if (pane.endedAs === "crashed" && operation.access !== "observe") throw notRunningError(parts.session);
  const input = parseInput(operation, request.input);
  const context = { ...contextOf(parts, request, () => pane.id), session: local.ownSession.name };
  if (operation.scope === "session") return handlerOf(handlersOfSession, op)(local.drawnSession, input, context);
  const prompter = passwordPrompters.get(pane);
  if (operation.types === true && prompter !== undefined) prompter.drivingAgent = agentOfCaller(caller);
  // A person may be using the command line.
  const agent = agentOfCaller(caller);
  if (operation.types === true && (caller.kind !== "cli" || agent !== null))
    local.ownSession.writer.noteInput(agent ?? callerLabel(caller));
  const handle = () => handlerOf(handlersOfPane, op)(pane, input, context);
  const handled = operation.types === true ? pane.writer.typesAs(ownerOf(caller), handle) : handle();
  const result = await withPasswordNotice(prompter, await handled);
  const isPaneUnnamed = parts.arrangement.hasSeveral && !(target !== undefined && addressesPane(target));
  return isPaneUnnamed ? withPane(result, pane.id) : result;
}

/** Adds to the result of a command that waits for a password whether the person is being asked for it. */
async function withPasswordNotice(prompter: PasswordPrompter | undefined, result: unknown): Promise<unknown> {
  const parsed = v.safeParse(WaitingSchema, result);
  const notice = parsed.success ? ((await prompter?.agentNotice()) ?? null) : null;
  return parsed.success && notice !== null
    ? { ...parsed.output, warnings: [...(parsed.output.warnings ?? []), notice] }
    : result;
}

function contextOf(parts: SessionParts, request: PeerRequest, pane: () => string): HandlerContext {
  const { session } = parts;
  const { signal, caller, access, target, deadline } = request;
  return {
    signal,
    caller,
    access,
    pane,
    get session() {
      return session.name;
    },
    sessionId: session.id,
    questions: session.questions,
    buffers: session.buffers,
    notice: session.notice,
    async storeImage(bytes, format) {
      if (session.isPrivate) throw new WshError("invalid_request", "a private session keeps nothing on disk");
      const { storeImage } = await import("../pasted-images.ts");
      return storeImage(parts.instance, bytes, format);
    },
    ...defined({ target, deadline }),
    leasedPort: session.port,
    async findPortHolder(port) {
      const { only } = caller;
      const listener = listPorts(parts.instance, { port, all: only === undefined, only })?.[0] ?? null;
      if (listener === null || agentOfCaller(caller) === null) return listener;
      return holdersSeen([listener], await concealmentOfHolder(parts, listener, ownerOf(caller)), true)[0] ?? null;
    },
  };
}

/** Conceals the session that holds a port if it is private, as its process reports. */
async function concealmentOfHolder(
  { instance, sessionNumber, permission }: SessionParts,
  { session_id }: PortHolder,
  agent: Owner,
): Promise<Concealment | null> {
  if (session_id === undefined || session_id === sessionId(sessionNumber) || (await permission.isAllowed(agent.name)))
    return null;
  try {
    const { connection, hello } = await Connection.open(findSession(instance, parseTarget(session_id)).socket, "cli");
    connection.close();
    if (hello.info !== undefined) return concealmentOf([hello.info], [], agent);
  } catch {
    // The process does not answer: nothing is known about it.
  }
  return { hidden: new Set([session_id]), ownSessions: new Set() };
}

function handlerOf<S>(handlers: AnyHandlers<S>, op: string): AnyHandlers<S>[string] {
  const handler = handlers[op];
  if (handler === undefined) throw new WshError("internal_error", `no handler for ${op}`);
  return handler;
}

function notRunningError({ name }: Session): WshError {
  return new WshError("session_not_running", `session '${name}' crashed: its process is gone`);
}

/** A new pane or window that a key requests gets the focus of that terminal only. */
async function withOwnFocus(
  view: WindowView,
  handler: AnyHandlers<LayoutCall>[string],
  call: LayoutCall,
  input: unknown,
  context: HandlerContext,
): Promise<unknown> {
  const { focus, ...rest } = v.parse(FocusingSchema, input);
  if (focus !== true) return handler(call, input, context);
  const created = await handler(call, { ...rest, focus: false }, context);
  if (view.ownFocus !== null) view.ownFocus.zoomed = false;
  const createdPane = v.safeParse(CreatedPaneSchema, created);
  // An object that has moved to another session can no longer be examined here.
  if (createdPane.success && call.parts.arrangement.state.panes[createdPane.output.pane] !== undefined)
    view.focus(createdPane.output.pane);
  return created;
}

/** A wait for answers only is handled by the session; null for every other request. */
async function waitForAnswersOnly(session: Session, { input, signal }: PeerRequest): Promise<object | null> {
  const { any_of, max_wait_ms } = parse(inputSchema("wait"), input);
  const { program, askIds } = splitConditions(any_of);
  if (askIds.length === 0 || program.length > 0) return null;
  const limits = { ids: askIds, maxWaitMs: max_wait_ms, signal, session: session.name, others: null };
  const answer = await waitForAnswer(session.questions, limits);
  return { session: session.name, decided_by: answer === null ? "timeout" : "answer", ...answer };
}

/** A caller that names one of several panes may not intend to end all of them. @throws WshError invalid_request */
function requireWholeSession({ session, arrangement }: SessionParts, target: string | undefined): void {
  if (target === undefined || !(addressesPane(target) || /^@w/.test(target) || target.includes(":"))) return;
  const panes = Object.keys(arrangement.state.panes).length;
  if (panes < 2) return;
  throw new WshError(
    "invalid_request",
    `'${target}' is only a part of session '${session.name}', which has ${panes} panes`,
    {
      hint: `Close the pane or window, or end the session by its name or '${session.id}'.`,
    },
  );
}
