/** Operations on the servers that this one reaches: itself, and the machines that were added. */
import type { Machines } from "../../cluster/machines.ts";
import type { OperationOutput } from "../../operations/table.ts";
import { present } from "../../protocol/defined.ts";
import { countsOf } from "../../protocol/session.ts";
import { VERSION } from "../../protocol/version.ts";
import type { RemoteSessions } from "../machines/remote-sessions.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { ServerHandlers } from "./dispatch.ts";
import { requireOwnServer, type ServerState } from "./server-state.ts";

/** Other machines, for handlers. */
export interface RemoteMachines {
  readonly machines: Machines;
  readonly sessions: RemoteSessions;
  /** Checks this server's credentials for a fleet again. */
  readonly rejoin: () => Promise<void>;
  /** Why this server is not connected to its fleet; null: it is, or has none. */
  readonly fleetProblem: () => string | null;
}

type ServersOperation = "servers.list" | "servers.get" | "servers.add" | "servers.remove" | "servers.reload";

export function serversHandlers(
  proxies: SessionProxies,
  state: ServerState,
  { machines, sessions, rejoin, fleetProblem }: RemoteMachines,
): Pick<ServerHandlers, ServersOperation> {
  return {
    "servers.list": async (_, { caller }) => {
      const { only } = caller;
      const own = ownEntry(proxies, state, only, fleetProblem());
      return only === undefined ? [await own, ...(await sessions.entries(caller))] : [await own];
    },
    "servers.get": async ({ hostname }, { caller }) => {
      const { only } = caller;
      if (hostname === state.hostname) return ownEntry(proxies, state, only, fleetProblem());
      await machines.fleet?.ready();
      const isKnown = machines.isOfFleet(hostname) || machines.addedMachines.some(({ name }) => name === hostname);
      if (only !== undefined || !isKnown) {
        requireOwnServer(state, hostname);
      }
      return sessions.firstAnswer(hostname, caller);
    },
    "servers.add": async (machine, { caller }) => {
      const { machine: name } = await machines.add(machine, state.hostname);
      return sessions.firstAnswer(name, caller);
    },
    "servers.remove": async ({ hostname }) => {
      await machines.remove(hostname);
      return {};
    },
    "servers.reload": async (_, { caller }) => {
      await Promise.all([machines.reload(), rejoin()]);
      return sessions.entries(caller);
    },
  };
}

async function ownEntry(
  proxies: SessionProxies,
  state: ServerState,
  only: string | undefined,
  error: string | null,
): Promise<OperationOutput<"servers.get">> {
  const { hostname, serverId } = state;
  const own = { hostname, address: "local", health: "healthy", role: "member" } as const;
  const listed = await proxies.list();
  const counts = countsOf(only === undefined ? listed : listed.filter(({ id }) => id === only));
  return { ...own, ...counts, server_id: serverId, version: VERSION, ...present({ error }) };
}

/** Running sessions that the caller may see, including those that another process has just started. */
export async function runningCount(proxies: SessionProxies, only: string | undefined): Promise<number> {
  const all = await proxies.listCurrent();
  return all.filter(({ info }) => info.running && (only === undefined || info.id === only)).length;
}
