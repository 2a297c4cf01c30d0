/** Other machines, as the command line reaches them: by itself, and asking the person where ssh or a copy needs it. */

import type { Link } from "../../cluster/link.ts";
import { Machines } from "../../cluster/machines.ts";
import type { Instance } from "../../instance/paths.ts";
import { settingsOf } from "../instance.ts";

const known = new Map<string, Machines>();

/** The machines of an instance; one object for the run of this program, which keeps its links. */
export async function machinesOf(instance: Instance): Promise<Machines> {
  const before = known.get(instance.httpSocket);
  if (before !== undefined) return before;
  const { values } = await settingsOf(instance);
  const asks = process.stdin.isTTY && process.stderr.isTTY;
  const machines = new Machines({
    instance,
    ssh: { words: values.ssh_command.split(" "), batch: !asks },
    ...(asks ? { install: async (...missing) => (await import("./install-there.ts")).installThere(...missing) } : {}),
  });
  known.set(instance.httpSocket, machines);
  return machines;
}

/** The link to a machine that was added, or to an address. @throws WshError machine_not_found, invalid_address */
export async function linkOf(instance: Instance, machine: string): Promise<Link> {
  return (await machinesOf(instance)).linkOf(machine);
}
