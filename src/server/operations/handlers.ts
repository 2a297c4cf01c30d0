/** The server's own operations: listing sessions and servers, its state, its end; longer ones have their own files. */

import { filterVisible, requireMaySave, requireVisible } from "../../checkpoints/agent-rights.ts";
import type { Restorer } from "../../checkpoints/launch.ts";
import {
  deleteCheckpoint,
  diffCheckpoints,
  saveCheckpoint,
  showCheckpoint,
} from "../../checkpoints/named/operations.ts";
import { forgetSessions, listCheckpoints, listCrashed, restoreCheckpoints } from "../../checkpoints/operations.ts";
import { asJson, asSessions, formSeenBy, jsonOf, type ListForm } from "../../cluster/session-list.ts";
import { eventsDir } from "../../events/segments.ts";
import { readEvents } from "../../events/selection.ts";
import { commandsSeen } from "../../history/search.ts";
import type { StepFiles } from "../../launch/pipeline.ts";
import type { CallContext } from "../../operations/call.ts";
import type { ParsedInput } from "../../operations/table.ts";
import type { Caller } from "../../protocol/caller.ts";
import { asSeenBy, type Concealment, concealmentOf } from "../../protocol/concealed.ts";
import type { CreatedSession, SessionInfo } from "../../protocol/session.ts";
import { VERSION } from "../../protocol/version.ts";
import { knownSessions } from "../../registry/known-sessions.ts";
import { portsAnswer } from "../../registry/ports.ts";
import { rememberedPrivate } from "../../secrets/private-sessions.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import { askEverywhere, idleEverywhere } from "./any-machine.ts";
import { hasTag } from "./any-session.ts";
import { createSession } from "./create-session.ts";
import type { ServerHandlers } from "./dispatch.ts";
import { execFresh } from "./exec/fresh.ts";
import { deleteHistory, searchHistory } from "./history.ts";
import { requireOwnServer, type ServerState } from "./server-state.ts";
import { type RemoteMachines, runningCount, serversHandlers } from "./servers.ts";
import { waitEverywhere } from "./wait-everywhere.ts";

export function createHandlers(proxies: SessionProxies, state: ServerState, remote: RemoteMachines): ServerHandlers {
  const create = (
    input: ParsedInput<"sessions.create">,
    context: CallContext,
    files?: StepFiles,
  ): Promise<CreatedSession> => createSession(proxies, state, input, context, files);
  /** Limits on what an AI agent may learn from records and from the system; null: another caller. */
  const concealment = (caller: Caller): Concealment | null => {
    const agent = state.concealedFrom(caller);
    return agent === null
      ? null
      : concealmentOf(
          proxies.known.map(({ info }) => info),
          rememberedPrivate(state.instance),
          agent,
        );
  };
  return {
    "sessions.list": async (input, context) => {
      requireOwnServer(state, input.server);
      if (context.json === undefined) return listSessions(proxies, state, remote, input, context, asSessions);
      context.json(jsonOf(await listSessions(proxies, state, remote, input, context, asJson)));
      return [];
    },
    "sessions.create": async (input, context) => {
      const created = await create(input, context);
      context.reached?.(created);
      return { ...created, ...asSeenBy(created, state.concealedFrom(context.caller)) };
    },
    ...serversHandlers(proxies, state, remote),
    "server.info": async (_, { caller: { only } }) => ({
      hostname: state.hostname,
      version: VERSION,
      server_id: state.serverId,
      pid: process.pid,
      uptime_ms: Math.round(state.uptimeMs()),
      persistent: state.persistent,
      sessions: await runningCount(proxies, only),
      addresses: [...state.addresses],
      limits: { ...state.limits },
    }),
    "server.persist.get": async () => ({ persistent: state.persistent }),
    "server.persist.set": async ({ persistent }) => {
      state.setPersistent(persistent);
      return { persistent };
    },
    "server.stop": async () => ({ sessions: await state.stop() }),
    "events.read": (input, { caller, signal }) => {
      // To a caller of one session, others look the same whether they exist or not.
      const session = caller.only === undefined ? knownSessions(state.instance, input.session) : input.session;
      const limits = { only: caller.only, concealment: concealment(caller) };
      return readEvents(eventsDir(state.instance), { ...input, ...limits, session }, signal);
    },
    "ports.list": async (input, { caller }) =>
      portsAnswer(state.instance, { ...input, only: caller.only }, concealment(caller)),
    "idle.any": (input, context) => idleEverywhere(proxies, remote, state, input, context),
    "wait.any": (input, context) => waitEverywhere(proxies, remote, state, input, context),
    "ask.any": (input, context) => askEverywhere(proxies, remote, input, context),
    "history.search": async (input, context) => {
      const page = await searchHistory(state, remote, input, context);
      return { ...page, commands: commandsSeen(page.commands, concealment(context.caller)) };
    },
    "history.delete": (input, { signal }) => deleteHistory(state, input, signal),
    "checkpoint.list": async (input, { caller }) =>
      filterVisible(await listCheckpoints(state.instance, state.hostname, input), concealment(caller)),
    "checkpoint.save": async (input, context) => {
      await requireMaySave(state.instance, input, context);
      return saveCheckpoint(state.instance, input);
    },
    "checkpoint.show": async (input, { caller }) => {
      requireVisible(state.instance, input.session, [input.label], concealment(caller));
      return showCheckpoint(state.instance, input);
    },
    "checkpoint.diff": async (input, { caller }) => {
      requireVisible(state.instance, input.session, [input.label, input.to], concealment(caller));
      return diffCheckpoints(state.instance, input);
    },
    "checkpoint.delete": async (input) => deleteCheckpoint(state.instance, input),
    "checkpoint.restore": async (input, context) => {
      const result = await restoreCheckpoints(state.instance, input, restorerOf(state, context));
      for (const { id } of result.restored) {
        state.sessionCreated();
        await proxies.find(id);
      }
      return result;
    },
    "checkpoint.forget": (input) => forgetSessions(state.instance, input),
    "exec.fresh": (input, context) => execFresh(proxies, create, input, context),
  };
}

/** Sessions of this machine, and of the other requested ones. */
async function listSessions<T>(
  proxies: SessionProxies,
  state: ServerState,
  remote: RemoteMachines,
  { tag, all, server, all_machines }: ParsedInput<"sessions.list">,
  { caller }: Pick<CallContext, "caller">,
  givenForm: ListForm<T>,
): Promise<T[]> {
  const { only } = caller;
  const agent = state.concealedFrom(caller);
  const form = agent === null ? givenForm : formSeenBy(givenForm, agent);
  const isWanted = (info: SessionInfo): boolean =>
    (only === undefined || info.id === only) &&
    (tag.length === 0 || hasTag(info, tag)) &&
    (all || info.running || info.state === "crashed");
  const isAll = only === undefined && (server ?? null) === null;
  const withFleet = all_machines || tag.length > 0;
  const [local, remoteSessions] = await Promise.all([
    proxies.list(),
    isAll ? remote.sessions.list({ caller }, withFleet, form, (info) => isWanted(asSeenBy(info, agent))) : [],
  ]);
  const crashed = listCrashed(state.instance, new Set(local.map(({ id }) => id)), state.hostname);
  const listed: T[] = [];
  for (const info of [...local, ...crashed]) if (isWanted(asSeenBy(info, agent))) form.add(listed, info);
  return listed.concat(remoteSessions);
}

/** The login's environment is the caller's, if it has one. */
function restorerOf(state: ServerState, context: Pick<CallContext, "env">): Restorer {
  return { env: context.env ?? process.env, starter: "server", maxSessions: state.limits.max_sessions };
}
