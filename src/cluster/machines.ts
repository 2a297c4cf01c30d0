/**
 * The other machines that this process knows: added ones (added-machines.ts), each with its link, made at the
 * first need and kept, and those of the fleet, which appear without being added. An added one takes precedence
 * over one of the fleet with the same name. The file is read again when it has changed, so that command line and
 * server agree; a link whose address has changed is closed.
 */
import type { Instance } from "../instance/paths.ts";
import type { ParsedInput } from "../operations/table.ts";
import { defined } from "../protocol/defined.ts";
import { WshError } from "../protocol/errors.ts";
import { type Address, isAddress, localMachine, nameFrom, parseAddress } from "../protocol/machines.ts";
import { checkMachineName } from "../protocol/names.ts";
import {
  forgetMachine,
  machinesStamp,
  type RememberedMachine,
  readMachines,
  rememberMachine,
} from "./added-machines.ts";
import type { FleetHub } from "./fleet/hub.ts";
import { HttpLink } from "./http-link.ts";
import { deleteLastKnown } from "./last-known.ts";
import type { Link } from "./link.ts";
import type { SshProgram } from "./ssh/command.ts";
import { type SshOptions, SshTransport } from "./ssh/ssh-transport.ts";
import { TcpTransport } from "./tcp-transport.ts";

interface MachinesOptions {
  readonly instance: Instance;
  readonly ssh: SshProgram;
  readonly person?: SshOptions["person"];
}

/** The part of a fleet that is used here. */
export type Fleet = Pick<FleetHub, "link" | "member" | "members" | "forget" | "ready" | "problem">;

interface MachineLink {
  readonly machine: RememberedMachine;
  readonly link: Link;
}

export class Machines {
  private readonly links = new Map<string, MachineLink>();
  private stamp: string | null = null;
  private remembered: readonly RememberedMachine[] = [];
  /** Connection to its fleet; null: this server has none. */
  fleet: Fleet | null = null;

  constructor(private readonly options: MachinesOptions) {}

  /** The added machines, by name. */
  get addedMachines(): readonly RememberedMachine[] {
    const stamp = machinesStamp(this.options.instance);
    if (stamp !== this.stamp) {
      this.remembered = stamp === "" ? [] : readMachines(this.options.instance);
      this.stamp = stamp;
      for (const [name, { machine, link }] of this.links) {
        if (this.remembered.some((each) => isSame(each, machine))) continue;
        this.links.delete(name);
        void link.close();
      }
    }
    return this.remembered;
  }

  /** Machines of the fleet, by name, except those with the name of an added one. */
  get ofFleet(): readonly string[] {
    const { fleet } = this;
    if (fleet === null) return [];
    const { addedMachines } = this;
    if (addedMachines.length === 0) return fleet.members.names;
    const added = new Set(addedMachines.map(({ name }) => name));
    return fleet.members.names.filter((name) => !added.has(name));
  }

  /** All other machines: the added ones, then those of the fleet. */
  get names(): readonly string[] {
    return [...this.addedMachines.map(({ name }) => name), ...this.ofFleet];
  }

  isOfFleet(name: string): boolean {
    return this.fleet?.members.has(name) === true && !this.addedMachines.some((each) => each.name === name);
  }

  /** @throws WshError machine_not_found */
  link(name: string): Link {
    const machine = this.addedMachines.find((each) => each.name === name);
    if (machine === undefined) {
      const link = this.fleet?.link(name) ?? null;
      if (link !== null) return link;
      throw new WshError("machine_not_found", `no machine '${name}'`);
    }
    const kept = this.links.get(name);
    if (kept !== undefined) return kept.link;
    const link = this.linkTo(machine);
    this.links.set(name, { machine, link });
    return link;
  }

  /**
   * A link to a machine by its name, or to an address that need not have been added. @throws WshError machine_not_found
   */
  linkOf(machine: string): Link {
    if (!isAddress(machine)) return this.link(machine);
    parseAddress(machine);
    const machineEntry = this.addedMachines.find(({ address }) => address === machine);
    return machineEntry === undefined ? this.linkTo({ name: machine, address: machine }) : this.link(machineEntry.name);
  }

  /**
   * Adds a machine without contacting it.
   * @param own this server's name, which no other machine gets
   * @throws WshError invalid_address, invalid_machine_name, machine_conflict, invalid_request
   */
  async add({ address, name, token, ca }: ParsedInput<"servers.add">, own: string): Promise<Link> {
    const parsed = parseAddress(address);
    const machineName = name === undefined ? nameFrom(parsed) : checkMachineName(name);
    if (machineName === own || machineName === localMachine) {
      throw new WshError("machine_conflict", `'${machineName}' is this server's own name`, {
        hint: "Give another name.",
      });
    }
    if (parsed.kind === "ssh" && (token !== undefined || ca !== undefined)) {
      throw new WshError("invalid_request", "ssh addresses cannot have a token or certificates", { field: "token" });
    }
    const machine: RememberedMachine = {
      name: machineName,
      address,
      ...defined({ token, ca }),
    };
    await rememberMachine(this.options.instance, machine);
    return this.link(machineName);
  }

  /** Removes a machine, and ends the ssh connection to it; its sessions continue. @throws WshError machine_not_found */
  async remove(name: string): Promise<void> {
    if (this.isOfFleet(name)) {
      this.requireGone(name);
      this.fleet?.forget(name);
      return;
    }
    const address = this.addedMachines.find((each) => each.name === name)?.address;
    await forgetMachine(this.options.instance, name);
    deleteLastKnown(this.options.instance, name);
    if (this.addedMachines.every((each) => each.address !== address)) await this.endConnection(address);
  }

  private async endConnection(address: string | undefined): Promise<void> {
    const parsed = address === undefined ? null : parseAddress(address);
    const { instance, ssh } = this.options;
    if (parsed?.kind === "ssh") await new SshTransport(parsed, { instance, program: ssh }).end();
  }

  /** Closes every link, so that the next request reconnects. */
  async reload(): Promise<void> {
    this.stamp = null;
    const links = [...this.links.values()];
    this.links.clear();
    await Promise.all(links.map(({ link }) => link.close()));
  }

  /** A present machine would return with its next heartbeat. @throws WshError machine_conflict */
  private requireGone(name: string): void {
    const health = this.fleet?.members.healthOf(name);
    if (health === "unreachable" || health === "rejected") return;
    throw new WshError("machine_conflict", `machine '${name}' is in the fleet and ${health}`, {
      hint: "Only a disconnected machine can be forgotten. Stop its server, or revoke its credentials.",
    });
  }

  private linkTo({ name, address, token, ca }: RememberedMachine): Link {
    const parsed: Address = parseAddress(address);
    const { instance, ssh, person } = this.options;
    const way =
      parsed.kind === "ssh"
        ? new SshTransport(parsed, { instance, program: ssh, ...defined({ person }) })
        : new TcpTransport(parsed, token ?? null, ca ?? null);
    return new HttpLink(name, way);
  }
}

function isSame(a: RememberedMachine, b: RememberedMachine): boolean {
  return a.name === b.name && a.address === b.address && a.token === b.token && a.ca === b.ca;
}
