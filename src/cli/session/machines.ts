/** Connects the command line to other machines: directly, and asking the person when ssh or a copy requires it. */

import { hasFleet } from "../../cluster/fleet/creds-file.ts";
import { ThroughServer } from "../../cluster/fleet/through-server.ts";
import { HttpLink } from "../../cluster/http-link.ts";
import type { Link } from "../../cluster/link.ts";
import { Machines } from "../../cluster/machines.ts";
import type { SshTransport } from "../../cluster/ssh/ssh-transport.ts";
import type { Instance } from "../../instance/paths.ts";
import { isAddress } from "../../protocol/machines.ts";
import { isMachineName } from "../../protocol/names.ts";
import { settingsOf } from "../instance.ts";
import { complain } from "../print.ts";

const machinesByInstance = new Map<string, Machines>();

/** The machines of an instance; one object per run of this program, which keeps its links. */
export async function machinesOf(instance: Instance): Promise<Machines> {
  const before = machinesByInstance.get(instance.httpSocket);
  if (before !== undefined) return before;
  const { values } = await settingsOf(instance);
  const asks = process.stdin.isTTY && process.stderr.isTTY;
  const machines = new Machines({
    instance,
    ssh: { argv: values.ssh_command.split(" ") },
    ...(asks ? { person: { login, install } } : {}),
  });
  machinesByInstance.set(instance.httpSocket, machines);
  return machines;
}

/** ssh's own questions may use another name for the machine. */
async function login<T>(host: string, run: () => Promise<T>): Promise<T> {
  return (await import("../confirm.ts")).inTurn(() => {
    complain(`ssh logs in to ${host}`);
    return run();
  });
}

async function install(system: string, way: SshTransport): Promise<boolean> {
  return (await import("./install-remote.ts")).installRemote(system, way);
}

const ofFleet = new Map<string, Link>();

/**
 * The link to an added machine, to an address, or to a machine of the fleet.
 * @throws WshError machine_not_found, invalid_address
 */
export async function linkOf(instance: Instance, machine: string): Promise<Link> {
  const machines = await machinesOf(instance);
  const isAdded = isAddress(machine) || machines.addedMachines.some(({ name }) => name === machine);
  if (isAdded || !hasFleet(instance) || !isMachineName(machine)) return machines.linkOf(machine);
  const member = ofFleet.get(machine);
  if (member !== undefined) return member;
  const made = new HttpLink(machine, new ThroughServer(instance, machine));
  ofFleet.set(machine, made);
  return made;
}
