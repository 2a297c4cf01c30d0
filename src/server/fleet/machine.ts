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
import type { DialedProcess } from "../../protocol/machines.ts";
import { PROTOCOL_VERSION } from "../../protocol/messages.ts";
import { ASKING_HEADER } from "../../protocol/requests.ts";
import type { SessionInfo } from "../../protocol/session.ts";
import { VERSION } from "../../protocol/version.ts";
import type { PlacementReport } from "../machines/placement-report.ts";
import type { SessionRelay } from "../machines/session-relay.ts";
import { type FleetRequestsOptions, IncomingFleetRequests } from "./requests.ts";
import { FleetStreams } from "./streams.ts";

/** Delay from a change to its heartbeat, and shortest interval between two heartbeats, in ms. */
const CHANGE_DELAY_MS = 30;
const MIN_INTERVAL_MS = 200;
/** Delay from a change to the write of this machine's remembered state, in ms: it is written completely. */
const REMEMBER_MS = 2_000;
/** Maximum tags of a machine: a heartbeat is small. */
const MAX_TAGS = 32;
/** Largest list that is remembered outside of this machine, in bytes. */
const MAX_REMEMBERED_BYTES = 256 * 1024;

interface FleetMachineOptions {
  readonly boot: string;
  readonly hostname: string;
  readonly placementReport: () => PlacementReport;
  /** Whether the list is constant until the next report. */
  readonly isSettled: () => boolean;
  readonly list: () => Promise<readonly SessionInfo[]>;
  readonly handleCall: FleetRequestsOptions["handleCall"];
  readonly recordRefusal: FleetRequestsOptions["recordRefusal"];
  readonly cancel: FleetRequestsOptions["cancel"];
  /** A caller with a pending request is still waiting. */
  readonly callerWaits: (askerId: string) => void;
  readonly openStream: (target: string, process: DialedProcess, context: CallContext) => Promise<SessionRelay>;
  readonly log: (text: string, details: Readonly<Record<string, unknown>>) => void;
}

export class FleetMachine {
  private readonly connection: FleetConnection;
  private readonly requests: IncomingFleetRequests;
  private readonly streams: FleetStreams;
  private rev = 1;
  private connectionCount = 0;
  private publishedEvents = 0;
  private lastHeartbeat: { readonly settled: boolean; readonly at: number } = { settled: false, at: 0 };
  private changeTimer: Timer | null = null;
  private heartbeatTimer: Timer | null = null;
  private rememberTimer: Timer | null = null;

  constructor(
    readonly identity: FleetIdentity,
    private readonly options: FleetMachineOptions,
  ) {
    const { boot, handleCall, recordRefusal, cancel, openStream, log } = options;
    this.connection = new FleetConnection(identity, {
      up: () => this.connected(),
      down: () => this.disconnected(),
      refused: (error) => log("the fleet's servers refuse something", { error: error.message }),
    });
    const { connection } = this;
    this.requests = new IncomingFleetRequests({ connection, boot, handleCall, recordRefusal, cancel });
    this.streams = new FleetStreams({ connection, boot, openStream });
    connection.subscribe(requestsTo(identity.user), (message) => this.requests.receive(message));
    connection.subscribe(streamsTo(identity.user), (message) => this.streams.receive(message));
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
  listChanged(isNews: boolean): void {
    this.rev++;
    if (isNews) this.rememberTimer ??= setTimeout(() => void this.remember(), REMEMBER_MS);
    if (isNews || this.lastHeartbeat.settled) this.scheduleHeartbeat();
  }

  /** Publishes an event of a session, numbered, so that listeners notice missed ones. */
  publishEvent({ event, params }: LifecycleEvent): void {
    const { boot } = this.options;
    this.connection.publish(
      eventSubject(this.identity.user),
      JSON.stringify({ boot, seq: ++this.publishedEvents, event, params }),
    );
  }

  async close(): Promise<void> {
    for (const timer of [this.changeTimer, this.heartbeatTimer, this.rememberTimer]) clearTimeout(timer ?? undefined);
    this.sendHeartbeat(true);
    await this.connection.flush();
    await this.connection.close();
  }

  private connected(): void {
    this.options.log("connected to the fleet", { machine: this.identity.user });
    this.connectionCount++;
    this.sendHeartbeat();
    void this.remember();
  }

  private disconnected(): void {
    this.options.log("the connection to the fleet is lost", { error: this.connection.error?.message });
    this.requests.connectionLost();
    this.streams.connectionLost();
  }

  private scheduleHeartbeat(): void {
    const since = performance.now() - this.lastHeartbeat.at;
    this.changeTimer ??= setTimeout(() => this.sendHeartbeat(), Math.max(CHANGE_DELAY_MS, MIN_INTERVAL_MS - since));
  }

  private sendHeartbeat(leaving = false): void {
    clearTimeout(this.changeTimer ?? undefined);
    this.changeTimer = null;
    clearTimeout(this.heartbeatTimer ?? undefined);
    // Up to a tenth earlier, so that a fleet's heartbeats do not coincide.
    if (!leaving)
      this.heartbeatTimer = setTimeout(() => this.sendHeartbeat(), intervals.fleetBeat * (1 - Math.random() / 10));
    const beat = this.currentHeartbeat();
    this.lastHeartbeat = { settled: beat.settled, at: performance.now() };
    const message = leaving ? { ...beat, leaving } : beat;
    this.connection.publish(beatSubject(this.identity.user), JSON.stringify(message));
  }

  private currentHeartbeat(): Beat {
    const { boot, hostname, placementReport, isSettled } = this.options;
    const { sessions, load, tags, accept } = placementReport();
    return {
      boot,
      rev: this.rev,
      way: this.connectionCount,
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
    this.options.callerWaits(header(ASKING_HEADER));
    if (verb === "PING") this.scheduleHeartbeat();
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
    clearTimeout(this.rememberTimer ?? undefined);
    this.rememberTimer = null;
    const sessions = [...(await this.options.list())];
    const now = Date.now();
    const value: RememberedMember = { beat: this.currentHeartbeat(), heard_at: now, sessions: { at: now, sessions } };
    const text = JSON.stringify(value);
    const kept = Buffer.byteLength(text) <= MAX_REMEMBERED_BYTES ? text : JSON.stringify({ ...value, sessions: null });
    this.connection.publish(`$KV.${MACHINES_BUCKET}.${this.identity.user}`, kept);
  }
}
