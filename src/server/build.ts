/**
 * Wires a gateway together: sessions, operations, WebSockets, MCP and the HTTP app, which do not know each other.
 * Nothing listens, and no session process is contacted, before `main.ts` starts it. Parts that depend on each
 * other in a circle (an ephemeral server's end depends on connections, which report to it) meet in closures here
 * and nowhere else.
 */

import { Machines } from "../cluster/machines.ts";
import { historyPlaces, retentionOf } from "../history/paths.ts";
import { auditLog } from "../log/audit/audit-log.ts";
import { McpEndpoint } from "../mcp/endpoint.ts";
import type { Call } from "../operations/call.ts";
import { requireAllSessions } from "../operations/rights.ts";
import { MemoryRelease } from "../platform/memory-release.ts";
import { defined, present } from "../protocol/defined.ts";
import type { SessionInfo } from "../protocol/session.ts";
import { concealedFrom } from "../secrets/allowed-agents.ts";
import { ensureAuditKey } from "../secrets/own-secrets.ts";
import { limitsOf } from "../settings/table.ts";
import type { Access } from "./auth/access.ts";
import { mountLogin, mountMe } from "./auth/login-routes.ts";
import { Tickets } from "./auth/tickets.ts";
import { endingCalls } from "./auth/token-end.ts";
import { mountDocuments } from "./docs/routes.ts";
import { ANSWER_MS, Lifecycle, PendingCalls } from "./ephemeral.ts";
import { Membership } from "./fleet/membership.ts";
import { mountAnswers } from "./hooks/answer-route.ts";
import { createHooks } from "./hooks/create.ts";
import { type AppOptions, createApp } from "./http/app.ts";
import type { RefusedRequest } from "./http/context.ts";
import { handleMcp } from "./http/mcp-route.ts";
import { LinkEnd } from "./machines/link-end.ts";
import { type PlacementReport, placementReport } from "./machines/placement-report.ts";
import { RemoteCalls } from "./machines/remote-calls.ts";
import { RemoteEvents } from "./machines/remote-events.ts";
import { RemoteSessions } from "./machines/remote-sessions.ts";
import { LinkRoutes } from "./machines/routes.ts";
import { SessionsEverywhere } from "./machines/streamed-sessions.ts";
import { Metrics } from "./observe/metrics.ts";
import { recorded } from "./observe/observed-call.ts";
import { auditRefusals } from "./observe/refusals.ts";
import { createCall } from "./operations/dispatch.ts";
import { createHandlers } from "./operations/handlers.ts";
import { IdempotentCalls } from "./operations/idempotent-calls.ts";
import type { ServerState } from "./operations/server-state.ts";
import { stopSessions } from "./operations/stop.ts";
import type { GatewayOptions, ViewKeys } from "./options.ts";
import type { PublishedInfo } from "./published-info.ts";
import { Announcements } from "./sessions/announcements.ts";
import { SessionProxies } from "./sessions/session-proxies.ts";
import { WebSocketRoutes } from "./websocket/routes.ts";
import { WebSockets } from "./websocket/websockets.ts";

/** Content type of Prometheus's text format. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

export type Gateway = ReturnType<typeof buildGateway>;

/** @param end ends the server; called with the reason, possibly more than once */
export function buildGateway(
  options: GatewayOptions,
  access: Access,
  published: PublishedInfo,
  end: (reason: string) => void,
  /** Address of the page on this machine. */
  page: () => string,
) {
  const { instance, settings } = options;
  const proxies = new SessionProxies(instance, options.hostname);
  const sockets = new WebSockets(
    { pingMs: settings.ws_ping_ms, pongMs: settings.ws_pong_ms },
    settings.max_client_queue_bytes,
  );
  const memory = new MemoryRelease();
  const tickets = new Tickets(settings.max_tickets);
  const { info } = published;
  const audit = info.audit_file === null ? null : auditLog(info.audit_file, ensureAuditKey(instance));
  const refusal = audit === null ? null : auditRefusals(audit);

  const state = serverState(options, published, proxies, { end, sessionCreated: () => lifecycle.sessionExisted() });
  const metrics = new Metrics(() => ({
    sessions: proxies.findable.length,
    sessionsRunning: proxies.findable.filter((proxy) => proxy.info.running).length,
    clients: proxies.findable.reduce((sum, proxy) => sum + proxy.info.clients, 0),
    webSockets: sockets.count,
    bridges: mcp.bridges,
    uptimeS: state.uptimeMs() / 1000,
  }));
  const sinks = [metrics.count, () => memory.activity(), ...(audit === null ? [] : [audit.write])];
  const machines = new Machines({ instance, ssh: { argv: settings.ssh_command.split(" ") } });
  const remote = {
    machines,
    sessions: new RemoteSessions(instance, machines),
    rejoin: () => membership.rejoin(),
    fleetProblem: () => membership.problem,
  };
  const remoteCalls = new RemoteCalls(machines, options.hostname);
  const idempotentCalls = new IdempotentCalls();
  const isForRemote: Parameters<typeof idempotentCalls.wrap>[1] = (...request) =>
    remoteCalls.machineOf(...request) !== null;
  const checkLifecycle = (): void => lifecycle.reconsider();
  const pendingCalls = new PendingCalls(checkLifecycle);
  const call = pendingCalls.counted(
    recorded(
      endingCalls(
        idempotentCalls.wrap(
          createCall(proxies, createHandlers(proxies, state, remote), remoteCalls, settings, instance),
          isForRemote,
        ),
      ),
      sinks,
    ),
  );

  const reportPlacement = (): PlacementReport => placementReport(settings, proxies);
  const linkEnd = new LinkEnd({
    proxies,
    call,
    idempotentCalls,
    audit,
    machines,
    machineOf: remoteCalls.machineOf.bind(remoteCalls),
    streamsChanged: checkLifecycle,
  });
  const membership = new Membership(options.fleet, {
    instance,
    proxies,
    machines,
    reportPlacement,
    end: linkEnd,
    logger: options.logger,
    hostname: options.hostname,
    boot: state.serverId,
  });
  const links = new LinkRoutes({ linkEnd, machines, reportPlacement, state, sockets });
  const webSockets = new WebSocketRoutes({
    call,
    sockets,
    tickets,
    audit,
    limits: settings,
    connectionsChanged: checkLifecycle,
    remoteEvents: new RemoteEvents(machines),
    sources: new SessionsEverywhere(proxies, machines, options.hostname),
    callerGone: (id) => callerGone(proxies, id),
    concealedFrom: state.concealedFrom,
    viewKeys: options.viewKeys ?? defaultKeys,
  });
  const sessionListeners = new Set<(id: string) => void>();
  const hasMachines = (): boolean => machines.addedMachines.length > 0 || machines.fleet !== null;
  const mcp = createMcp(options, call, proxies, hasMachines, sessionListeners, () => {
    memory.activity();
    lifecycle.reconsider();
  });
  const hooks = createHooks(options, call, checkLifecycle);
  const lifecycle = new Lifecycle({
    persistent: () => state.persistent,
    sessions: () => proxies.unfinished,
    activityCount: () =>
      hooks.pending +
      pendingCalls.count +
      mcp.bridges +
      webSockets.connectionCount +
      linkEnd.streamCount +
      (membership.isMachine ? 1 : 0),
    end() {
      // A request to stop gets its answer before the server ends.
      if (!state.isStopping) end("ephemeral and without sessions");
    },
  });
  const announcements = new Announcements((event) => {
    if (event.event !== "session_tags_changed" && !isOfExec(event.params.session)) {
      for (const listener of sessionListeners) listener(event.params.session.id);
    }
    webSockets.broadcast(event);
    membership.publishEvent(event);
  });

  const recordRefusal = (code: string, request: RefusedRequest): void => {
    metrics.countRefusal(code);
    refusal?.(code, request);
  };
  const extend: AppOptions["extend"] = (routes) => {
    mountMe(routes);
    webSockets.mount(routes);
    links.mount(routes);
    mountDocuments(routes, options.basePrefix);
    routes.get("/metrics", (c) => {
      const { session } = c.get("verdict");
      requireAllSessions({ caller: defined({ only: session }) }, "metrics");
      return c.text(metrics.text(), 200, { "Content-Type": METRICS_TYPE });
    });
    routes.all("/mcp", (c) => handleMcp(mcp, c));
  };
  const app = createApp({
    call,
    guard: access.guard,
    basePrefix: options.basePrefix,
    tickets,
    recordRefusal,
    mountBeforeAdmission(routes) {
      mountAnswers(routes, instance, call);
      mountLogin(routes, {
        guard: access.guard,
        login: () => access.login,
        page,
        recordRefusal,
        recordStep({ operation, token, peer, result }) {
          const context = { caller: { kind: "http", id: "login", via: { token, peer } } } as const;
          audit?.write({ operation, input: null, context, result, ms: 0 });
        },
      });
    },
    ...present({ rateLimit: access.rateLimit }),
    extend,
  });
  return { app, proxies, sockets, mcp, lifecycle, announcements, memory, machines, linkEnd, membership, hooks };
}

/** A caller's connection has ended, and with it its captures; its bound sessions follow. */
function callerGone({ keyboards, bound }: SessionProxies, id: string): void {
  keyboards.callerGone(id);
  bound.callerGone(id);
}

/** Default keys of terminals in pages. */
const defaultKeys = async (): Promise<ViewKeys> => ({ prefix: "Ctrl+\\" });

/** An exec's sessions start and end with every command: they cause no announcement of the list of resources. */
function isOfExec({ name, tags }: SessionInfo): boolean {
  return name.startsWith("exec-") && tags.includes("exec");
}

/** The server's state for its own operations. */
function serverState(
  options: GatewayOptions,
  published: PublishedInfo,
  proxies: SessionProxies,
  events: { end(reason: string): void; sessionCreated(): void },
): ServerState & { readonly isStopping: boolean } {
  const began = performance.now();
  let isStopping = false;
  return {
    instance: options.instance,
    hostname: options.hostname,
    serverId: published.info.server_id,
    uptimeMs: () => performance.now() - began,
    accept: options.settings.accept,
    limits: limitsOf(options.settings),
    history: {
      places: historyPlaces(options.instance),
      get retention() {
        return retentionOf(options.settings);
      },
    },
    get addresses() {
      return published.addresses;
    },
    get persistent() {
      return published.persistent;
    },
    setPersistent: (persistent) => published.setPersistent(persistent),
    get isStopping() {
      return isStopping;
    },
    async stop() {
      isStopping = true;
      const count = await stopSessions(proxies);
      setTimeout(() => events.end("stopped by request"), ANSWER_MS);
      return count;
    },
    sessionCreated: events.sessionCreated,
    concealedFrom: (caller) => concealedFrom(options.instance, options.settings, caller),
  };
}

function createMcp(
  options: GatewayOptions,
  call: Call,
  proxies: SessionProxies,
  hasMachines: () => boolean,
  sessionListeners: Set<(id: string) => void>,
  changed: () => void,
): McpEndpoint {
  return new McpEndpoint({
    ...options.mcp,
    call,
    hasMachines,
    sessions: (listener) => {
      sessionListeners.add(listener);
      return { [Symbol.dispose]: () => void sessionListeners.delete(listener) };
    },
    callerGone: (id) => callerGone(proxies, id),
    changed,
  });
}
