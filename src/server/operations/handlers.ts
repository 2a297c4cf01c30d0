/** What the server itself does: listing and making sessions, waiting over several, and its own state. */
import os from "node:os";
import * as v from "valibot";
import type { HostSpecSchema } from "../../instance/launch/host-spec.ts";
import { type ReadyReport, startHost } from "../../instance/launch/launch.ts";
import type { Instance } from "../../instance/paths.ts";
import type { CallContext } from "../../operations/call.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { originalNofile } from "../../platform/inherited-file-limit.ts";
import { WshError } from "../../protocol/errors.ts";
import { checkSessionName } from "../../protocol/names.ts";
import { type CreatedSession, type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { VERSION } from "../../protocol/version.ts";
import type { Host } from "../hosts/session-host.ts";
import type { Hosts } from "../hosts/session-hosts.ts";
import type { ServerHandlers } from "./dispatch.ts";
import { execFresh } from "./exec-fresh.ts";

export interface ServerState {
  readonly instance: Instance;
  /** What this server calls itself. */
  readonly hostname: string;
  readonly serverId: string;
  /** Time since the start, in ms, by the clock that does not jump. */
  uptimeMs(): number;
  readonly limits: Readonly<Record<string, number>>;
  /** Addresses that it listens on over TCP. */
  addresses: readonly string[];
  persistent: boolean;
  setPersistent(persistent: boolean): void;
  /** Ends every session, then the server; returns how many sessions there were. */
  stop(): Promise<number>;
  /** A session was made here; keeps an ephemeral server from thinking that there never was one. */
  sessionCreated(): void;
}

export function createHandlers(hosts: Hosts, state: ServerState): ServerHandlers {
  const create = (input: ParsedInput<"sessions.create">, context: CallContext): Promise<CreatedSession> =>
    createSession(hosts, state, input, context);
  return {
    "sessions.list": async (input, { only }) => {
      requireOwnServer(state, input.server);
      const listed = await hosts.list();
      const infos = only === undefined ? listed : listed.filter((info) => info.id === only);
      const tagged = input.tag.length === 0 ? infos : infos.filter((info) => hasTag(info, input.tag));
      return input.all ? tagged : tagged.filter((info) => info.running);
    },
    "sessions.create": create,
    "servers.list": async (_, { only }) => [await ownEntry(hosts, state, only)],
    "servers.get": async ({ hostname }, { only }) => {
      requireOwnServer(state, hostname);
      return ownEntry(hosts, state, only);
    },
    "server.info": async (_, { only }) => ({
      hostname: state.hostname,
      version: VERSION,
      server_id: state.serverId,
      pid: process.pid,
      uptime_ms: Math.round(state.uptimeMs()),
      persistent: state.persistent,
      sessions: await runningCount(hosts, only),
      addresses: [...state.addresses],
      limits: { ...state.limits },
    }),
    "server.persist.get": async () => ({ persistent: state.persistent }),
    "server.persist.set": async ({ persistent }) => {
      state.setPersistent(persistent);
      return { persistent };
    },
    "server.stop": async () => ({ sessions: await state.stop() }),
    "idle.any": (input, context) => idleAny(hosts, input, context),
    "wait.any": (input, context) => waitAny(hosts, input, context),
    "exec.fresh": (input, context) => execFresh(hosts, create, input, context),
  };
}

async function ownEntry(
  hosts: Hosts,
  state: ServerState,
  only: string | undefined,
): Promise<OperationOutput<"servers.get">> {
  const { hostname, serverId } = state;
  const sessions = await runningCount(hosts, only);
  return { hostname, address: "local", health: "healthy", role: "member", sessions, server_id: serverId };
}

/** Running sessions that the caller may know of, those that another process has just started included. */
async function runningCount(hosts: Hosts, only: string | undefined): Promise<number> {
  const all = await hosts.present();
  return all.filter(({ info }) => info.running && (only === undefined || info.id === only)).length;
}

function requireOwnServer(state: ServerState, name: string | null | undefined): void {
  if (name === undefined || name === null || name === state.hostname) return;
  throw new WshError("server_not_found", `no server '${name}'; this is '${state.hostname}'`);
}

function hasTag(info: SessionInfo, tags: readonly string[]): boolean {
  return tags.some((tag) => info.tags.includes(tag));
}

async function createSession(
  hosts: Hosts,
  state: ServerState,
  input: ParsedInput<"sessions.create">,
  context: CallContext,
): Promise<CreatedSession> {
  const { server, if_exists, ...create } = input;
  requireOwnServer(state, server);
  const wanted = if_exists === "attach" && typeof create.name === "string" ? checkSessionName(create.name) : null;
  const existing = wanted === null ? null : await findLive(hosts, wanted);
  if (existing !== null) return existing;
  const spec: v.InferInput<typeof HostSpecSchema> = {
    socket: state.instance.httpSocket,
    starter: "server",
    nofile: originalNofile(),
    max_sessions: state.limits.max_sessions,
    create,
    naming: "number",
    env: definedOnly(context.env ?? process.env),
    cwd: context.cwd ?? os.homedir(),
  };
  let ready: ReadyReport;
  try {
    ready = await startHost(state.instance, spec);
  } catch (thrown) {
    // Another caller who wanted the same was quicker.
    const isTaken = thrown instanceof WshError && thrown.code === "session_name_conflict";
    const quicker = wanted !== null && isTaken ? await findLive(hosts, wanted) : null;
    if (quicker !== null) return quicker;
    throw thrown;
  }
  state.sessionCreated();
  const info = v.parse(SessionInfoSchema, ready.info);
  await hosts.find(info.id);
  // It has shown nothing to its caller yet, whatever its shell has printed by now.
  return { ...info, output_cursor: 0 };
}

function definedOnly(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

async function findLive(hosts: Hosts, name: string): Promise<CreatedSession | null> {
  try {
    const host = await hosts.find(name);
    if (!host.info.running) return null;
    const context = within(hostContext);
    const [info, status] = await Promise.all([
      host.request("session.get", {}, context),
      host.request("status.get", {}, context),
    ]);
    return { ...v.parse(SessionInfoSchema, info), ...v.parse(CursorSchema, status) };
  } catch (error) {
    if (error instanceof WshError && error.code === "session_not_found") return null;
    throw error;
  }
}

const CursorSchema = v.object({ output_cursor: v.number() });

const hostContext: CallContext = {
  signal: new AbortController().signal,
  access: "admin",
  caller: { kind: "cli", id: "server", connected: true },
};

function within({ access, caller, signal }: CallContext): Pick<CallContext, "access" | "caller" | "signal"> {
  return { access, caller, signal };
}

/** Candidates are fixed when the request starts; the first that is idle wins (contract §6.4). */
async function idleAny(
  hosts: Hosts,
  input: ParsedInput<"idle.any">,
  context: CallContext,
): Promise<OperationOutput<"idle.any">> {
  const { last_session, last_generation, tag, ...idle } = input;
  const candidates = runningWithTag(await hosts.present(), tag);
  return firstOf(candidates, context, async (host, race) => {
    const own = last_session === host.info.name && last_generation !== undefined ? { last_generation } : {};
    const result = (await host.request("idle.await", { ...idle, ...own }, race)) as OperationOutput<"idle.await">;
    return { ...result, session: host.info.name };
  });
}

async function waitAny(
  hosts: Hosts,
  input: ParsedInput<"wait.any">,
  context: CallContext,
): Promise<OperationOutput<"wait.any">> {
  const { sessions, tag, since, ...wait } = input;
  const named = sessions === undefined ? null : await Promise.all(sessions.map((target) => hosts.find(target)));
  const candidates = named ?? runningWithTag(await hosts.present(), tag);
  const cursors = new Map<string, number>();
  const first = await firstOf(
    candidates,
    context,
    async (host, race) => {
      const given = typeof since === "object" ? new Map(Object.entries(since)) : null;
      const own = typeof since === "object" ? (given?.get(host.info.name) ?? given?.get(host.info.id)) : since;
      const from = own === undefined ? {} : { since: own };
      const result = (await host.request("wait", { ...wait, ...from }, race)) as OperationOutput<"wait">;
      if (result.output_cursor !== undefined) cursors.set(host.info.name, result.output_cursor);
      return { ...result, session: host.info.name };
    },
    (result) => result.decided_by !== "timeout",
  );
  if (first.decided_by !== "timeout" || candidates.length === 1) return first;
  return { session: null, decided_by: "timeout", output_cursors: Object.fromEntries(cursors) };
}

function runningWithTag(hosts: readonly Host[], tags: readonly string[]): readonly Host[] {
  const found = hosts.filter((host) => host.info.running && (tags.length === 0 || hasTag(host.info, tags)));
  if (found.length > 0) return found;
  throw new WshError(
    "no_sessions",
    tags.length === 0 ? "there are no sessions" : `no session has a tag of: ${tags.join(", ")}`,
  );
}

/**
 * Asks all, answers with the first answer that decides, and cancels the rest. When none decides, the first answer
 * counts; when all fail, the first error.
 */
async function firstOf<T>(
  hosts: readonly Host[],
  context: CallContext,
  ask: (host: Host, context: Pick<CallContext, "access" | "caller" | "signal">) => Promise<T>,
  decides: (result: T) => boolean = () => true,
): Promise<T> {
  const losers = new AbortController();
  const signal = AbortSignal.any([context.signal, losers.signal]);
  const undecided: T[] = [];
  try {
    return await Promise.any(
      hosts.map(async (host) => {
        const result = await ask(host, { ...within(context), signal });
        if (decides(result)) return result;
        undecided.push(result);
        throw new WshError("idle_timeout", `session '${host.info.name}' decided nothing`);
      }),
    );
  } catch (thrown) {
    const [first] = undecided;
    if (first !== undefined) return first;
    throw thrown instanceof AggregateError ? thrown.errors[0] : thrown;
  } finally {
    losers.abort();
  }
}
