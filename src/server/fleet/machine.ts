/**
 * This machine as a member of its fleet: it announces its presence, and executes permitted requests. It sends a
 * heartbeat every few seconds and on changes; its list has a number (`rev`) that grows with every change, so that
 * others can cache the list until then.
 */
import { FleetConnection, type FleetIdentity, type FleetMessage } from "../../cluster/fleet/connection.ts";
import type { RememberedMember } from "../../cluster/fleet/remembered-members.ts";
import type { CallContext } from "../../operations/call.ts";
import { intervals } from "../../platform/intervals.ts";
import type { LifecycleEvent } from "../../protocol/events.ts";
import { MACHINES_BUCKET } from "../../protocol/fleet.ts";
import type { Beat } from "../../protocol/fleet-messages.ts";
import {
  beatSubject,
  eventSubject,
  requestsTo,
  SERVICE,
  serviceSubject,
  streamsTo,
} from "../../protocol/fleet-subjects.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { ASKING_HEADER } from "../../protocol/requests.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { VERSION } from "../../protocol/version.ts";
import type { PlacementReport } from "../machines/placement-report.ts";
import type { SessionRelay } from "../machines/session-relay.ts";
import { FleetRequestsHere, type FleetRequestsOptions } from "./requests.ts";
import { FleetStreams } from "./streams.ts";

/** Delay from a change to its heartbeat, and shortest interval between two heartbeats, in ms. */
const TELL_MS = 30;
const APART_MS = 200;
/** Delay from a change to the write of this machine's remembered state, in ms: it is written completely. */
const REMEMBER_MS = 2_000;
/** Maximum tags of a machine: a heartbeat is small. */
const MAX_TAGS = 32;
/** Largest list that is remembered outside of this machine, in bytes. */
const MAX_REMEMBERED_BYTES = 256 * 1024;

interface FleetMachineOptions {
  readonly boot: string;
  readonly hostname: string;
  readonly standing: () => PlacementReport;
  /** Whether the list is constant until the next report. */
  readonly isSettled: () => boolean;
  readonly list: () => Promise<readonly SessionInfo[]>;
  readonly called: FleetRequestsOptions["called"];
  readonly refused: FleetRequestsOptions["refused"];
  readonly cancel: FleetRequestsOptions["cancel"];
  /** A caller with a pending request is still waiting. */
  readonly heard: (asking: string) => void;
  readonly stream: (target: string, context: CallContext) => Promise<SessionRelay>;
  readonly log: (text: string, details: Readonly<Record<string, unknown>>) => void;
}

export class FleetMachine {
  private readonly connection: FleetConnection;
  private readonly requests: FleetRequestsHere;
  private readonly streams: FleetStreams;
  private rev = 1;
  private way = 0;
  private events = 0;
  private lastHeartbeat: { readonly settled: boolean; readonly at: number } = { settled: false, at: 0 };
  private telling: Timer | null = null;
  private beating: Timer | null = null;
  private remembering: Timer | null = null;

  constructor(
    readonly identity: FleetIdentity,
    private readonly options: FleetMachineOptions,
  ) {
    const { boot, called, refused, cancel, stream, log } = options;
    this.connection = new FleetConnection(identity, {
      up: () => this.up(),
      down: () => this.down(),
      refused: (error) => log("the fleet's servers refuse something", { error: error.message }),
    });
    const { connection } = this;
    this.requests = new FleetRequestsHere({ connection, boot, called, refused, cancel });
    this.streams = new FleetStreams({ connection, boot, stream });
    connection.subscribe(requestsTo(identity.user), (message) => this.requests.received(message));
    connection.subscribe(streamsTo(identity.user), (message) => this.streams.received(message));
    for (const verb of ["PING", "INFO"] as const) {
      for (const subject of [serviceSubject(verb), serviceSubject(verb, identity.user)]) {
        connection.subscribe(subject, (message) => this.answerProbe(verb, message));
      }
    }
  }

  /** See FleetConnection. */
  get problem(): string | null {
    return this.connection.problem;
  }

  /** The list has changed. @param isNews whether the change matters to occasional readers of the list */
  changed(isNews: boolean): void {
    this.rev++;
    if (isNews) this.remembering ??= setTimeout(() => void this.remember(), REMEMBER_MS);
    if (isNews || this.lastHeartbeat.settled) this.tell();
  }

  /** Publishes an event of a session, numbered, so that listeners notice missed ones. */
  happened({ event, params }: LifecycleEvent): void {
    const { boot } = this.options;
    this.connection.publish(
      eventSubject(this.identity.user),
      JSON.stringify({ boot, seq: ++this.events, event, params }),
    );
  }

  async close(): Promise<void> {
    for (const timer of [this.telling, this.beating, this.remembering]) clearTimeout(timer ?? undefined);
    this.beat(true);
    await this.connection.flush();
    await this.connection.close();
  }

  private up(): void {
    this.options.log("connected to the fleet", { machine: this.identity.user });
    this.way++;
    this.beat();
    void this.remember();
  }

  private down(): void {
    this.options.log("the connection to the fleet is lost", { error: this.connection.error?.message });
    this.requests.lost();
    this.streams.lost();
  }

  private tell(): void {
    const since = performance.now() - this.lastHeartbeat.at;
    this.telling ??= setTimeout(() => this.beat(), Math.max(TELL_MS, APART_MS - since));
  }

  private beat(leaving = false): void {
    clearTimeout(this.telling ?? undefined);
    this.telling = null;
    clearTimeout(this.beating ?? undefined);
    // Up to a tenth earlier, so that a fleet's heartbeats do not coincide.
    if (!leaving) this.beating = setTimeout(() => this.beat(), intervals.fleetBeat * (1 - Math.random() / 10));
    const beat = this.now();
    this.lastHeartbeat = { settled: beat.settled, at: performance.now() };
    const message = leaving ? { ...beat, leaving } : beat;
    this.connection.publish(beatSubject(this.identity.user), JSON.stringify(message));
  }

  private now(): Beat {
    const { boot, hostname, standing, isSettled } = this.options;
    const { sessions, load, tags, accept } = standing();
    return {
      boot,
      rev: this.rev,
      way: this.way,
      settled: isSettled(),
      wsh: PROTOCOL_VERSION,
      version: VERSION,
      hostname,
      at: Date.now(),
      sessions,
      load,
      tags: [...new Set([...this.identity.tags, ...tags])].slice(0, MAX_TAGS),
      accept,
    };
  }

  /** NATS's service protocol; wsh processes use the heartbeat instead, which only this machine can send. */
  private answerProbe(verb: "PING" | "INFO", { reply, header }: FleetMessage): void {
    this.options.heard(header(ASKING_HEADER));
    if (verb === "PING") this.tell();
    if (reply === undefined || !/^_INBOX\.[A-Za-z0-9_-]{1,64}\.\$all\./.test(reply)) return;
    const { boot, hostname } = this.options;
    const own = { name: SERVICE, id: this.identity.user, version: VERSION, metadata: { boot, hostname } };
    const answer =
      verb === "PING"
        ? { type: "io.nats.micro.v1.ping_response", ...own }
        : { type: "io.nats.micro.v1.info_response", ...own, description: "sessions of wsh", endpoints: [] };
    this.connection.publish(reply, JSON.stringify(answer));
  }

  private async remember(): Promise<void> {
    clearTimeout(this.remembering ?? undefined);
    this.remembering = null;
    const sessions = [...(await this.options.list())];
    const now = Date.now();
    const value: RememberedMember = { beat: this.now(), heard_at: now, sessions: { at: now, sessions } };
    const text = JSON.stringify(value);
    const kept = Buffer.byteLength(text) <= MAX_REMEMBERED_BYTES ? text : JSON.stringify({ ...value, sessions: null });
    this.connection.publish(`$KV.${MACHINES_BUCKET}.${this.identity.user}`, kept);
  }
}
