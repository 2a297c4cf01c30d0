/**
 * Lists the other machines: the added ones with their current answers, each asked by this process itself, so that ssh
 * can ask the person; and those of the fleet as the server here knows them.
 */
import * as v from "valibot";
import { orUntil } from "../../base/deadline.ts";
import { hasFleet } from "../../cluster/fleet/creds-file.ts";
import { readLastKnown, writeLastKnown } from "../../cluster/last-known.ts";
import type { Link } from "../../cluster/link.ts";
import { addressedSession } from "../../cluster/machine-prefix.ts";
import type { Instance } from "../../instance/paths.ts";
import { startServer } from "../../launch/server.ts";
import { asSeenBy, isConcealedFrom } from "../../protocol/concealed.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { fleetAddress, isAddress, type ServerEntry, ServerEntrySchema } from "../../protocol/machines.ts";
import { agentOfCaller } from "../../protocol/owner.ts";
import { countsOf, type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import { askServer } from "../../registry/server-client.ts";
import { cliCaller } from "./client.ts";
import { concealedAgent } from "./concealed.ts";
import { machinesOf } from "./machines.ts";

/** Longest wait for a machine when no person is asked, in ms: a login by ssh and a server's start. */
const PATIENCE_MS = 15_000;

interface MachineSessions {
  readonly machine: string;
  /** Named for callers here; with `as_of`, the state of the machine's last answer. */
  readonly sessions: readonly SessionInfo[];
  readonly error: WshError | null;
}

/** Every machine. If the person may be asked for a password, the added ones are asked one after another. */
export async function shownMachines(instance: Instance): Promise<ServerEntry[]> {
  const machines = await machinesOf(instance);
  const added = Promise.all(machines.addedMachines.map(({ name }) => shownMachine(instance, name)));
  return [...(await added), ...(await fleetMachines(instance))];
}

/** @throws WshError machine_not_found */
export async function shownMachine(instance: Instance, name: string): Promise<ServerEntry> {
  const machines = await machinesOf(instance);
  if (!machines.addedMachines.some((each) => each.name === name)) {
    const member = (await fleetMachines(instance)).find(({ hostname }) => hostname === name);
    if (member !== undefined) return member;
  }
  const link = machines.link(name);
  const { sessions, error } = await askMachine(instance, link);
  const { health, hello, answeredAt } = link.state;
  const version = hello === null ? {} : { version: hello.version };
  return {
    hostname: name,
    address: machines.addedMachines.find((each) => each.name === name)?.address ?? "",
    health,
    role: "remote",
    ...(error === null ? countsOf(sessions) : { sessions: countsOf(sessions).sessions }),
    server_id: hello?.server_id ?? "",
    ...version,
    ...(error === null ? {} : { error: error.message }),
    ...present({ as_of: answeredAt }),
  };
}

/** Sessions of every other machine, or of one. @throws WshError machine_not_found */
export async function remoteSessions(instance: Instance, only: string | null): Promise<MachineSessions[]> {
  const machines = await machinesOf(instance);
  const added = machines.addedMachines.map(({ name }) => name);
  const isAdded = only !== null && (isAddress(only) || added.includes(only));
  const members = isAdded
    ? []
    : (await fleetMachines(instance)).filter(({ hostname }) => only === null || hostname === only);
  const names = only === null ? added : members.length === 0 ? [only] : [];
  const answers = Promise.all(names.map((name) => askMachine(instance, machines.linkOf(name))));
  return [...(await answers), ...(members.length === 0 ? [] : await sessionsOfFleet(instance, members))];
}

/** Machines of the fleet of the server here, which is started if needed; empty outside of a fleet. */
export async function fleetMachines(instance: Instance): Promise<ServerEntry[]> {
  if (!hasFleet(instance)) return [];
  await startServer(instance);
  const entries = v.parse(v.array(ServerEntrySchema), await askServer(instance, "GET", "/servers"));
  return entries.filter(({ address }) => address === fleetAddress);
}

/** As the server here knows them: a machine that does not answer keeps its last known sessions. */
async function sessionsOfFleet(instance: Instance, members: readonly ServerEntry[]): Promise<MachineSessions[]> {
  const answer = await askServer(instance, "GET", "/sessions?all_machines=1&all=1");
  const all = Map.groupBy(v.parse(v.array(SessionInfoSchema), answer), ({ server }) => server);
  return members.map(({ hostname, health, error = health }) => ({
    machine: hostname,
    sessions: all.get(hostname) ?? [],
    error: health === "healthy" || health === "stale" ? null : memberTrouble(hostname, health, error),
  }));
}

/** The error for a machine of the fleet that is not asked. */
function memberTrouble(machine: string, health: ServerEntry["health"], error: string): WshError {
  if (health !== "rejected") return new WshError("machine_unreachable", error);
  return new WshError("access_denied", error === health ? "the fleet's servers refuse this machine" : error, {
    hint: `\`wsh doctor ${machine}\` names the credentials and the remedy.`,
  });
}

async function askMachine(instance: Instance, link: Link): Promise<MachineSessions> {
  const { machine } = link;
  const patience = process.stdin.isTTY && process.stderr.isTTY ? {} : { ms: PATIENCE_MS };
  const timeoutError = new WshError(
    "machine_unreachable",
    `machine '${machine}' did not answer within ${PATIENCE_MS / 1_000} s`,
  );
  const request = link.call("sessions.list", { all: true, server: "local" }, { caller: cliCaller }).then(
    (sessions) => {
      // An AI agent's answer lacks what others may know of private sessions.
      const isComplete = agentOfCaller(cliCaller) === null || !sessions.some(isConcealedFrom);
      if (isComplete) writeLastKnown(instance, machine, sessions);
      return { machine, sessions: sessions.map((each) => addressedSession(machine, each)), error: null };
    },
    (thrown) => lastKnownSessions(instance, machine, WshError.from(thrown)),
  );
  const answer = await orUntil<MachineSessions | null>(request, patience, () => null);
  return answer ?? lastKnownSessions(instance, machine, timeoutError);
}

/** A machine that does not answer keeps its sessions in every list, of which an AI agent sees what it may. */
async function lastKnownSessions(instance: Instance, machine: string, error: WshError): Promise<MachineSessions> {
  const last = readLastKnown(instance, machine);
  const agent = last === null ? null : await concealedAgent(instance);
  const sessions = (last?.sessions ?? []).map((each) => ({
    ...asSeenBy(addressedSession(machine, each), agent),
    state: "unresponsive" as const,
    ...(last === null ? {} : { as_of: last.at }),
  }));
  return { machine, sessions, error };
}
