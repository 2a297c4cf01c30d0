/**
 * Sessions of the added machines, for lists. All machines are asked at once; one that does not answer in time delays
 * nobody, and its sessions stay listed as they were last known, with the time of that (`as_of`): a session never
 * vanishes because the way to it did.
 */
import { orUntil } from "../../base/deadline.ts";
import { addressedSession } from "../../cluster/addressed.ts";
import { keepKnown, type LastKnown, lastKnown } from "../../cluster/last-known.ts";
import type { Link } from "../../cluster/link.ts";
import type { Machines } from "../../cluster/machines.ts";
import type { Instance } from "../../instance/paths.ts";
import type { CallContext } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ServerEntry } from "../../protocol/machines.ts";
import type { SessionInfo } from "../../protocol/session.ts";

/** Longest wait of a list for another machine, in ms. */
const LIST_PATIENCE_MS = 1_000;
/** Longest wait for a machine's first answer, in ms: with a login by ssh and the start of a server there. */
const FIRST_PATIENCE_MS = 15_000;

export class FarSessions {
  private readonly known = new Map<string, LastKnown>();
  private readonly asking = new Map<string, Promise<void>>();

  constructor(
    private readonly instance: Instance,
    private readonly machines: Machines,
  ) {}

  /** Sessions of every added machine, named as this machine's callers name them, ended ones too. */
  async list({ caller }: Pick<CallContext, "caller">): Promise<SessionInfo[]> {
    const names = this.machines.all.map(({ name }) => name);
    for (const name of [...this.known.keys()]) if (!names.includes(name)) this.known.delete(name);
    const lists = await Promise.all(names.map((name) => this.of(name, caller)));
    return lists.flat();
  }

  /** A machine as `/servers` lists it. @param patienceMs longest wait for its answer; 0: as last known */
  async entry(name: string, caller: CallContext["caller"], patienceMs: number): Promise<ServerEntry> {
    const machine = this.machines.all.find((each) => each.name === name);
    if (machine === undefined) throw new WshError("server_not_found", `no server '${name}'`);
    const link = this.machines.link(name);
    if (patienceMs > 0) await orUntil(this.ask(link, caller), { ms: patienceMs }, () => {});
    const { health, hello, answeredAt, error } = link.state;
    const known = this.lastOf(name);
    return {
      hostname: name,
      address: machine.address,
      health,
      role: "remote",
      sessions: known?.sessions.filter(({ running }) => running).length ?? 0,
      server_id: hello?.server_id ?? "",
      ...(hello === null ? {} : { version: hello.version }),
      ...(error === null ? {} : { error }),
      ...(answeredAt === null ? {} : { as_of: answeredAt }),
    };
  }

  /** Every added machine. */
  entries(caller: CallContext["caller"]): Promise<ServerEntry[]> {
    return Promise.all(this.machines.all.map(({ name }) => this.entry(name, caller, LIST_PATIENCE_MS)));
  }

  /** One machine after it was asked as long as a first answer takes. */
  first(name: string, caller: CallContext["caller"]): Promise<ServerEntry> {
    return this.entry(name, caller, FIRST_PATIENCE_MS);
  }

  private async of(name: string, caller: CallContext["caller"]): Promise<SessionInfo[]> {
    const began = Date.now();
    const link = this.machines.link(name);
    await orUntil(this.ask(link, caller), { ms: LIST_PATIENCE_MS }, () => {});
    const known = this.lastOf(name);
    if (known === null) return [];
    const isCurrent = known.at >= began;
    return known.sessions.map((info) => ({
      ...addressedSession(name, info),
      ...(isCurrent ? {} : { as_of: known.at, state: "unresponsive" as const }),
    }));
  }

  private lastOf(name: string): LastKnown | null {
    return this.known.get(name) ?? lastKnown(this.instance, name);
  }

  /** Asks once at a time; a failure is the link's state. */
  private ask(link: Link, caller: CallContext["caller"]): Promise<void> {
    const { machine: name } = link;
    const asking =
      this.asking.get(name) ??
      link
        .call("sessions.list", { all: true, server: "local" }, { caller })
        .then(
          (sessions) => {
            this.known.set(name, { sessions, at: Date.now() });
            keepKnown(this.instance, name, sessions);
          },
          () => {},
        )
        .finally(() => this.asking.delete(name));
    this.asking.set(name, asking);
    return asking;
  }
}
