/** The added machines with what they answer now, each asked by this process itself, so that ssh can ask the person. */
import { orUntil } from "../../base/deadline.ts";
import { addressedSession } from "../../cluster/addressed.ts";
import { keepKnown, lastKnown } from "../../cluster/last-known.ts";
import type { Link } from "../../cluster/link.ts";
import type { Instance } from "../../instance/paths.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ServerEntry } from "../../protocol/machines.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { cliCaller } from "./client.ts";
import { machinesOf } from "./machines.ts";

/** Longest wait for a machine where nobody is asked anything, in ms: a login by ssh and a server's start. */
const PATIENCE_MS = 15_000;

export interface MachineSessions {
  readonly machine: string;
  /** Named as callers here name them; with `as_of`, as it had them when it answered last. */
  readonly sessions: readonly SessionInfo[];
  readonly trouble: WshError | null;
}

/** Every added machine, one after another where the person may be asked for a password. */
export async function shownMachines(instance: Instance): Promise<ServerEntry[]> {
  const machines = await machinesOf(instance);
  return Promise.all(machines.all.map(({ name }) => shownMachine(instance, name)));
}

/** @throws WshError machine_not_found */
export async function shownMachine(instance: Instance, name: string): Promise<ServerEntry> {
  const machines = await machinesOf(instance);
  const link = machines.link(name);
  const { sessions, trouble } = await ask(instance, link);
  const { health, hello, answeredAt } = link.state;
  const version = hello === null ? {} : { version: hello.version };
  return {
    hostname: name,
    address: machines.all.find((each) => each.name === name)?.address ?? "",
    health,
    role: "remote",
    sessions: sessions.filter(({ running }) => running).length,
    server_id: hello?.server_id ?? "",
    ...version,
    ...(trouble === null ? {} : { error: trouble.message }),
    ...(answeredAt === null ? {} : { as_of: answeredAt }),
  };
}

/** Sessions of every added machine, or of one. @throws WshError machine_not_found */
export async function sessionsThere(instance: Instance, only: string | null): Promise<MachineSessions[]> {
  const machines = await machinesOf(instance);
  const names = only === null ? machines.all.map(({ name }) => name) : [only];
  return Promise.all(names.map((name) => ask(instance, machines.linkOf(name))));
}

async function ask(instance: Instance, link: Link): Promise<MachineSessions> {
  const { machine } = link;
  const patience = process.stdin.isTTY && process.stderr.isTTY ? {} : { ms: PATIENCE_MS };
  const late = new WshError("machine_unreachable", `machine '${machine}' does not answer in ${PATIENCE_MS / 1_000} s`);
  const asked = link.call("sessions.list", { all: true, server: "local" }, { caller: cliCaller }).then(
    (sessions) => {
      keepKnown(instance, machine, sessions);
      return { machine, sessions: sessions.map((each) => addressedSession(machine, each)), trouble: null };
    },
    (thrown) => before(instance, machine, WshError.from(thrown)),
  );
  return orUntil<MachineSessions>(asked, patience, () => before(instance, machine, late));
}

/** A machine that does not answer keeps its sessions in every list. */
function before(instance: Instance, machine: string, trouble: WshError): MachineSessions {
  const known = lastKnown(instance, machine);
  const sessions = (known?.sessions ?? []).map((each) => ({
    ...addressedSession(machine, each),
    state: "unresponsive" as const,
    ...(known === null ? {} : { as_of: known.at }),
  }));
  return { machine, sessions, trouble };
}
