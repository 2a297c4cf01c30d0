/**
 * `/ws/json`: every session's methods with an added `session`, the server's own, and unasked events about sessions
 * (docs/protocol.md, JSON for the server). Each subscription has a connection to its session process; it follows the
 * session through renames.
 */

import * as v from "valibot";
import type { Operation } from "../../operations/define.ts";
import { requireAllSessions } from "../../operations/rights.ts";
import { getOperation, type OperationName } from "../../operations/table.ts";
import { unknownFields } from "../../operations/unknown-fields.ts";
import type { Caller } from "../../protocol/caller.ts";
import { eventSeenBy } from "../../protocol/concealed.ts";
import { WshError } from "../../protocol/errors.ts";
import {
  type LifecycleEvent,
  LifecycleEventSchema,
  MachinesSubscriptionSchema,
  SubscribeSchema,
} from "../../protocol/events.ts";
import type { Owner } from "../../protocol/owner.ts";
import { parse } from "../../protocol/parse.ts";
import type { RequestContext } from "../../wire/connection.ts";
import type { MachineEvent, RemoteEvents } from "../machines/remote-events.ts";
import { SessionStream } from "../sessions/session-stream.ts";
import type { StreamedPane } from "../sessions/streamed-session.ts";
import {
  type JsonRequest,
  JsonSocket,
  type JsonSocketOptions,
  operationOf,
  parseSubscription,
  parseWindowSubscription,
} from "./json-socket.ts";
import { aliasedCalls, aliasedResults } from "./method-aliases.ts";
import { WindowSubscriptions } from "./window-subscriptions.ts";

/** Bytes pending for a reader above which it misses events about sessions, and is asked to list them again. */
const LIFECYCLE_QUEUE_BYTES = 64 * 1024;

export interface ServerSocketOptions extends JsonSocketOptions {
  readonly maxSubscriptions: number;
  /** The AI agent that may learn only the names of private sessions; null: the caller may learn more. */
  readonly concealedFrom: (caller: Caller) => Owner | null;
  readonly remoteEvents: Pick<RemoteEvents, "watch" | "requireKnown">;
  readonly closed: (endpoint: ServerSocket) => void;
}

interface Subscribed {
  readonly stream: SessionStream;
  startEvents: (() => void) | null;
}

export class ServerSocket extends JsonSocket {
  private readonly subscriptions = new Map<string, Subscribed>();
  private readonly windows: WindowSubscriptions;
  private machines: Disposable | null = null;
  private missedEvents = 0;

  constructor(protected override readonly options: ServerSocketOptions) {
    super(options);
    const { sources, context, maxSubscriptions: limit } = options;
    const { access, caller } = context;
    const send = (json: string, session: string): boolean => this.send({ ...JSON.parse(json), session });
    this.windows = new WindowSubscriptions({ sources, context: { access, caller }, limit, send });
  }

  /** A session started, ended or changed. */
  lifecycle(event: LifecycleEvent): void {
    const { caller } = this.options.context;
    if (caller.only !== undefined && event.params.session.id !== caller.only) return;
    const visibleEvent = eventSeenBy(event, this.options.concealedFrom(caller));
    if (visibleEvent !== null) this.sendEvent(visibleEvent);
  }

  override drain(): void {
    if (this.missedEvents > 0) this.send({ type: "lagged", skipped: this.missedEvents });
    this.missedEvents = 0;
    for (const { stream } of this.subscriptions.values()) stream.resume();
    this.windows.resume();
  }

  override close(): void {
    super.close();
    for (const { stream } of this.subscriptions.values()) stream.close();
    this.subscriptions.clear();
    this.windows.close();
    this.machines?.[Symbol.dispose]();
    this.options.closed(this);
  }

  protected override special(request: JsonRequest): Promise<void> | undefined {
    const { method, session } = request;
    if (method === "subscribe_machines") return this.subscribeMachines(request);
    if (session === undefined) return undefined;
    if (method === "subscribe_window") return this.subscribeWindow(request, session);
    return method === "subscribe" ? this.subscribe(request, session) : undefined;
  }

  protected override route(request: JsonRequest): {
    operation: Operation<OperationName>;
    session: string | undefined;
  } {
    const alias = aliasedCalls.get(request.method)?.(request);
    const operation = alias === undefined ? operationOf(request.method) : getOperation(alias.operation);
    const session = alias === undefined ? request.session : alias.session;
    const isServers = operation?.scope === "server";
    if (!isServers && typeof session !== "string") {
      throw new WshError("session_required", `'${request.method}' needs a session`);
    }
    if (operation === undefined) throw new WshError("unknown_method", `no method '${request.method}'`);
    return { operation, session: typeof session === "string" ? session : undefined };
  }

  protected override input(request: JsonRequest): unknown {
    return aliasedCalls.get(request.method)?.(request).input ?? request.params;
  }

  protected override result(method: string, result: unknown): unknown {
    return aliasedResults.get(method)?.(result) ?? result;
  }

  private async subscribe(request: JsonRequest, target: string): Promise<void> {
    const options = parseSubscription(request.params);
    const { sources } = this.options;
    const source = await sources.pane(target, this.options.context.caller.only);
    const subscribed = this.subscriptions.get(source.info.pane_id) ?? (await this.connect(source));
    subscribed.startEvents = () => {
      subscribed.startEvents = null;
      this.answer(request, { events: options.events }, unknownFields(SubscribeSchema, request.params));
    };
    await subscribed.stream.subscribe(options);
    if (options.events.length === 0) this.forget(source.info.pane_id, subscribed);
  }

  /** Events of other machines' sessions, until the client requests others or none. */
  private async subscribeMachines(request: JsonRequest): Promise<void> {
    requireAllSessions(this.options.context, "subscribe_machines");
    const { machines } = parse(MachinesSubscriptionSchema, request.params);
    this.options.remoteEvents.requireKnown(machines ?? []);
    this.machines?.[Symbol.dispose]();
    this.machines = null;
    // The answer comes first, then the current machines.
    this.answer(request, { machines: machines ?? "all" }, unknownFields(MachinesSubscriptionSchema, request.params));
    if (machines?.length === 0) return;
    this.machines = this.options.remoteEvents.watch(machines ?? null, (event) => this.forwardRemoteEvent(event));
  }

  private forwardRemoteEvent(event: MachineEvent): void {
    const agent = this.options.concealedFrom(this.options.context.caller);
    const parsed = agent === null ? null : v.safeParse(LifecycleEventSchema, event);
    const visibleFields = parsed?.success === true ? eventSeenBy(parsed.output, agent) : {};
    if (visibleFields !== null) this.sendEvent({ ...event, ...visibleFields });
  }

  /** A slow client gets the number of missed events. */
  private sendEvent(event: object): void {
    if ((this.socket?.getBufferedAmount() ?? 0) > LIFECYCLE_QUEUE_BYTES) this.missedEvents++;
    else this.send(event);
  }

  private async subscribeWindow(request: JsonRequest, target: string): Promise<void> {
    const options = parseWindowSubscription(request.params);
    const { info } = await this.options.sources.find(target, this.options.context.caller.only);
    await this.windows.subscribe(info.id, options, request.params, (result, unknown) =>
      this.answer(request, result, unknown),
    );
  }

  private async connect(source: StreamedPane): Promise<Subscribed> {
    if (this.subscriptions.size >= this.options.maxSubscriptions) {
      throw new WshError("resource_limit_reached", `this connection has ${this.subscriptions.size} subscriptions`);
    }
    const { access, caller } = this.options.context;
    const context: RequestContext = { access, caller };
    const { pane_id: id } = source.info;
    const stream = await SessionStream.open(source, context, {
      event: (json) => this.event(source, stream, json),
      subscribed: () => this.subscriptions.get(id)?.startEvents?.(),
      end: () => this.subscriptions.delete(id),
    });
    const subscribed: Subscribed = { stream, startEvents: null };
    if (this.socket === null) stream.close();
    else this.subscriptions.set(id, subscribed);
    return subscribed;
  }

  private forget(id: string, { stream }: Subscribed): void {
    stream.close();
    this.subscriptions.delete(id);
  }

  private event(source: StreamedPane, stream: SessionStream, json: string): void {
    const event = {
      ...(JSON.parse(json) as Record<string, unknown>),
      session: source.info.name,
      pane: source.info.pane_id,
    };
    const isSync = "event" in event && event.event === "sync";
    if (!this.send(isSync ? withParams(event) : event)) stream.pause();
  }
}

/** The reference nests the fields of a sync; its clients read them there. */
function withParams(event: Record<string, unknown>): Record<string, unknown> {
  const { seq, screen, scrollback_lines } = event;
  return { ...event, params: { seq, screen, scrollback_lines } };
}
