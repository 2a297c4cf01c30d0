/**
 * Sessions of the other machines, for lists. All machines are asked at once, those of the fleet only when their list has
 * changed; one that does not answer in time delays nobody, and its sessions stay listed as they were last known, with the
 * time of that (`as_of`): a session never vanishes because the way to it did.
 */
import { orUntil, pause } from "../../base/deadline.ts";
import { addressedSession } from "../../cluster/addressed.ts";
import type { MemberSessions } from "../../cluster/fleet/members.ts";
import { keepKnown, type LastKnown, lastKnown } from "../../cluster/last-known.ts";
import type { Link } from "../../cluster/link.ts";
import type { Fleet, Machines } from "../../cluster/machines.ts";
import type { Instance } from "../../instance/paths.ts";
import type { CallContext } from "../../operations/call.ts";
import { WshError } from "../../protocol/errors.ts";
import { fleetAddress, type ServerEntry } from "../../protocol/machines.ts";
import { countsOf, type SessionInfo } from "../../protocol/session.ts";

/** Longest wait of a list for another machine, in ms. */
const LIST_PATIENCE_MS = 1_000;
/** Longest wait for a machine's first answer, in ms: with a login by ssh and the start of a server there. */
const FIRST_PATIENCE_MS = 15_000;

/** Most machines of a fleet that are asked for their sessions so that a list of machines counts those that need input. */
const MAX_COUNTED = 256;

export class FarSessions {
  private readonly known = new Map<string, LastKnown>();
  /** By machine; those of the fleet with a slash in front, which no name has. */
  private readonly asking = new Map<string, Promise<void>>();
  private readonly namedLists = new WeakMap<MemberSessions, readonly SessionInfo[]>();

  constructor(
    private readonly instance: Instance,
    private readonly machines: Machines,
  ) {}

  /**
   * Sessions of every added machine, named as this machine's callers name them, ended ones too.
   * @param withFleet those of the fleet's machines, too
   */
  async list({ caller }: Pick<CallContext, "caller">, withFleet: boolean): Promise<SessionInfo[]> {
    const names = this.machines.all.map(({ name }) => name);
    for (const name of [...this.known.keys()]) if (!names.includes(name)) this.known.delete(name);
    if (withFleet) await this.machines.fleet?.ready();
    const far = withFleet ? this.machines.ofFleet : [];
    const now = this.machines.fleet?.members.now ?? 0;
    // One timer for all of them, and only where one has to be asked.
    const over = new AbortController();
    let late: Promise<void> | null = null;
    const patience = (): Promise<void> => {
      late ??= pause(LIST_PATIENCE_MS, over.signal);
      return late;
    };
    try {
      const lists = await Promise.all([
        ...names.map((name) => this.of(name, caller)),
        ...far.map((name) => this.ofMember(name, caller, now, patience)),
      ]);
      return lists.flat();
    } finally {
      over.abort();
    }
  }

  /** A machine as `/servers` lists it. @param patienceMs longest wait for its answer; 0: as last known */
  async entry(name: string, caller: CallContext["caller"], patienceMs: number): Promise<ServerEntry> {
    const added = this.machines.all.find((each) => each.name === name);
    if (added === undefined && this.machines.fleet?.members.has(name) === true)
      return this.member(name, patienceMs, caller);
    if (added === undefined) throw new WshError("server_not_found", `no server '${name}'`);
    const link = this.machines.link(name);
    if (patienceMs > 0) await orUntil(this.ask(link, caller), { ms: patienceMs }, () => {});
    const { health, hello, answeredAt, error } = link.state;
    const known = this.lastOf(name);
    return {
      hostname: name,
      address: added.address,
      health,
      role: "remote",
      ...(known === null ? { sessions: 0 } : countsOf(known.sessions)),
      server_id: hello?.server_id ?? "",
      ...(hello === null ? {} : { version: hello.version }),
      ...(error === null ? {} : { error }),
      ...(answeredAt === null ? {} : { as_of: answeredAt }),
    };
  }

  /** Every machine but this one. */
  async entries(caller: CallContext["caller"]): Promise<ServerEntry[]> {
    await this.machines.fleet?.ready();
    return Promise.all([
      ...this.machines.all.map(({ name }) => this.entry(name, caller, LIST_PATIENCE_MS)),
      ...this.members(caller),
    ]);
  }

  private members(caller: CallContext["caller"]): Promise<ServerEntry>[] {
    const { ofFleet } = this.machines;
    const counted = ofFleet.length > MAX_COUNTED ? null : caller;
    return ofFleet.map((name) => this.member(name, LIST_PATIENCE_MS, counted));
  }

  /**
   * A machine of the fleet, by its beats.
   * @param patienceMs over LIST_PATIENCE_MS: one that is not healthy is asked
   * @param counted who has its sessions asked for, where they are not known; null: nobody
   */
  private async member(name: string, patienceMs: number, counted: CallContext["caller"] | null): Promise<ServerEntry> {
    const { members } = this.fleet;
    const link = this.memberLink(name);
    if (patienceMs > LIST_PATIENCE_MS) await link.hello().catch(() => {});
    if (counted !== null && members.currentList(name) === null) {
      await orUntil(this.askMember(name, counted), { ms: LIST_PATIENCE_MS }, () => {});
    }
    const listed = members.currentList(name) ?? members.lastList(name);
    const { health, hello, answeredAt, error } = link.state;
    const { tags = [], sessions = 0 } = members.beatOf(name) ?? {};
    return {
      hostname: name,
      address: fleetAddress,
      health,
      role: "remote",
      sessions,
      ...(listed === null ? {} : { needs_input: countsOf(listed.sessions).needs_input }),
      server_id: hello?.server_id ?? "",
      ...(hello === null ? {} : { version: hello.version }),
      ...(error === null ? {} : { error }),
      ...(answeredAt === null ? {} : { as_of: answeredAt }),
      ...(tags.length === 0 ? {} : { tags }),
    };
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

  private get fleet(): Fleet {
    const { fleet } = this.machines;
    if (fleet === null) throw new WshError("machine_not_found", "this server is in no fleet");
    return fleet;
  }

  /** Without a look at the file of those that were added: a list does this for each of many thousands. */
  private memberLink(name: string): Link {
    const link = this.fleet.link(name);
    if (link === null) throw new WshError("machine_not_found", `no machine '${name}'`);
    return link;
  }

  /** As `of`, from the cache while that holds. */
  private async ofMember(
    name: string,
    caller: CallContext["caller"],
    now: number,
    patience: () => Promise<void>,
  ): Promise<SessionInfo[]> {
    const { members } = this.fleet;
    let listed = members.currentList(name, now);
    let isCurrent = listed !== null;
    if (listed === null) {
      await Promise.race([this.askMember(name, caller), patience()]);
      listed = members.lastList(name);
      isCurrent = members.healthOf(name) === "healthy" && members.beatOf(name)?.boot === listed?.boot;
    }
    if (listed === null) return [];
    const { at } = listed;
    const named = this.named(name, listed);
    if (!isCurrent) return named.map((info) => ({ ...info, as_of: at, state: "unresponsive" as const }));
    const ms = Math.max(0, Date.now() - at);
    return named.map((info) => ({
      ...info,
      idle_ms: info.idle_ms + ms,
      last_activity_ms: info.last_activity_ms + ms,
    }));
  }

  /** A list as callers here name what is in it: made once for each. */
  private named(machine: string, listed: MemberSessions): readonly SessionInfo[] {
    const made = this.namedLists.get(listed) ?? listed.sessions.map((info) => addressedSession(machine, info));
    this.namedLists.set(listed, made);
    return made;
  }

  /** Asks once at a time; one that does not answer is the link's state. */
  private askMember(name: string, caller: CallContext["caller"]): Promise<void> {
    const { members } = this.fleet;
    const health = members.healthOf(name);
    if (health !== "healthy" && health !== "stale" && health !== "connecting") return Promise.resolve();
    const beat = members.beatOf(name);
    const asking =
      this.asking.get(`/${name}`) ??
      this.memberLink(name)
        .call("sessions.list", { all: true, server: "local" }, { caller })
        .then(
          (sessions) => {
            // What changed while it answered is newer than this number.
            const { boot = "", rev = 0 } = beat ?? {};
            members.keepList(name, { sessions, at: Date.now(), boot, rev });
          },
          () => {},
        )
        .finally(() => this.asking.delete(`/${name}`));
    this.asking.set(`/${name}`, asking);
    return asking;
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
