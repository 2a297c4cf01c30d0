/**
 * Serves another machine, over any transport: single operations, and the socket of a session. Access, the audit log and
 * the session processes are those of every other request. The caller comes only from the transport's admission.
 */

import type { Machines } from "../../cluster/machines.ts";
import type { AuditLog } from "../../log/audit/audit-log.ts";
import type { Call, CallContext } from "../../operations/call.ts";
import { isUnlimited, requireAccess, requireAllSessions } from "../../operations/rights.ts";
import { addressesPane } from "../../operations/routing.ts";
import { findOperation } from "../../operations/table.ts";
import { actingAt, type Caller } from "../../protocol/caller.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type DialedProcess, LinkCallSchema, localMachine } from "../../protocol/machines.ts";
import { parse } from "../../protocol/parse.ts";
import type { askedBy, RequestMeta } from "../../protocol/requests.ts";
import { requireRoom, type Share, shareOf } from "../../protocol/shares.ts";
import { VERSION } from "../../protocol/version.ts";
import { type Carrier, Wire, type WireEvents } from "../../wire/socket.ts";
import { findOrShow } from "../operations/find-or-show.ts";
import type { IdempotentCalls } from "../operations/idempotent-calls.ts";
import type { SessionProxies } from "../sessions/session-proxies.ts";
import type { SessionProxy } from "../sessions/session-proxy.ts";
import { Leases } from "./leases.ts";
import type { RemoteCalls } from "./remote-calls.ts";
import { type RelayOptions, SessionRelay } from "./session-relay.ts";

/** Maximum concurrent streams of other machines. */
const MAX_STREAMS = 1024;

/** Reads a request's metadata: its id, its deadline. */
export type RequestMetaReader = (describeRequest: Parameters<typeof askedBy>[2]) => RequestMeta;

interface LinkEndOptions {
  readonly call: Call;
  readonly proxies: SessionProxies;
  /** Machines that this server reaches, for programs here that cannot reach them themselves. */
  readonly machines: Pick<Machines, "link">;
  /** The machine of a call; null: this one. */
  readonly machineOf: RemoteCalls["machineOf"];
  readonly idempotentCalls: Pick<IdempotentCalls, "cancel">;
  readonly audit: AuditLog | null;
  /** A stream opened or closed. */
  readonly streamsChanged: () => void;
}

export class LinkEnd {
  private readonly streams = new Map<SessionRelay, Share>();
  readonly leases = new Leases();

  constructor(private readonly options: LinkEndOptions) {}

  /** Number of open streams, which keep an ephemeral server alive. */
  get streamCount(): number {
    return this.streams.size;
  }

  /**
   * @param body in the form of LinkCallSchema
   * @param context from the transport: its access, its id, its signal
   * @param isOwnAlone whether to use only this machine's sessions, not those that it reaches itself
   */
  async handleCall(
    body: unknown,
    context: CallContext,
    readMeta: RequestMetaReader,
    { isOwnAlone = false, asking: askerId = "" } = {},
  ): Promise<unknown> {
    const { operation, input, session, caller } = this.read(body, context);
    const place = operation.scope === "server" || session === undefined ? {} : { session };
    const localInput =
      isOwnAlone && operation.name === "sessions.list" ? { ...Object(input), server: localMachine } : input;
    if (isOwnAlone && this.options.machineOf(operation.name, localInput, { ...context, ...place }) !== null) {
      throw new WshError("access_denied", "a machine of a fleet answers only for itself");
    }
    const once = readMeta({ operation: operation.name, target: session, input });
    const call = async (signal: AbortSignal): Promise<unknown> =>
      (await this.options.call(operation.name, localInput as never, {
        ...context,
        ...once,
        ...place,
        fromMachine: true,
        caller,
        signal,
      })) ?? {};
    return operation.access === "observe" ? this.leases.holdWhile(askerId, context.signal, call) : call(context.signal);
  }

  /** Records a request that the transport refused before it became a call. */
  recordRefusal(operation: string, context: CallContext, code: string): void {
    this.options.audit?.write({ operation, input: null, context, result: code, ms: 0 });
  }

  /**
   * The same for a machine that this server reaches; returns that machine's answer unchanged. @throws WshError of
   * its link
   */
  async forwardCall(
    machine: string,
    body: unknown,
    context: CallContext,
    readMeta: RequestMetaReader,
  ): Promise<unknown> {
    const { operation, input, session, caller } = this.read(body, context);
    requireAccess(operation, context.access);
    requireAllSessions(context, `${operation.name} on another machine`);
    const { once, deadline } = readMeta({ operation: operation.name, target: session, input });
    return this.options.machines.link(machine).call(operation.name, input as never, {
      caller,
      access: context.access,
      signal: context.signal,
      ...defined({ session, deadline }),
      ...(once === undefined ? {} : { request: { id: once.key, displayId: once.id, firstAt: once.first_at } }),
    });
  }

  /** The caller no longer wants an answer. */
  cancel(key: string): void {
    this.options.idempotentCalls.cancel(key);
  }

  private read(body: unknown, context: CallContext) {
    const { op, session, input, caller } = parse(LinkCallSchema, body, { what: "the call" });
    const operation = findOperation(op);
    if (operation === undefined) throw new WshError("unknown_method", `no operation '${op}'`);
    const { name, kind, share, agent } = caller;
    const id = `${context.caller.id}:${caller.id}`;
    // The caller's rights come from the transport.
    const actingCaller: Caller = {
      ...actingAt(context.caller, share),
      kind,
      id,
      connected: false,
      ...defined({ name, agent: context.caller.agent ?? agent }),
    };
    return { operation, input: input ?? {}, session, caller: actingCaller };
  }

  /**
   * The socket of a session, or of the process that runs a pane of it, for a peer that is provided later.
   * @throws WshError session_not_found, pane_not_found, access_denied, resource_limit_reached
   */
  async openStream(target: string, process: DialedProcess, context: CallContext): Promise<SessionRelay> {
    const { proxies } = this.options;
    const began = performance.now();
    let proxy: SessionProxy | null = null;
    let owner: SessionProxy | null = null;
    let failure: WshError | null = null;
    try {
      proxy = await findOrShow(proxies, context, target);
      owner = process === "session" ? proxy : (await proxies.ownerOf(proxy, target)).owner;
      // Its first message describes the session that it was started for.
      if (owner !== proxy) requireAllSessions(context, `the stream of another session's process`);
    } catch (thrown) {
      failure = WshError.from(thrown);
    }
    this.options.audit?.write({
      operation: "link.stream",
      input: null,
      context: { ...context, session: target },
      result: failure?.code ?? "ok",
      ms: performance.now() - began,
      ...(proxy === null ? {} : { reached: proxy.info }),
    });
    if (failure !== null) throw failure;
    if (proxy === null || owner === null) throw new WshError("session_not_found", "no session");
    // A session process of an earlier version treats calls by keys there as this account's.
    if (!isUnlimited(context) && owner.version !== VERSION) {
      throw new WshError(
        "version_mismatch",
        `session '${proxy.info.name}' runs wsh ${owner.version}: this token can call it only`,
      );
    }
    const { socket } = owner.entry;
    const isPane = addressesPane(target);
    return this.relay(context, (events) => Wire.connect(socket, events), isPane ? { target } : {});
  }

  /**
   * The socket of a session on a machine that this server reaches. @throws WshError machine_not_found, access_denied
   */
  forwardStream(machine: string, target: string, process: DialedProcess, context: CallContext): SessionRelay {
    requireAllSessions(context, "a stream of another machine");
    const { open } = this.options.machines.link(machine).dial(target, process);
    return this.relay(context, open, { isPassedOn: true });
  }

  private relay(
    context: CallContext,
    connect: (events: WireEvents) => Promise<Carrier>,
    relayOptions: Pick<RelayOptions, "isPassedOn" | "target">,
  ): SessionRelay {
    const share = shareOf(context);
    requireRoom(MAX_STREAMS, share, this.streams.values(), "streams are open");
    const relay: SessionRelay = new SessionRelay({
      connect,
      acting: { access: context.access, caller: context.caller },
      id: `${context.caller.id}#${crypto.randomUUID()}`,
      ...relayOptions,
      ...defined({ endSignal: context.ended }),
      onClosed: () => {
        this.streams.delete(relay);
        this.options.streamsChanged();
      },
    });
    this.streams.set(relay, share);
    return relay;
  }
}
