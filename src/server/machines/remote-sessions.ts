/**
 * Sessions of the other machines, for lists. All machines are asked at once, those of the fleet only when their list
 * has changed; one that does not answer in time delays nothing, and its sessions stay listed in their last known state,
 * with its time (`as_of`): a session never disappears because of a lost connection.
 */
import { orUntil } from "../../base/deadline.ts";
import { type MemberSessions, memberSessions } from "../../cluster/fleet/members.ts";
import type { NatsLink } from "../../cluster/fleet/nats-link.ts";
import { type LastKnown, readLastKnown, writeLastKnown } from "../../cluster/last-known.ts";
import type { Link } from "../../cluster/link.ts";
import { addressedSession } from "../../cluster/machine-prefix.ts";
import type { Fleet, Machines } from "../../cluster/machines.ts";
import { type ListForm, listedSession } from "../../cluster/session-list.ts";
import type { Instance } from "../../instance/paths.ts";
import type { CallContext } from "../../operations/call.ts";
import { present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { fleetAddress, type ServerEntry } from "../../protocol/machines.ts";
import { countsOf, type SessionInfo } from "../../protocol/session.ts";

/** Longest wait of a list for another machine, in ms. */
const LIST_PATIENCE_MS = 1_000;
/** Longest wait for a machine's first answer, in ms: with a login by ssh and the start of a server there. */
const FIRST_PATIENCE_MS = 15_000;

/**
 * Maximum machines of a fleet that are asked for sessions when a list of machines needs the number of those that need
 * input.
 */
const MAX_COUNTED = 256;

export class RemoteSessions {
  private readonly lastKnown = new Map<string, LastKnown>();
  /** Pending requests by machine; machines of the fleet with a leading slash, which no name has. */
  private readonly pendingRequests = new Map<string, Promise<void>>();

  constructor(
    private readonly instance: Instance,
    private readonly machines: Machines,
  ) {}

  /**
   * Sessions of every added machine, with the names for this machine's callers.
   * @param form form of the list's elements
   * @param withFleet whether to include the fleet's machines
   * @param isWanted whether a last known session is listed
   */
  async list<T>(
    { caller }: Pick<CallContext, "caller">,
    withFleet: boolean,
    form: ListForm<T>,
    isWanted: (info: SessionInfo) => boolean,
  ): Promise<T[]> {
    const names = this.machines.addedMachines.map(({ name }) => name);
    for (const name of [...this.lastKnown.keys()]) if (!names.includes(name)) this.lastKnown.delete(name);
    if (withFleet) await this.machines.fleet?.ready();
    const ofFleet = withFleet ? this.fleetSessions(caller, form, isWanted) : [];
    const lists = await Promise.all([...names.map((name) => this.requestOf(name, caller, form, isWanted)), ofFleet]);
    return lists.flat() as T[];
  }

  /** A machine's entry for `/servers`. @param patienceMs longest wait for its answer; 0: the last known state */
  async entry(name: string, caller: CallContext["caller"], patienceMs: number): Promise<ServerEntry> {
    const added = this.machines.addedMachines.find((each) => each.name === name);
    if (added === undefined && this.machines.fleet?.members.has(name) === true) {
      if (patienceMs > LIST_PATIENCE_MS)
        await this.memberLink(name)
          .hello()
          .catch(() => {});
      await this.askMembers(this.withOutdatedList([name]), caller);
      return this.member(name, this.fleet.members.now);
    }
    if (added === undefined) throw new WshError("server_not_found", `no server '${name}'`);
    const link = this.machines.link(name);
    if (patienceMs > 0) await orUntil(this.probe(link, caller), { ms: patienceMs }, () => {});
    const { health, hello, answeredAt, error } = link.state;
    const last = this.lastKnownOf(name);
    return {
      hostname: name,
      address: added.address,
      health,
      role: "remote",
      ...(last === null ? { sessions: 0 } : countsOf(last.sessions)),
      server_id: hello?.server_id ?? "",
      ...(hello === null ? {} : { version: hello.version }),
      ...present({ error, as_of: answeredAt }),
    };
  }

  /** Entries of all machines except this one. */
  async entries(caller: CallContext["caller"]): Promise<ServerEntry[]> {
    await this.machines.fleet?.ready();
    const added = this.machines.addedMachines.map(({ name }) => this.entry(name, caller, LIST_PATIENCE_MS));
    const { ofFleet } = this.machines;
    const counted =
      ofFleet.length > 0 && ofFleet.length <= MAX_COUNTED ? this.withOutdatedList(ofFleet) : new Set<string>();
    const [entries] = await Promise.all([Promise.all(added), this.askMembers(counted, caller)]);
    const now = this.machines.fleet?.members.now ?? 0;
    return [...entries, ...this.machines.ofFleet.map((name) => this.member(name, now))];
  }

  /** A machine of the fleet, by its heartbeats and its last list. */
  private member(name: string, now: number): ServerEntry {
    const { members } = this.fleet;
    const listed = members.lastList(name);
    const { health, hello, answeredAt, error } = this.memberLink(name).stateAt(now);
    const { tags = [], sessions = 0 } = members.beatOf(name, now) ?? {};
    const server_id = hello?.server_id ?? "";
    const entry: ServerEntry = { hostname: name, address: fleetAddress, health, role: "remote", sessions, server_id };
    // Set one by one: a list creates thousands of entries.
    if (listed !== null) entry.needs_input = listed.needsInput;
    if (hello !== null) entry.version = hello.version;
    if (error !== null) entry.error = error;
    if (answeredAt !== null) entry.as_of = answeredAt;
    if (tags.length > 0) entry.tags = tags;
    return entry;
  }

  /** The entry of one machine, after waiting for its first answer. */
  firstAnswer(name: string, caller: CallContext["caller"]): Promise<ServerEntry> {
    return this.entry(name, caller, FIRST_PATIENCE_MS);
  }

  private async requestOf<T>(
    name: string,
    caller: CallContext["caller"],
    form: ListForm<T>,
    isWanted: (info: SessionInfo) => boolean,
  ): Promise<T[]> {
    const began = Date.now();
    const link = this.machines.link(name);
    await orUntil(this.probe(link, caller), { ms: LIST_PATIENCE_MS }, () => {});
    const last = this.lastKnownOf(name);
    if (last === null) return [];
    const isCurrent = last.at >= began;
    const listed: T[] = [];
    for (const session of last.sessions) {
      if (!isWanted(session)) continue;
      if (isCurrent) form.add(listed, addressedSession(name, session));
      else form.addLastSeen(listed, listedSession(name, session), last.at);
    }
    return listed;
  }

  private get fleet(): Fleet {
    const { fleet } = this.machines;
    if (fleet === null) throw new WshError("machine_not_found", "this server is not in a fleet");
    return fleet;
  }

  /** Does not check the file of added machines: a list calls this for each of many thousands. */
  private memberLink(name: string): NatsLink {
    const link = this.fleet.link(name);
    if (link === null) throw new WshError("machine_not_found", `no machine '${name}'`);
    return link;
  }

  /** Sessions of the fleet's machines, from the cache while it is valid. */
  private async fleetSessions<T>(
    caller: CallContext["caller"],
    form: ListForm<T>,
    isWanted: (info: SessionInfo) => boolean,
  ): Promise<T[]> {
    const { ofFleet, fleet } = this.machines;
    if (fleet === null) return [];
    const { members } = fleet;
    const outdated = this.withOutdatedList(ofFleet);
    await this.askMembers(outdated, caller);
    const { now } = members;
    const isCurrent = (name: string, { boot }: MemberSessions): boolean =>
      !outdated.has(name) || (members.healthOf(name, now) === "healthy" && members.beatOf(name, now)?.boot === boot);
    const date = Date.now();
    const listed: T[] = [];
    for (const name of ofFleet) {
      const last = members.lastList(name);
      if (last === null) continue;
      const age = isCurrent(name, last) ? Math.max(0, date - last.reportedAt) : null;
      for (const session of last.sessions) {
        if (!isWanted(session.info)) continue;
        if (age === null) form.addLastSeen(listed, session, last.reportedAt);
        else form.addAged(listed, session, age);
      }
    }
    return listed;
  }

  /** Machines whose list must be requested. */
  private withOutdatedList(names: readonly string[]): ReadonlySet<string> {
    const { members } = this.fleet;
    const { now } = members;
    return new Set(names.filter((name) => members.currentList(name, now) === null));
  }

  /** Asks all at once, and waits for them within a list's limit. */
  private async askMembers(names: ReadonlySet<string>, caller: CallContext["caller"]): Promise<void> {
    if (names.size === 0) return;
    const asking = Promise.all([...names].map((name) => this.askMember(name, caller)));
    await orUntil(asking, { ms: LIST_PATIENCE_MS }, () => []);
  }

  /** Only one request at a time; a machine that does not answer shows in the link's state. */
  private askMember(name: string, caller: CallContext["caller"]): Promise<void> {
    const { members } = this.fleet;
    const health = members.healthOf(name);
    if (health !== "healthy" && health !== "stale" && health !== "connecting") return Promise.resolve();
    const beat = members.beatOf(name);
    const request =
      this.pendingRequests.get(`/${name}`) ??
      this.memberLink(name)
        .call("sessions.list", { all: true, server: "local" }, { caller: callerForAll(caller) })
        .then(
          (sessions) => {
            // Changes during the answer get a higher number.
            const { boot = "", rev = 0 } = beat ?? {};
            members.keepList(name, memberSessions(name, sessions, { reportedAt: Date.now(), boot, rev }));
          },
          () => {},
        )
        .finally(() => this.pendingRequests.delete(`/${name}`));
    this.pendingRequests.set(`/${name}`, request);
    return request;
  }

  private lastKnownOf(name: string): LastKnown | null {
    return this.lastKnown.get(name) ?? readLastKnown(this.instance, name);
  }

  /** Only one request at a time; a failure shows in the link's state. */
  private probe(link: Link, caller: CallContext["caller"]): Promise<void> {
    const { machine: name } = link;
    const request =
      this.pendingRequests.get(name) ??
      link
        .call("sessions.list", { all: true, server: "local" }, { caller: callerForAll(caller) })
        .then(
          (sessions) => {
            this.lastKnown.set(name, { sessions, at: Date.now() });
            writeLastKnown(this.instance, name, sessions);
          },
          () => {},
        )
        .finally(() => this.pendingRequests.delete(name));
    this.pendingRequests.set(name, request);
    return request;
  }
}

/** A machine's list is cached for all callers: what an AI agent may not see is removed here. */
function callerForAll({ agent: _, name: __, kind, ...caller }: CallContext["caller"]): CallContext["caller"] {
  return { ...caller, kind: kind === "mcp" ? "http" : kind };
}
