/** Creates a session with a gateway caller's environment and directory, or finds the existing one. */
import os from "node:os";
import * as v from "valibot";
import { describeCrashedNamesake } from "../../checkpoints/find-crashed.ts";
import { type ReadyReport, readyTimeoutMs } from "../../launch/launch.ts";
import type { StepFiles } from "../../launch/pipeline.ts";
import { sessionSpecOf, startSessionProcess } from "../../launch/session-process.ts";
import type { CallContext } from "../../operations/call.ts";
import type { ParsedInput } from "../../operations/table.ts";
import { ownerProcessAt } from "../../platform/agent-above.ts";
import { isDirectory } from "../../platform/directory.ts";
import { requireAgentRoom } from "../../protocol/agent-sessions.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { checkSessionName } from "../../protocol/names.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import { firstCursor } from "../../protocol/pane-numbers.ts";
import { REMEMBERED_MS, type RequestKey } from "../../protocol/requests.ts";
import { type CreatedSession, SessionInfoSchema } from "../../protocol/session.ts";
import { madeFor } from "../../registry/made-requests.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { CONTEXT } from "../sessions/session-proxy.ts";
import { requireOwnServer, type ServerState } from "./server-state.ts";

/** @throws WshError server_not_found, session_name_conflict, resource_limit_reached and the session process's errors */
export async function createSession(
  proxies: SessionProxies,
  state: ServerState,
  input: ParsedInput<"sessions.create">,
  context: CallContext,
  files: StepFiles = {},
): Promise<CreatedSession> {
  const { server, if_exists, place, opened, ...create } = input;
  requireOwnServer(state, server);
  if (context.fromMachine === true) requireAccepted(state, place != null);
  const wanted = if_exists === "attach" && typeof create.name === "string" ? checkSessionName(create.name) : null;
  const existing = wanted === null ? null : await findLive(proxies, wanted);
  if (existing !== null) return existing;
  const { once, deadline } = context;
  const before = once === undefined ? null : await madeBefore(state, once);
  if (before !== null) return before;
  const owner = ownerOf(context.caller);
  const most = state.limits.max_agent_sessions ?? Number.POSITIVE_INFINITY;
  if (owner.kind === "agent") requireAgentRoom(await proxies.list(), owner, most);
  if (create.owner_bound === true && context.process === undefined && !context.caller.connected)
    throw new WshError("invalid_request", "'owner_bound' needs a caller with a connection: MCP or a WebSocket");
  const spec = sessionSpecOf(state.instance, create, {
    starter: "server",
    owner,
    // A connection owner ends with this server; nobody reports that end if the server is killed.
    ...defined({ owner_process: context.process ?? ownerProcessAt(process.pid) }),
    naming: "number",
    opened: opened === true && agentOfCaller(context.caller) === null,
    max_sessions: state.limits.max_sessions,
    env: context.env ?? process.env,
    cwd: context.cwd ?? os.homedir(),
    ...files,
    ...defined({ once, deadline }),
  });
  let ready: ReadyReport;
  try {
    ready = await startSessionProcess(state.instance, spec);
  } catch (thrown) {
    // The same request arrived over another connection, and its process was first.
    const isAsked = thrown instanceof WshError && thrown.code === "request_conflict";
    const first = once !== undefined && isAsked ? await madeBefore(state, once) : null;
    if (first !== null) return first;
    // Another caller created it meanwhile.
    const isTaken = thrown instanceof WshError && thrown.code === "session_name_conflict";
    const quicker = wanted !== null && isTaken ? await findLive(proxies, wanted) : null;
    if (quicker !== null) return quicker;
    throw thrown;
  }
  state.sessionCreated();
  const info = v.parse(SessionInfoSchema, ready.info);
  if (create.owner_bound === true && context.process === undefined) proxies.bound.add(context.caller.id, info.id);
  await proxies.find(info.id);
  const warnings: string[] = [];
  if (create.cwd == null && context.cwd !== undefined && !isDirectory(context.cwd))
    warnings.push(`the caller's directory '${context.cwd}' does not exist; the session starts in the home directory`);
  const crashed = create.name === undefined ? null : describeCrashedNamesake(state.instance, info.name);
  if (crashed !== null) warnings.push(crashed);
  // The caller has read no output yet, whatever the shell has already printed.
  const created = { ...info, output_cursor: firstCursor(info.pane_id) };
  return warnings.length === 0 ? created : { ...created, warnings };
}

/** The session created earlier for this request. @throws WshError outcome_unknown if it is no longer remembered */
async function madeBefore({ instance }: ServerState, once: RequestKey): Promise<CreatedSession | null> {
  const info = await madeFor(instance, once, readyTimeoutMs);
  if (info !== null) return { ...info, output_cursor: firstCursor(info.pane_id) };
  if (once.first_at === undefined || Date.now() - once.first_at < REMEMBERED_MS) return null;
  throw new WshError("outcome_unknown", "the request is too old to know whether the session was created");
}

/** @throws WshError machine_busy */
function requireAccepted({ accept, hostname }: ServerState, isPlaced: boolean): void {
  if (accept === "placed" || (accept === "named" && !isPlaced)) return;
  const which = accept === "none" ? "does not start sessions for other machines" : "accepts only sessions that name it";
  throw new WshError("machine_busy", `'${hostname}' ${which} (setting accept)`);
}

async function findLive(proxies: SessionProxies, name: string): Promise<CreatedSession | null> {
  try {
    const proxy = await proxies.find(name);
    if (!proxy.info.running) return null;
    const [info, status] = await Promise.all([
      proxy.request("session.get", {}, CONTEXT),
      proxies.request(proxy, "status.get", {}, CONTEXT),
    ]);
    return { ...v.parse(SessionInfoSchema, info), ...v.parse(CursorSchema, status) };
  } catch (error) {
    if (error instanceof WshError && error.code === "session_not_found") return null;
    throw error;
  }
}

const CursorSchema = v.object({ output_cursor: v.number() });
