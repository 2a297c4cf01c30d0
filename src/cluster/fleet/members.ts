/**
 * The machines of the fleet by their heartbeats, and their lists of sessions: a disposable cache. A machine is healthy
 * while it sends heartbeats; one missed makes it stale, three unreachable. Two incarnations that send heartbeats
 * concurrently under one name are two machines: `conflict`, until one of them is silent. A restarted machine has one
 * incarnation after the other. A known machine remains listed, with the time of its last heartbeat.
 */
import { intervals } from "../../platform/intervals.ts";
import type { Beat } from "../../protocol/fleet-messages.ts";
import type { MachineHealth } from "../../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { countsOf, type SessionInfo } from "../../protocol/session.ts";
import { type ListedSession, listedSession } from "../session-list.ts";

/** Age of the last heartbeat at which one is missing, and at which three are, in ms. A partition shows within 15 s. */
const STALE_MS = 1.3 * intervals.fleetBeat;
const UNREACHABLE_MS = 2.8 * intervals.fleetBeat;
/** Time by which an older incarnation must outlive the first heartbeat of a newer one to be another machine, in ms. */
const OVERLAP_MS = 500;
const MAX_MEMBERS = 20_000;
/** Maximum incarnations tracked per machine: enough to detect several. */
const MAX_BOOTS = 4;

interface Incarnation {
  readonly name: string;
  readonly firstAt: number;
  lastAt: number;
  beat: Beat;
}

/** A machine's list, created once for all readers. */
export interface MemberSessions {
  readonly sessions: readonly ListedSession[];
  /** Number of sessions that need input. */
  readonly needsInput: number;
  /** JSON of the list as the machine itself names the sessions, for remembering. */
  readonly text: string;
  /** Unix time in ms. */
  readonly reportedAt: number;
  /** Incarnation and revision of the list, which is valid while both are current and the machine reports `settled`. */
  readonly boot: string;
  readonly rev: number;
}

export function memberSessions(
  machine: string,
  sessions: readonly SessionInfo[],
  { reportedAt, boot, rev }: Pick<MemberSessions, "reportedAt" | "boot" | "rev">,
): MemberSessions {
  const listed = sessions.map((info) => listedSession(machine, info));
  const { needs_input: needsInput } = countsOf(sessions);
  return { sessions: listed, needsInput, text: JSON.stringify(sessions), reportedAt, boot, rev };
}

interface Member {
  beat: Beat | null;
  boots: Incarnation[];
  /** Unix time in ms of its last heartbeat; null: none since this process started. */
  heardAt: number | null;
  /** Its clock minus ours, in ms: the greatest of the newest few values, which were delayed least. */
  offsets: number[];
  sessionList: MemberSessions | null;
}

interface MembersOptions {
  /** Monotonic, in ms. */
  readonly now: () => number;
  readonly isUp: () => boolean;
  /** Whether the fleet's servers refuse this process. */
  readonly isRejected: () => boolean;
  /** A machine announces that its server ends. */
  readonly leaving: (machine: string) => void;
  /** A machine has reconnected to the fleet's servers: its messages in transit may be lost. */
  readonly reconnected: (machine: string) => void;
}

export class Members {
  private readonly members = new Map<string, Member>();
  private readonly waiters = new Set<{ machine: string; onHeartbeat: () => void }>();
  /** Names of the members in order; null: to be computed. */
  private ordered: readonly string[] | null = null;
  /** Counts the changes of everything that is remembered. */
  changes = 0;

  constructor(private readonly options: MembersOptions) {}

  get names(): readonly string[] {
    this.ordered ??= [...this.members.keys()].sort();
    return this.ordered;
  }

  /** The time for the questions below. A list asks them about thousands of machines, and reads the clock once. */
  get now(): number {
    return this.options.now();
  }

  has(machine: string): boolean {
    return this.members.has(machine);
  }

  beatOf(machine: string, now = this.now): Beat | null {
    const member = this.members.get(machine);
    return member === undefined ? null : (newest(alive(member, now))?.beat ?? member.beat);
  }

  heardAt(machine: string): number | null {
    return this.members.get(machine)?.heardAt ?? null;
  }

  /** Its clock minus ours, in ms, never more than the actual difference; 0 while unknown. */
  clockAhead(machine: string): number {
    const offsets = this.members.get(machine)?.offsets ?? [];
    return offsets.length === 0 ? 0 : Math.max(...offsets);
  }

  /** The list that is still valid; null: the machine must be asked. */
  currentList(machine: string, now: number): MemberSessions | null {
    const member = this.members.get(machine);
    if (member === undefined || member.sessionList === null) return null;
    const boots = alive(member, now);
    const beat = newest(boots)?.beat ?? member.beat;
    if (beat === null || !beat.settled || member.sessionList.boot !== beat.boot || member.sessionList.rev !== beat.rev)
      return null;
    return this.healthWith(boots, now) === "healthy" ? member.sessionList : null;
  }

  lastList(machine: string): MemberSessions | null {
    return this.members.get(machine)?.sessionList ?? null;
  }

  keepList(machine: string, listed: MemberSessions): void {
    const member = this.members.get(machine);
    if (member === undefined) return;
    member.sessionList = listed;
    this.changes++;
  }

  /** Restores remembered state of a machine without a heartbeat so far. */
  remember(machine: string, beat: Beat | null, listed: MemberSessions | null, heardAt: number | null): void {
    const member = this.members.get(machine);
    if (member === undefined) {
      if (this.members.size < MAX_MEMBERS)
        this.addMember(machine, { beat, boots: [], heardAt, offsets: [], sessionList: listed });
    } else if (listed !== null && (member.sessionList?.reportedAt ?? 0) < listed.reportedAt)
      member.sessionList = listed;
  }

  forget(machine: string): void {
    this.members.delete(machine);
    this.ordered = null;
    this.changes++;
  }

  heartbeatReceived(machine: string, beat: Beat): void {
    const { now } = this;
    const member = this.memberFor(machine);
    if (member === null) return;
    if (beat.leaving === true) {
      member.boots = member.boots.filter(({ name }) => name !== beat.boot);
      if (member.beat?.boot === beat.boot) this.options.leaving(machine);
      return;
    }
    member.boots = alive(member, now);
    const knownBoot = member.boots.find(({ name }) => name === beat.boot);
    const boot: Incarnation = knownBoot ?? { name: beat.boot, firstAt: now, lastAt: now, beat };
    if (knownBoot === undefined && member.boots.length < MAX_BOOTS) member.boots.push(boot);
    boot.lastAt = now;
    boot.beat = beat;
    // The newest incarnation represents the machine; an older one that continues causes a conflict, and its news is
    // ignored.
    if (newest(member.boots) !== boot) return;
    const before = member.beat;
    member.beat = beat;
    member.heardAt = Date.now();
    member.offsets = [...member.offsets.slice(-3), beat.at - Date.now()];
    if (before === null || before.boot !== beat.boot || before.rev !== beat.rev) this.changes++;
    if (before !== null && before.boot !== beat.boot) member.offsets = member.offsets.slice(-1);
    if (before?.boot === beat.boot && before.way !== beat.way) this.options.reconnected(machine);
    for (const waiting of [...this.waiters]) if (waiting.machine === machine) waiting.onHeartbeat();
  }

  /** Messages to the machine have no receiver. */
  markSilent(machine: string): void {
    const member = this.members.get(machine);
    if (member !== undefined) member.boots = [];
  }

  healthOf(machine: string, now = this.now): MachineHealth {
    const member = this.members.get(machine);
    return member === undefined ? "connecting" : this.healthWith(alive(member, now), now);
  }

  private healthWith(boots: readonly Incarnation[], now: number): MachineHealth {
    if (!this.options.isUp()) return this.options.isRejected() ? "rejected" : "unreachable";
    if (overlap(boots)) return "conflict";
    const current = newest(boots);
    if (current === null) return "unreachable";
    if (current.beat.wsh !== PROTOCOL_VERSION) return "version";
    return now - current.lastAt < STALE_MS ? "healthy" : "stale";
  }

  /** Whether that incarnation was heard within so many ms. */
  isAlive(machine: string, boot: string, withinMs: number): boolean {
    const since = this.now - withinMs;
    return this.members.get(machine)?.boots.some(({ name, lastAt }) => name === boot && lastAt >= since) ?? false;
  }

  /** The machine's next heartbeat. @returns whether it came in time */
  async nextHeartbeat(machine: string, patienceMs: number): Promise<boolean> {
    const heard = Promise.withResolvers<boolean>();
    const waiting = { machine, onHeartbeat: () => heard.resolve(true) };
    const timer = setTimeout(() => heard.resolve(false), patienceMs);
    this.waiters.add(waiting);
    try {
      return await heard.promise;
    } finally {
      clearTimeout(timer);
      this.waiters.delete(waiting);
    }
  }

  private addMember(machine: string, member: Member): void {
    this.members.set(machine, member);
    this.ordered = null;
  }

  private memberFor(machine: string): Member | null {
    const member = this.members.get(machine);
    if (member !== undefined) return member;
    if (this.members.size >= MAX_MEMBERS) return null;
    const made: Member = { beat: null, boots: [], heardAt: null, offsets: [], sessionList: null };
    this.addMember(machine, made);
    return made;
  }
}

/** Incarnations that were heard recently: nearly always only one. */
function alive({ boots }: Member, now: number): Incarnation[] {
  const since = now - UNREACHABLE_MS;
  const [first] = boots;
  if (boots.length === 1 && first !== undefined && first.lastAt > since) return boots;
  return boots.every(({ lastAt }) => lastAt > since) ? boots : boots.filter(({ lastAt }) => lastAt > since);
}

/** The one that began last. */
function newest(boots: readonly Incarnation[]): Incarnation | null {
  if (boots.length < 2) return boots[0] ?? null;
  return boots.reduce<Incarnation | null>(
    (last, boot) => (last === null || boot.firstAt > last.firstAt ? boot : last),
    null,
  );
}

/** Whether an older incarnation sends heartbeats after a newer one has begun. */
function overlap(boots: readonly Incarnation[]): boolean {
  if (boots.length < 2) return false;
  return boots.some((older) =>
    boots.some((newer) => newer.firstAt > older.firstAt && older.lastAt >= newer.firstAt + OVERLAP_MS),
  );
}
