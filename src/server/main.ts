/**
 * The gateway process: binds as the instance's one server, finds the hosts, opens the doors, and ends by signal, by
 * `wsh stop`, or by the ephemeral rule. It holds no session: SIGTERM leaves them all running.
 */
import { auditFile, auditLog } from "../instance/audit/audit-log.ts";
import { checkRuntimeDir, type Instance } from "../instance/paths.ts";
import { unlinkSocket } from "../instance/registry/registry.ts";
import { probeSocket } from "../instance/registry/socket-probe.ts";
import { watchOwnSocket } from "../instance/registry/socket-watch.ts";
import { ensureAuditKey } from "../instance/secrets/own-secrets.ts";
import { readServerInfo, type ServerInfo, writeServerInfo } from "../instance/server-info.ts";
import type { Settings } from "../instance/settings/table.ts";
import { claimServer, releaseServer } from "../instance/single-server.ts";
import { McpDoor, type McpDoorOptions } from "../mcp/endpoint.ts";
import { originalNofile } from "../platform/inherited-file-limit.ts";
import { GiveBack } from "../platform/memory-release.ts";
import { takeShortTurns } from "../platform/scheduling.ts";
import { WshError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import { type AccessOptions, createAccess, isExposed } from "./auth/access.ts";
import { Tickets } from "./auth/tickets.ts";
import { mountDocuments } from "./docs/routes.ts";
import { Lifecycle } from "./ephemeral.ts";
import { Announcements } from "./hosts/announcements.ts";
import { Hosts } from "./hosts/session-hosts.ts";
import { createApp } from "./http/app.ts";
import { requestWithBody } from "./http/body.ts";
import type { AppContext } from "./http/context.ts";
import { Listeners } from "./http/listeners.ts";
import type { TlsFiles } from "./http/tls-files.ts";
import { Metrics } from "./observe/metrics.ts";
import { recorded } from "./observe/observed-call.ts";
import { auditRefusals } from "./observe/refusals.ts";
import { createCall, requireOpenTo } from "./operations/dispatch.ts";
import { createHandlers } from "./operations/handlers.ts";
import type { ServerState } from "./operations/server-state.ts";
import { stopSessions } from "./operations/stop.ts";
import { Doors } from "./websocket/routes.ts";
import { WebSockets } from "./websocket/websockets.ts";

/** Content type of the text that Prometheus reads. */
const METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8";
/** Time for an answer to leave before the server may end, in ms. */
const ANSWER_MS = 50;

export interface ServerOptions extends AccessOptions {
  /** Given on the command line; the choice kept from an earlier run wins over the default. */
  readonly ephemeral: boolean;
  readonly basePrefix: string;
  readonly tls: TlsFiles | null;
  /** Limits, times, the audit log; what has a field of its own here is taken from there. */
  readonly settings: Settings;
  readonly mcp?: Pick<McpDoorOptions, "maxWaitMs" | "progressMs" | "idleMs" | "maxSessions" | "fixtures">;
  /** Called once when the server answers. */
  readonly ready: (info: ServerInfo) => void;
}

/** Runs until the server ends. @throws WshError server_already_running, invalid_request (address, token) */
export async function runServer(options: ServerOptions): Promise<void> {
  const began = performance.now();
  takeShortTurns(true);
  const { instance, logger, settings } = options;
  // Before any child is started: it takes its variable out of the environment.
  originalNofile();
  using access = createAccess(options);
  const ended = Promise.withResolvers<string>();
  const hosts = new Hosts(instance, options.hostname);
  const info = initialInfo(options);
  // What `wsh persist` chose, in this run or an earlier one; being started by hand is no choice for later servers.
  let chosen = options.ephemeral && info.persist;

  let stopping = false;
  const state: ServerState = {
    instance,
    hostname: options.hostname,
    serverId: info.server_id,
    uptimeMs: () => performance.now() - began,
    limits: limitsOf(settings),
    addresses: [],
    persistent: info.persist,
    setPersistent(persistent) {
      // Written first: what is reported as failed has no effect.
      writeServerInfo(instance, { ...info, addresses: [...state.addresses], persist: persistent });
      state.persistent = persistent;
      chosen = persistent;
    },
    async stop() {
      stopping = true;
      const count = await stopSessions(hosts);
      // The answer is on its way first.
      setTimeout(() => ended.resolve("stopped by request"), ANSWER_MS);
      return count;
    },
    sessionCreated: () => lifecycle.used(),
  };
  const lifecycle = new Lifecycle({
    persistent: () => state.persistent,
    sessions: () => hosts.unfinished,
    holders: () => mcp.bridges + doors.holders,
    end() {
      // Who asked it to stop gets an answer.
      if (!stopping) ended.resolve("ephemeral and without sessions");
    },
  });

  const sockets = new WebSockets(
    { pingMs: settings.ws_ping_ms, pongMs: settings.ws_pong_ms },
    settings.max_client_queue_bytes,
  );
  const metrics = new Metrics(() => ({
    sessions: hosts.all.length,
    sessionsRunning: hosts.all.filter((host) => host.info.running).length,
    clients: hosts.all.reduce((sum, host) => sum + host.info.clients, 0),
    webSockets: sockets.count,
    bridges: mcp.bridges,
    uptimeS: state.uptimeMs() / 1000,
  }));
  const memory = new GiveBack();
  const audit = info.audit_file === null ? null : auditLog(info.audit_file, ensureAuditKey(instance));
  const refusal = audit === null ? null : auditRefusals(audit);
  const watching = [metrics.count, () => memory.worked()];
  const sinks = audit === null ? watching : [...watching, audit.write];
  const call = recorded(createCall(hosts, createHandlers(hosts, state)), sinks);
  const tickets = new Tickets(settings.max_tickets);
  const doors = new Doors({
    hosts,
    call,
    sockets,
    tickets,
    audit,
    limits: settings,
    changed: () => lifecycle.changed(),
  });
  const listeners = new Set<(id: string) => void>();
  const sessionsChanged = (id: string): void => {
    for (const listener of listeners) listener(id);
  };
  const mcp = new McpDoor({
    ...options.mcp,
    call,
    sessions: (changed) => {
      listeners.add(changed);
      return { [Symbol.dispose]: () => void listeners.delete(changed) };
    },
    callerGone: (id) => hosts.callerGone(id),
    changed() {
      memory.worked();
      lifecycle.changed();
    },
  });
  const app = createApp({
    call,
    guard: access.guard,
    basePrefix: options.basePrefix,
    tickets,
    revoked: (name) => access.revoked(name),
    refused(code, request) {
      metrics.refused(code);
      refusal?.(code, request);
    },
    ...(access.rateLimit === null ? {} : { rateLimit: access.rateLimit }),
    extend: (routes) => {
      doors.mount(routes);
      mountDocuments(routes, options.basePrefix);
      routes.get("/metrics", (c) => {
        requireOpenTo("metrics", c.get("verdict").session);
        return c.text(metrics.text(), 200, { "Content-Type": METRICS_TYPE });
      });
      routes.all("/mcp", (c) => handleMcp(mcp, c));
    },
  });
  const listening = await claimServer(instance, () => {
    const bound = new Listeners({
      bind: options.bind,
      tls: options.tls,
      httpSocket: instance.httpSocket,
      app,
      handlers: { websocket: sockets.handler },
    });
    // Published before the sockets are there: who sees them reads it.
    state.addresses = bound.addresses;
    writeServerInfo(instance, { ...info, addresses: [...state.addresses], persist: state.persistent });
    bound.listenUnix();
    mcp.listen(instance.mcpSocket);
    return bound;
  });

  const announcements = new Announcements((event) => {
    if (event.event !== "session_tags_changed") sessionsChanged(event.params.session.id);
    doors.broadcast(event);
  });
  await hosts.start({
    created: (session) => {
      lifecycle.used();
      announcements.created(session);
      logger.debug("session found", { name: session.name, id: session.id });
    },
    event: (session, event, leaving) => {
      if (event.event !== "info") logger.debug(event.event, { name: session.name, id: session.id });
      // The answer that told it is on its way first.
      if (event.event === "session_end_told") setTimeout(() => lifecycle.changed(), ANSWER_MS);
      announcements.event(session, event, leaving);
    },
    destroyed: (session, reason, exit) => {
      logger.info("session ended", { name: session.name, id: session.id, reason, ...exit });
      announcements.destroyed(session, reason, exit);
      lifecycle.changed();
    },
  });
  announcements.begin(hosts.all.map(({ info }) => info));
  if (hosts.all.length > 0) lifecycle.used();

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => ended.resolve(`${signal}; sessions go on, \`wsh stop\` ends them`));
  }
  process.on("SIGHUP", () => reloadTls(listening, options));
  logger.info("server listens", { socket: instance.httpSocket, addresses: state.addresses, pid: process.pid });
  if (isExposed(options.bind) && options.tls === null) {
    logger.warn("others reach this address and TLS is off: tokens and sessions can be read on the way", {
      addresses: state.addresses,
    });
  }
  doubtCertificate(listening, options);
  memory.worked();
  options.ready({ ...info, addresses: [...state.addresses] });
  let returning = false;
  const watch = watchOwnSocket(instance.httpSocket, () => {
    if (returning) return;
    returning = true;
    const bind = (): void => {
      listening.listenUnix();
      mcp.listen(instance.mcpSocket);
    };
    void comeBack(instance, bind)
      .then((back) => {
        if (!back) return ended.resolve("another server has taken its place");
        writeServerInfo(instance, { ...info, addresses: [...state.addresses], persist: state.persistent });
        logger.warn("listens again after its socket was deleted", { socket: instance.httpSocket });
      })
      .catch((error) => logger.error("cannot listen again", { error: WshError.from(error).message }))
      .finally(() => {
        returning = false;
      });
  });

  const why = await ended.promise;
  watch[Symbol.dispose]();
  logger.info(`server ends: ${why}`, {});
  lifecycle.stop();
  hosts.stop();
  sockets.closeAll("server_stopped");
  await releaseServer(instance, async () => {
    await Promise.all([mcp.stop(), listening.stop()]);
  });
  const published = readServerInfo(instance);
  if (published?.server_id === info.server_id) {
    try {
      writeServerInfo(instance, { ...published, pid: null, addresses: [], persist: chosen, audit_file: null });
    } catch (error) {
      // The file tells of a process that has ended, which its readers find out by themselves.
      logger.warn("its end could not be noted", { error: WshError.from(error).message });
    }
  }
}

/** Our sockets were deleted: binds them again, unless another server was quicker. */
async function comeBack(instance: Instance, bind: () => void): Promise<boolean> {
  try {
    if (probeSocket(instance.httpSocket) === "alive") return false;
    if (checkRuntimeDir(instance)) unlinkSocket(instance.mcpSocket); // ours, if it was spared
    await claimServer(instance, bind);
    return true;
  } catch (thrown) {
    if (WshError.from(thrown).code === "server_already_running") return false;
    throw thrown;
  }
}

/** MCP over HTTP: answers may be streams, so the connection's time limit is off; they end when the token is revoked. */
async function handleMcp(mcp: McpDoor, c: AppContext): Promise<Response> {
  c.env.server.timeout(c.req.raw, 0);
  const { access, tokenName, tokenId, session } = c.get("verdict");
  const response = await mcp.handle(await requestWithBody(c), {
    access,
    tokenName,
    peer: c.env.peer,
    ...(tokenId === undefined ? {} : { tokenId }),
    ...(session === undefined ? {} : { only: session }),
  });
  const revoked = c.get("revoked");
  if (revoked === null || response.body === null) return response;
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
  response.body.pipeTo(writable, { signal: revoked }).catch(() => {});
  return new Response(readable, response);
}

function initialInfo(options: ServerOptions): ServerInfo {
  const kept = readServerInfo(options.instance);
  const persist = !options.ephemeral || (kept?.persist ?? false);
  return {
    pid: process.pid,
    version: VERSION,
    server_id: crypto.randomUUID(),
    started_at: Date.now(),
    addresses: [],
    base_prefix: options.basePrefix,
    persist,
    audit_file: options.settings.audit ? auditFile(options.instance, options.settings.audit_file) : null,
  };
}

/** Everything named max_…, as `server.info` shows it. */
function limitsOf(settings: Settings): Record<string, number> {
  return Object.fromEntries(
    Object.entries(settings).flatMap(([name, value]) =>
      name.startsWith("max_") && typeof value === "number" ? [[name, value]] : [],
    ),
  );
}

function reloadTls(listening: Listeners, { logger, tls }: ServerOptions): void {
  if (tls === null) return;
  try {
    listening.reloadTls();
    logger.info("TLS certificate read again", { cert: tls.cert });
    doubtCertificate(listening, { logger, tls });
  } catch (error) {
    logger.error("the TLS certificate was not replaced", { error: WshError.from(error).message });
  }
}

/** Clients refuse such a certificate, and say so less clearly. */
function doubtCertificate(listening: Listeners, { logger, tls }: Pick<ServerOptions, "logger" | "tls">): void {
  const doubt = listening.certificateDoubt;
  if (doubt !== null) logger.warn(`clients will refuse the TLS certificate: ${doubt}`, { cert: tls?.cert });
}
