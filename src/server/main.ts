/**
 * The gateway process: binds as the instance's only server, finds the session processes, listens, and ends by signal,
 * by `wsh stop`, or by the ephemeral rule. It owns no session: SIGTERM leaves all of them running.
 */

import os from "node:os";
import { agentAt, knowAgents } from "../platform/agent-above.ts";
import { leavePane } from "../platform/child-limits.ts";
import { originalNofile } from "../platform/inherited-file-limit.ts";
import { takeShortTurns } from "../platform/scheduling.ts";
import { WshError } from "../protocol/errors.ts";
import { defaultInstanceName } from "../protocol/names.ts";
import { claimServer, releaseServer } from "../registry/single-server.ts";
import { pageHost } from "../secrets/own-secrets.ts";
import { type Access, createAccess, isExposed } from "./auth/access.ts";
import { buildGateway, type Gateway } from "./build.ts";
import { Listeners } from "./http/listeners.ts";
import { keepSockets } from "./listen-again.ts";
import type { GatewayOptions } from "./options.ts";
import { PublishedInfo } from "./published-info.ts";
import type { ProxyListener } from "./sessions/session-proxies.ts";

/** Default port of the page, and the range of ports that instances prefer when it is taken. */
const USUAL_PORT = 8080;
const FIRST_OWN_PORT = 20_000;
const OWN_PORTS = 10_000;

/** Runs until the server ends. @throws WshError server_already_running, invalid_request (address, token) */
export async function runServer(options: GatewayOptions): Promise<void> {
  takeShortTurns(true);
  const { instance, logger, settings } = options;
  leavePane();
  knowAgents(settings.agents);
  // Before any child is started: it takes its variable out of the environment.
  originalNofile();
  using access = createAccess(options);
  const endReason = Promise.withResolvers<string>();
  const published = new PublishedInfo(options);
  let page = (): string => "";
  const gateway = buildGateway(options, access, published, endReason.resolve, () => page());
  const { proxies, mcp, lifecycle, memory, announcements, sockets, membership } = gateway;

  const { bound: listening, life: lock } = await claimServer(instance, () => listen(options, gateway, published));
  page = () => pageAddress(options, access, listening, published);
  await membership.rejoin();
  await proxies.start(reportEvents(options, gateway));
  announcements.begin(proxies.findable.map(({ info }) => info));
  if (proxies.findable.length > 0) lifecycle.sessionExisted();
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.on(signal, () => endReason.resolve(`${signal}; sessions keep running, \`wsh stop\` ends them`));
  }
  process.on("SIGHUP", () => reloadTls(listening, options));
  printAddresses(options, listening);
  gateway.hooks.start();
  memory.activity();
  options.ready(published.info);
  const watch = keepSockets(instance, lock, {
    bind() {
      listening.listenUnix();
      mcp.listen(instance.mcpSocket);
    },
    listening() {
      published.publish();
      logger.warn("listens again after its socket or lock was deleted", { socket: instance.httpSocket });
    },
    replaced: () => endReason.resolve("another server has replaced it"),
    failed: (error) => logger.error("cannot listen again", { error: error.message }),
  });

  const why = await endReason.promise;
  watch[Symbol.dispose]();
  logger.info(`server ends: ${why}`, {});
  lifecycle.stop();
  await gateway.hooks.stop();
  proxies.stop();
  await membership.close();
  await gateway.machines.reload();
  sockets.closeAll("server_stopped");
  await releaseServer(instance, watch.life, async () => {
    await Promise.all([mcp.stop(), listening.stop()]);
  });
  published.withdraw();
}

function listen(options: GatewayOptions, { app, sockets, mcp }: Gateway, published: PublishedInfo): Listeners {
  const { instance, bind, tls, settings } = options;
  const { httpSocket, mcpSocket } = instance;
  const agentOf = (pid: number): string | null => (settings.agents_may === "own" ? agentAt(pid) : null);
  const bound = new Listeners({
    bind,
    tls,
    httpSocket,
    app,
    handlers: { websocket: sockets.handler },
    agentAt: agentOf,
  });
  // Published before the sockets exist: a client that finds them reads it.
  published.addresses = bound.addresses;
  published.publish();
  published.sweep();
  bound.listenUnix();
  mcp.listen(mcpSocket);
  return bound;
}

/**
 * Address of the page for a browser on this machine. If it does not use TCP yet, the server starts listening on
 * loopback: at the usual port, otherwise at the one that this instance prefers, since a browser stores data per port.
 */
function pageAddress(options: GatewayOptions, access: Access, listening: Listeners, published: PublishedInfo): string {
  const { instance, basePrefix, tls } = options;
  access.openTcp();
  const host = pageHost(instance);
  const own = { host: "127.0.0.1", port: FIRST_OWN_PORT + (Number(BigInt.asUintN(32, Bun.hash(host))) % OWN_PORTS) };
  const usual = instance.name === defaultInstanceName ? [{ host: "127.0.0.1", port: USUAL_PORT }] : [];
  const url = listening.loopback([...usual, own, { host: "127.0.0.1", port: 0 }]);
  if (listening.addresses.length !== published.addresses.length) {
    published.addresses = listening.addresses;
    published.publish();
  }
  // A certificate is for the name that it was made for.
  const names = [options.publicUrl?.hostname, options.hostname, os.hostname(), "localhost"];
  const name = names.find((each) => each !== undefined && listening.isFor(each)) ?? "localhost";
  const secure = /^(0\.0\.0\.0|\[::\])$/.test(url.hostname) ? `https://${name}:${url.port}` : url.origin;
  return `${tls === null ? `http://${host}:${url.port}` : secure}${basePrefix}`;
}

/** Forwards session events: to the log, to clients, and to the rule of the ephemeral server. */
function reportEvents({ logger }: GatewayOptions, { lifecycle, announcements, membership }: Gateway): ProxyListener {
  return {
    listChanged: (isNews) => membership.sessionChanged(isNews),
    created(session) {
      lifecycle.sessionExisted();
      announcements.created(session);
      logger.debug("session found", { name: session.name, id: session.id, pane: session.pane_id });
    },
    event(session, event, leaving) {
      if (event.event !== "info")
        logger.debug(event.event, { name: session.name, id: session.id, pane: session.pane_id });
      if (event.event === "session_end_told") lifecycle.reconsider();
      announcements.event(session, event, leaving);
    },
    destroyed(session, reason, exit) {
      logger.info("session ended", { name: session.name, id: session.id, pane: session.pane_id, reason, ...exit });
      announcements.destroyed(session, reason, exit);
      lifecycle.reconsider();
    },
  };
}

function printAddresses(options: GatewayOptions, listening: Listeners): void {
  const { logger, instance, bind, tls } = options;
  const { addresses } = listening;
  logger.info("server listens", { socket: instance.httpSocket, addresses, pid: process.pid });
  if (isExposed(bind) && tls === null) {
    logger.warn("other machines can reach this address without TLS: tokens and sessions can be read on the network", {
      addresses,
    });
  }
  warnAboutCertificate(listening, options);
}

function reloadTls(listening: Listeners, { logger, tls }: GatewayOptions): void {
  if (tls === null) return;
  try {
    listening.reloadTls();
    logger.info("TLS certificate read again", { cert: tls.cert });
    warnAboutCertificate(listening, { logger, tls });
  } catch (error) {
    logger.error("the TLS certificate was not replaced", { error: WshError.from(error).message });
  }
}

/** Clients refuse such a certificate with a less clear message. */
function warnAboutCertificate(listening: Listeners, { logger, tls }: Pick<GatewayOptions, "logger" | "tls">): void {
  const problem = listening.certificateProblem;
  if (problem !== null) logger.warn(`clients will refuse the TLS certificate: ${problem}`, { cert: tls?.cert });
}
