/**
 * The fleet as the server of a person or a program sees it: its machines, a link to each, their lists. Once connected,
 * it asks every machine for a heartbeat; remembered state represents those that do not answer.
 */

import * as v from "valibot";
import type { Instance } from "../../instance/paths.ts";
import { BeatSchema } from "../../protocol/fleet-messages.ts";
import { everyBeat, parseBeatSubject, serviceSubject } from "../../protocol/fleet-subjects.ts";
import type { Candidate } from "../placement.ts";
import { FleetConnection, type FleetIdentity, type FleetMessage } from "./connection.ts";
import { Members } from "./members.ts";
import { NatsLink } from "./nats-link.ts";
import { RememberedMembers } from "./remembered-members.ts";
import { FleetRequests } from "./requests.ts";
import type { StreamParts } from "./stream-pipe.ts";

/** Time without a new machine after which all are assumed to have answered, in ms. */
const QUIET_MS = 150;
/** Longest wait of the first list for the machines, in ms. */
const FILL_MS = 2_000;
/** Largest heartbeat that is read, in bytes. */
const MAX_BEAT_BYTES = 16 * 1024;
const BeatTextSchema = v.pipe(v.string(), v.parseJson(), BeatSchema);

export class FleetHub {
  readonly members: Members;
  private readonly connection: FleetConnection;
  private readonly requests: FleetRequests;
  private readonly remembered: RememberedMembers;
  private readonly streams: StreamParts["streams"] = new Map();
  private readonly links = new Map<string, NatsLink>();
  private readonly allHeard = Promise.withResolvers<void>();
  private quietTimer: Timer | null = null;
  private readonly writeTimer: Timer;

  constructor(
    readonly identity: FleetIdentity,
    instance: Instance,
    private readonly log: (text: string, details: Readonly<Record<string, unknown>>) => void,
  ) {
    this.members = new Members({
      now: () => performance.now(),
      isUp: () => this.connection.isUp,
      isRejected: () => this.connection.isRejected,
      leaving: (machine) => this.loseStreams(machine),
      reconnected: (machine) => {
        this.requests.connectionLost(machine);
        this.loseStreams(machine);
      },
    });
    this.connection = new FleetConnection(identity, {
      up: () => this.connected(),
      down: () => this.disconnected(),
      refused: (error, subject) => {
        if (subject !== null) this.requests.denied(subject);
        this.log("the fleet's servers refuse something", { error: error.message });
      },
    });
    this.requests = new FleetRequests(this.connection);
    this.remembered = new RememberedMembers(instance, this.members);
    this.connection.subscribe(everyBeat, (message) => this.beat(message));
    this.writeTimer = setInterval(() => this.remembered.writeChanges(), FILL_MS);
    this.writeTimer.unref();
  }

  /** Every known machine, by name. */
  get candidates(): Candidate[] {
    return this.members.names.map((name) => this.member(name));
  }

  member(name: string): Candidate {
    const beat = this.members.beatOf(name);
    return {
      name,
      health: this.members.healthOf(name),
      tags: beat?.tags ?? [],
      load: beat?.load ?? 0,
      sessions: beat?.sessions ?? 0,
      accept: beat?.accept ?? "none",
    };
  }

  /** See FleetConnection. */
  get problem(): string | null {
    return this.connection.problem;
  }

  /** Null for an unknown machine. */
  link(name: string): NatsLink | null {
    if (!this.members.has(name)) return null;
    const existing = this.links.get(name);
    if (existing !== undefined) return existing;
    const { connection, requests, members, streams } = this;
    const made = new NatsLink(name, { connection, requests, members, streams });
    this.links.set(name, made);
    return made;
  }

  /** Waits until the present machines have answered, or until FILL_MS. */
  async ready(): Promise<void> {
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, FILL_MS);
    await Promise.race([this.allHeard.promise, patience.promise]);
    clearTimeout(timer);
  }

  /** Forgets an absent machine; its next heartbeat makes it known again. */
  forget(name: string): void {
    this.members.forget(name);
    this.links.delete(name);
    this.connection.publish(`$KV.wsh_machines.${name}`, "", { headers: { "KV-Operation": "DEL" } });
  }

  async close(): Promise<void> {
    clearInterval(this.writeTimer);
    clearTimeout(this.quietTimer ?? undefined);
    this.remembered.stop();
    await this.connection.close();
  }

  private connected(): void {
    const { identity, connection, requests } = this;
    this.log("connected to the fleet", { user: identity.user, role: identity.role });
    // Machines answer with heartbeats, since only those are authentic.
    connection.publish(serviceSubject("PING"), "");
    this.restartQuietTimer();
    void this.remembered.readBucket(requests, identity.role === "admin");
  }

  private disconnected(): void {
    this.log("the connection to the fleet is lost", { error: this.connection.error?.message });
    this.requests.connectionLost();
    this.loseStreams(null);
  }

  /** @param machine null: those of every machine */
  private loseStreams(machine: string | null): void {
    for (const [lose, streamMachine] of [...this.streams]) if (machine === null || streamMachine === machine) lose();
  }

  private beat({ subject, data }: FleetMessage): void {
    const machine = parseBeatSubject(subject);
    if (machine === null || data.length > MAX_BEAT_BYTES) return;
    const beat = v.safeParse(BeatTextSchema, new TextDecoder().decode(data));
    if (!beat.success) return;
    const isNew = !this.members.has(machine);
    this.members.heartbeatReceived(machine, beat.output);
    if (isNew) this.restartQuietTimer();
  }

  private restartQuietTimer(): void {
    clearTimeout(this.quietTimer ?? undefined);
    this.quietTimer = setTimeout(this.allHeard.resolve, QUIET_MS);
  }
}
