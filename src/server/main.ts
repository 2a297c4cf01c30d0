/**
 * The gateway process: binds as the instance's one server, finds the hosts, opens the doors, and ends by signal, by
 * `wsh stop`, or by the ephemeral rule. It holds no session: SIGTERM leaves them all running.
 */
import { claimServer, releaseServer } from "../instance/claim-server.ts";
import { readServerInfo, type ServerInfo, writeServerInfo } from "../instance/info.ts";
import type { Logger } from "../instance/log.ts";
import { originalNofile } from "../instance/nofile.ts";
import type { Instance } from "../instance/paths.ts";
import { ensureToken } from "../instance/token.ts";
import { McpDoor, type McpDoorOptions } from "../mcp/door.ts";
import { WshError } from "../protocol/errors.ts";
import { VERSION } from "../protocol/version.ts";
import { type AppContext, createApp } from "./app.ts";
import { createCall } from "./call.ts";
import { digestToken, type GuardPolicy, type KnownToken } from "./guard.ts";
import { createHandlers, type ServerState } from "./handlers.ts";
import { Hosts } from "./hosts.ts";
import { Lifecycle } from "./lifecycle.ts";
import { type Bind, hostName, isLoopback, listenTcp, listenUnix, type TlsFiles } from "./listen.ts";

/** Shortest token that may be given by hand, in bytes (contract §11.1). */
const SHORTEST_TOKEN_BYTES = 16;
/** How long sessions may take to end at `wsh stop` before the server ends without them, in ms. */
const STOP_PATIENCE_MS = 10_000;

export interface ServerOptions {
  readonly instance: Instance;
  readonly logger: Logger;
  /** What the server calls itself. */
  readonly hostname: string;
  /** Null: Unix sockets only. */
  readonly bind: Bind | null;
  /** Replaces the instance's own token for this run. */
  readonly token: string | null;
  readonly noAuth: boolean;
  /** Given on the command line; the choice kept from an earlier run wins over the default. */
  readonly ephemeral: boolean;
  readonly corsOrigins: readonly string[];
  readonly basePrefix: string;
  readonly tls: TlsFiles | null;
  readonly limits: Readonly<Record<string, number>>;
  readonly mcp?: Pick<McpDoorOptions, "maxWaitMs" | "progressMs" | "idleMs" | "maxSessions" | "fixtures">;
  /** Called once when the server answers. */
  readonly ready: (info: ServerInfo) => void;
}

/** Runs until the server ends. @throws WshError server_already_running, invalid_request (address, token) */
export async function runServer(options: ServerOptions): Promise<void> {
  const { instance, logger } = options;
  // Before any child is started: it takes its variable out of the environment.
  originalNofile();
  const tokens = tokensOf(options);
  const ended = Promise.withResolvers<string>();
  const hosts = new Hosts(instance, options.hostname);
  const info = initialInfo(options);
  // What `wsh persist` chose, in this run or an earlier one; being started by hand is no choice for later servers.
  let chosen = options.ephemeral && info.persist;

  const state: ServerState = {
    instance,
    hostname: options.hostname,
    serverId: info.server_id,
    startedAt: info.started_at,
    limits: options.limits,
    addresses: [],
    persistent: info.persist,
    setPersistent(persistent) {
      state.persistent = persistent;
      chosen = persistent;
      writeServerInfo(instance, { ...info, addresses: [...state.addresses], persist: persistent });
    },
    async stop() {
      const count = await stopSessions(hosts);
      // The answer is on its way first.
      setTimeout(() => ended.resolve("stopped by request"), 50);
      return count;
    },
    sessionCreated: () => lifecycle.used(),
  };
  const lifecycle = new Lifecycle({
    persistent: () => state.persistent,
    sessions: () => hosts.all.length,
    holders: () => mcp.bridges,
    end: () => ended.resolve("ephemeral and without sessions"),
  });

  const call = createCall(hosts, createHandlers(hosts, state));
  const listeners = new Set<() => void>();
  const sessionsChanged = (): void => {
    for (const listener of listeners) listener();
  };
  const mcp = new McpDoor({
    ...options.mcp,
    call,
    sessions: (changed) => {
      listeners.add(changed);
      return { [Symbol.dispose]: () => void listeners.delete(changed) };
    },
    changed: (bridges) => (bridges > 0 ? lifecycle.used() : lifecycle.changed()),
  });
  const app = createApp({
    call,
    guard: guardOf(options, tokens),
    basePrefix: options.basePrefix,
    extend: (routes) => {
      routes.all("/mcp", (c) => handleMcp(mcp, c));
    },
  });
  const servers = await claimServer(instance, () => {
    const bound = bindAll(options, app);
    mcp.listen(instance.mcpSocket);
    return bound;
  });
  state.addresses = servers.filter((server) => server.port !== undefined).map((server) => server.url.origin);
  writeServerInfo(instance, { ...info, addresses: [...state.addresses], persist: state.persistent });

  await hosts.start({
    created: (session) => {
      lifecycle.used();
      sessionsChanged();
      logger.debug("session found", { name: session.name, id: session.id });
    },
    event: (session, event) => {
      logger.debug(event.event, { name: session.name, id: session.id });
      if (event.event === "session_renamed") sessionsChanged();
    },
    destroyed: (session, reason, exit) => {
      logger.info("session ended", { name: session.name, id: session.id, reason, ...exit });
      sessionsChanged();
      lifecycle.changed();
    },
  });
  if (hosts.all.length > 0) lifecycle.used();

  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => ended.resolve(`${signal}; sessions go on, \`wsh stop\` ends them`));
  }
  process.on("SIGHUP", () => {});
  logger.info("server listens", { socket: instance.httpSocket, addresses: state.addresses, pid: process.pid });
  options.ready({ ...info, addresses: [...state.addresses] });

  const why = await ended.promise;
  logger.info(`server ends: ${why}`, {});
  lifecycle.stop();
  hosts.stop();
  await releaseServer(instance, async () => {
    await Promise.all([mcp.stop(), ...servers.map((server) => server.stop(true))]);
  });
  const published = readServerInfo(instance);
  if (published?.server_id === info.server_id) {
    writeServerInfo(instance, { ...published, pid: null, addresses: [], persist: chosen });
  }
}

/** MCP over HTTP: answers may be streams, so the connection's time limit is off. */
function handleMcp(mcp: McpDoor, c: AppContext): Promise<Response> {
  c.env.server.timeout(c.req.raw, 0);
  const { access, tokenName } = c.get("verdict");
  return mcp.handle(c.req.raw, { access, tokenName });
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
    persist,
  };
}

/** @throws WshError invalid_request when a given token is too short */
function tokensOf(options: ServerOptions): readonly KnownToken[] | null {
  if (options.noAuth) return null;
  const { token } = options;
  if (token !== null && Buffer.byteLength(token) < SHORTEST_TOKEN_BYTES) {
    throw new WshError("invalid_request", `the token has ${Buffer.byteLength(token)} bytes`, {
      hint: `Give at least ${SHORTEST_TOKEN_BYTES} bytes, or leave --token out: one is made.`,
    });
  }
  if (options.bind === null) return [];
  return [{ name: "own", digest: digestToken(token ?? ensureToken(options.instance)), access: "admin" }];
}

function guardOf(options: ServerOptions, tokens: readonly KnownToken[] | null): GuardPolicy {
  const names = new Set(["127.0.0.1", "localhost", "[::1]", options.hostname.toLowerCase()]);
  if (options.bind !== null) names.add(hostName(options.bind.host));
  return { hostNames: names, corsOrigins: new Set(options.corsOrigins), tokens: () => tokens };
}

function bindAll(options: ServerOptions, app: ReturnType<typeof createApp>): Bun.Server<unknown>[] {
  const servers: Bun.Server<unknown>[] = [];
  const { bind, instance } = options;
  try {
    if (bind !== null) {
      const tls = options.tls ?? undefined;
      const first = listenTcp(bind, app, {}, tls);
      servers.push(first);
      if (bind.host === "127.0.0.1" && first.port !== undefined) servers.push(...alsoIpv6(first.port, app, tls));
    }
    servers.push(listenUnix(instance.httpSocket, app));
    return servers;
  } catch (error) {
    for (const server of servers) void server.stop(true);
    throw error;
  }
}

/** `localhost` may mean ::1; where there is no IPv6, or the port is taken there, 127.0.0.1 is enough. */
function alsoIpv6(port: number, app: ReturnType<typeof createApp>, tls: TlsFiles | undefined): Bun.Server<unknown>[] {
  try {
    return [listenTcp({ host: "::1", port }, app, {}, tls)];
  } catch {
    return [];
  }
}

/** Ends every session; one whose host hangs is left behind after a while. */
async function stopSessions(hosts: Hosts): Promise<number> {
  const all = hosts.all;
  const context = {
    caller: { kind: "cli", id: "server", connected: true },
    access: "admin",
  } as const;
  const ends = all.map((host) => host.request("session.kill", { reason: "server_stopped" }, context).catch(() => {}));
  await Promise.race([Promise.all(ends), Bun.sleep(STOP_PATIENCE_MS)]);
  return all.filter((host) => host.info.running).length;
}

/** Whether serving without a token at this address was really meant. */
export function isExposed(bind: Bind | null): boolean {
  return bind !== null && !isLoopback(bind.host);
}
