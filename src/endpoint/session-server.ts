/**
 * A session's socket: accepts peers, answers their requests, and sends them streams and events. Peers that
 * connect before the session is ready wait for the hello.
 */
import * as v from "valibot";
import type { Binding } from "../keys/bindings.ts";
import type { AuditLog } from "../log/audit/audit-log.ts";
import { peerRequest } from "../operations/peer-requests.ts";
import {
  isUnlimited,
  permissionFor,
  requireMayStream,
  requireOwnSession,
  requireRights,
  targetsIn,
} from "../operations/rights.ts";
import { agentAt } from "../platform/agent-above.ts";
import type { ShownInSchema } from "../protocol/attach.ts";
import { type Acting, byKeys } from "../protocol/caller.ts";
import { type Hello, ReloadSchema, type StreamEnd } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";
import { messageTypes, PROTOCOL_VERSION, type WireMessage } from "../protocol/messages.ts";
import { agentOfCaller } from "../protocol/owner.ts";
import { ownedBy, requireInTime } from "../protocol/requests.ts";
import { VERSION } from "../protocol/version.ts";
import type { Session } from "../session/session.ts";
import type { SessionEvents } from "../session/types.ts";
import type { Settings } from "../settings/table.ts";
import type { AttachPolicy } from "../viewer/terminal/attached-terminal.ts";
import { Peer, type PeerHandler, type PeerRequest } from "../wire/peer.ts";
import { RequestMemory } from "../wire/request-memory.ts";
import { Wire } from "../wire/socket.ts";
import { AgentAlerts } from "./agent-alerts.ts";
import { recordRequest, recordStreamEnd } from "./audited-requests.ts";
import { CallerShares } from "./caller-shares.ts";
import { LazyStreams, type StreamModules } from "./lazy-streams.ts";
import { LimitedCallers } from "./limited-callers.ts";
import { ListFeed } from "./list-feed.ts";
import type { BindingContext, PeerStream, ServedSession, StreamedWindow } from "./served-session.ts";
import { switchTerminal } from "./switch-session.ts";
import { showNotice } from "./terminal-notice.ts";
import { Watchers } from "./watchers.ts";

const EndSchema = v.object({
  reason: v.picklist(["killed", "server_stopped"]),
  /** The signal with which the machine shuts down or the login ends: the session is to be restored later. */
  by: v.optional(v.string()),
  /** The restore that started the session has failed: its stored state remains unchanged. */
  undone: v.optional(v.boolean(), false),
});
const CallerGoneSchema = v.object({ id: v.string() });

/** Requests with an id that a session remembers, and bytes of their answers: far more than callers repeat. */
const REQUEST_MEMORY_LIMITS = { ids: 8_192, bytes: 2 * 1024 * 1024 } as const;

export class SessionServer implements PeerHandler {
  private readonly peers = new Set<Peer>();
  private readonly streams = new Map<Peer, PeerStream>();
  /** Ends the requests and streams of callers that may no longer use the session. */
  private readonly limitedCallers = new LimitedCallers();
  private readonly watchers = new Watchers(() => this.serving.session.info());
  private readonly shares: CallerShares;
  /** Callers with a connection of their own that a peer forwards, and who may hold the keyboard. */
  private readonly forwardedCallers = new Map<Peer, Set<string>>();
  private served: ServedSession | null = null;
  private readonly ready = Promise.withResolvers<void>();
  private listFeed: ListFeed | null = null;
  private readonly rememberedRequests = new RequestMemory(REQUEST_MEMORY_LIMITS);
  private readonly lazyStreams = new LazyStreams(() => this.serving.loadClientStreams());

  constructor(
    limits: { readonly clients: number; readonly waiters: number },
    private readonly policy: AttachPolicy & { readonly settings: Settings; reload(input: unknown): object },
    /** The audit log for direct calls, if there is one. */
    private readonly audit: () => AuditLog | null,
  ) {
    this.shares = new CallerShares(limits);
  }

  /** Listens at a path; several listeners may serve one session (its runtime directory may have been deleted). */
  listen(path: string): { stop(): void } {
    return Wire.listen(path, (wire) => {
      const peer = new Peer(wire, this, () => this.findAgent(wire.peerPid));
      this.peers.add(peer);
      return peer.events;
    });
  }

  /** The session is ready: peers get their hello, watchers get events. */
  serve(served: ServedSession): void {
    const { session } = served;
    this.served = served;
    this.ready.resolve();
    const feed = new ListFeed(
      session,
      () => this.watchers.size > 0,
      (event) => this.watchers.send(event),
    );
    this.listFeed = feed;
    const sendEvent = (
      event: string,
      fields: object = {},
      read = (): ReturnType<Session["info"]> => session.info(),
    ): void => {
      if (this.watchers.size === 0) return;
      feed.changed();
      this.watchers.send({ event, ...fields, info: read(), listing: feed.transientListing });
    };
    for (const change of ["listed", "drawn"] as const) session.events.on(change, () => feed.changed());
    const alerts = new AgentAlerts({
      alert: () => this.policy.settings.agent_alert,
      name: () => session.name,
      viewers: () => session.viewers.all,
    });
    served.watchEvents({
      changed: () => feed.changed(),
      agent: (pane, agent) => {
        sendEvent("agent_state", { pane_id: pane, agent });
        alerts.agentChanged(pane, agent);
      },
      sendEvent,
    });
    session.events.on("info", () => sendEvent("info"));
    const findDenial = (request: PeerRequest): Promise<WshError | null> => served.findDenial(request);
    session.events.on("joined", () => void this.limitedCallers.recheckOwners(findDenial));
    session.events.on("private", () => this.permissionsChanged());
    session.events.on("renamed", (change) => sendEvent("session_renamed", change));
    session.events.on("tagged", (change) => sendEvent("session_tags_changed", change));
    session.events.on("questions", (waiting) => sendEvent("questions_changed", { waiting }));
    // Events of one change have the same facts: to read them, every program is checked.
    let facts: ReturnType<Session["info"]> | null = null;
    const sharedInfo = (): ReturnType<Session["info"]> => {
      if (facts !== null) return facts;
      queueMicrotask(() => {
        facts = null;
      });
      facts = session.info();
      return facts;
    };
    session.events.on("layout", ({ event, ...fields }) => sendEvent(event, fields, sharedInfo));
    session.events.on("exited", ({ code, signal }) => sendEvent("session_exited", { exit_code: code, signal }));
    session.events.on("ending", () => sendEvent("session_ending"));
    session.events.on("destroyed", (end) => {
      feed.dispose();
      this.watchers.send(destroyedEvent(end));
    });
  }

  /** Ends what AI agents have open that they may no longer use. */
  permissionsChanged(): void {
    const { served } = this;
    if (served !== null) void this.limitedCallers.recheckPermissions((request) => served.findDenial(request));
  }

  hello(peer: Peer): Hello | Promise<Hello> {
    const { served } = this;
    if (served === null) return this.ready.promise.then(() => this.hello(peer));
    const { session } = served;
    const member = session.lifetime.isOver ? { member: true as const } : {};
    const hello = { wsh: PROTOCOL_VERSION, version: VERSION, role: "session", ...member } as const;
    if (peer.agent === null) return { ...hello, info: session.info() };
    const agent = { kind: "agent", name: peer.agent } as const;
    return served.permission.allowanceCheck(peer.agent).then((isAllowed) => {
      this.watchers.limitToAgent(peer, agent, isAllowed);
      return { ...hello, info: this.watchers.visibleInfo(peer, session.info()) };
    });
  }

  /** The AI agent among the ancestors of a process of this account, if agents have limited rights here. */
  private findAgent(pid: number | null): string | null {
    return pid === null || this.policy.settings.agents_may === "everything" ? null : agentAt(pid);
  }

  async request(request: PeerRequest, peer: Peer): Promise<unknown> {
    const isRecorded = !peer.isServer && peerRequest(request.op).isUnrecorded !== true;
    return recordRequest(isRecorded ? this.audit() : null, request, this.serving, async () => {
      const { session } = this.serving;
      const owner = this.serving.subjectSessionId(request);
      if (!isUnlimited(request)) {
        if (request.op.startsWith("peer.")) requireMayStream(request, request.op, owner());
        else requireOwnSession(request, owner());
      }
      return this.shares.answer(request, () =>
        this.limitedCallers.whilePermitted(request, owner, (signal) =>
          this.answerIdempotent(session, { ...request, signal }, peer),
        ),
      );
    });
  }

  /** A request with an id is carried out once; none is begun after its deadline. */
  private async answerIdempotent(session: Session, request: PeerRequest, peer: Peer): Promise<unknown> {
    const { once, deadline } = request;
    if (once === undefined) {
      requireInTime(deadline);
      return this.answer(session, request, peer);
    }
    const caller = { signal: request.signal, isGone: () => peer.isClosed };
    const agent = agentOfCaller(request.caller);
    const key = agent === null ? once : ownedBy(once, agent);
    return this.rememberedRequests.answer(key, caller, async (signal) => {
      requireInTime(deadline);
      return this.answer(session, { ...request, signal }, peer);
    });
  }

  private async answer(session: Session, request: PeerRequest, peer: Peer): Promise<unknown> {
    if (permissionFor(request) !== null) await this.serving.operate(request, peer);
    switch (request.op) {
      case "peer.ping":
      case "peer.leave":
        return {};
      case "peer.end": {
        const { reason, by, undone } = v.parse(EndSchema, request.input);
        if (undone) this.serving.restoreFailed();
        if (by !== undefined) await this.serving.saveBeforeEnd(by);
        await session.lifetime.kill(reason);
        return {};
      }
      case "peer.give_way":
        return { gone: session.lifetime.evict() };
      case "peer.watch":
        this.watchers.add(peer);
        peer.rest();
        await this.serving.refresh();
        return this.watch(peer);
      case "peer.caller_gone":
        session.keyboard.releaseCaller(v.parse(CallerGoneSchema, request.input).id);
        return {};
      case "peer.owner_gone":
        session.events.emit("ownerGone", undefined);
        return {};
      case "peer.shown_in":
        return this.shownIn(session);
      case "peer.reload":
        if (!v.parse(ReloadSchema, request.input).ask) this.permissionsChanged();
        return this.policy.reload(request.input);
      case "peer.notice":
        return showNotice(session, request.input);
      case "peer.go":
        return switchTerminal(this.serving, request.input);
      case "peer.help":
      case "peer.look":
      case "peer.written":
      case "peer.focus":
      case "peer.watched":
      case "peer.by_agent":
      case "peer.keys":
      case "peer.command":
      case "peer.release":
      case "peer.give_back":
      case "peer.colors":
      case "peer.settings":
        return this.handleInOrder(request, peer);
      case "peer.attach":
      case "peer.client":
      case "peer.subscribe":
      case "peer.follow":
      case "peer.raw":
      case "peer.window":
        return this.handleStreamRequest(request, peer, this.lazyStreams.loaded ?? (await this.lazyStreams.load()));
      default:
        if (request.op === "input.capture" && request.caller.connected) this.rememberCaller(request.caller.id, peer);
        return request.op.startsWith("peer.")
          ? this.serving.handlePeerRequest(request, peer)
          : this.serving.operate(request, peer);
    }
  }

  /** @throws WshError session_unavailable before the session is ready */
  private get serving(): ServedSession {
    if (this.served === null) throw new WshError("session_unavailable", "the session is being started");
    return this.served;
  }

  /** Returns the session's info for a server, which is notified of the next change. */
  private watch(peer: Peer): object {
    if (this.listFeed === null) return {};
    const { info, listing } = this.listFeed.answer();
    return { ...this.watchers.visibleInfo(peer, info), listing };
  }

  private shownIn({ name }: Session): v.InferOutput<typeof ShownInSchema> {
    const code = this.lazyStreams.loaded;
    const sockets = new Set<string>();
    for (const stream of code === null ? [] : this.streams.values()) {
      if (code !== null && stream instanceof code.AttachedTerminal && stream.around !== undefined)
        sockets.add(stream.around);
    }
    return { name, shown_in: [...sockets] };
  }

  /** A stream's request is handled in order with the typed input, even while the code of streams loads. */
  private handleInOrder(request: PeerRequest, peer: Peer): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const { lazyStreams } = this;
    if (lazyStreams.loaded === null) lazyStreams.load().catch(reject);
    lazyStreams.deliverInOrder(() => {
      const { loaded } = lazyStreams;
      if (loaded !== null) this.handleStreamRequest(request, peer, loaded).then(resolve, reject);
    });
    return promise;
  }

  private async handleStreamRequest(request: PeerRequest, peer: Peer, code: StreamModules): Promise<unknown> {
    if (peer.isClosed) throw new WshError("cancelled", "the connection has ended");
    const owner = this.serving.subjectSessionId(request);
    requireOwnSession(request, owner());
    if (peerRequest(request.op).isOfStream === true)
      this.limitedCallers.registerStream(peer, request, owner, ({ code }) => this.endStream(request, peer, code));
    switch (request.op) {
      case "peer.attach":
        return this.attach(request, peer, code);
      case "peer.window": {
        if (this.streams.has(peer)) throw new WshError("invalid_request", "this connection already carries a stream");
        const { session } = this.serving;
        this.shares.openStream(session, request, peer);
        const open = (window: string | undefined): StreamedWindow => this.serving.streamedWindow(window);
        this.streams.set(peer, new code.WindowStream(session, peer, request.input, open));
        return {};
      }
      case "peer.client":
      case "peer.subscribe":
      case "peer.follow":
      case "peer.raw":
        return code.clients.request(request, peer, this.streams.get(peer), (stream) => {
          if (request.op !== "peer.follow") this.shares.openStream(this.serving.session, request, peer);
          this.streams.set(peer, stream());
        });
    }
    const stream = this.streams.get(peer);
    if (!(stream instanceof code.AttachedTerminal)) {
      throw new WshError("invalid_request", "this connection does not carry a terminal");
    }
    return code.askTerminal(stream, request, peer);
  }

  stream(message: WireMessage, peer: Peer): void {
    this.lazyStreams.deliverInOrder(() => peer.guarded(() => this.streams.get(peer)?.receive(message)));
  }

  closed(peer: Peer): void {
    this.peers.delete(peer);
    this.watchers.delete(peer);
    this.streams.get(peer)?.close();
    this.streams.delete(peer);
    this.limitedCallers.releaseStream(peer);
    this.shares.peerClosed(peer);
    const callers = this.forwardedCallers.get(peer);
    this.forwardedCallers.delete(peer);
    if (callers !== undefined) this.served?.session.keyboard.handleConnectionLoss(callers);
  }

  /** Ends a stream whose caller may not use the session that the pane has moved to, or may use this one no longer. */
  private endStream(request: PeerRequest, peer: Peer, code: string): void {
    this.streams.get(peer)?.close();
    const denied = this.serving.isPrivate() ? "private" : "access_denied";
    const reason = code === "access_denied" ? denied : "moved_away";
    recordStreamEnd(this.audit(), request, this.serving, reason);
    peer.send(messageTypes.end, { reason } satisfies StreamEnd);
    peer.finish();
  }

  private rememberCaller(caller: string, peer: Peer): void {
    const callers = this.forwardedCallers.get(peer) ?? new Set();
    this.forwardedCallers.set(peer, callers.add(caller));
  }

  /** Resolves when no peer has messages pending, or after `patienceMs`. */
  async flush(patienceMs: number): Promise<void> {
    // Answers to peers that ended the session, or waited for its end, are written in this turn.
    await new Promise((resume) => setImmediate(resume));
    for (const peer of [...this.peers]) peer.finish();
    const deadline = performance.now() + patienceMs;
    while (this.peers.size > 0 && performance.now() < deadline) await Bun.sleep(5);
  }

  private async attach(request: PeerRequest, peer: Peer, code: StreamModules): Promise<unknown> {
    const { serving } = this;
    if (this.streams.has(peer)) throw new WshError("invalid_request", "this connection already carries a stream");
    this.shares.openStream(serving.session, request, peer);
    const policy = { ...this.policy, knownTerminals: code.knownTerminals };
    const { content, session } = serving.contentFor(request, peer);
    const stream = new code.AttachedTerminal(session, content, peer, request, policy);
    const { acting } = stream;
    const runBound = (binding: Binding, context: Omit<BindingContext, "by">): Promise<unknown> => {
      const { operation: op, input } = binding;
      const call = (): Promise<unknown> => serving.runBinding(binding, content, { ...context, by: byKeys(acting) });
      // Keys of a process of this account are not recorded, since no person's typing is.
      const audit = acting.caller.via === undefined ? null : this.audit();
      return recordRequest(audit, { op, input, caller: acting.caller }, this.serving, call);
    };
    stream.onBoundKey = async (binding, signal) => {
      if (!isUnlimited(acting)) await this.requireMayCall(acting, binding);
      const prior = await serving.priorQuestion(binding, content);
      if (prior === null) return runBound(binding, { signal });
      stream.ask(prior.question, async (answer) => {
        const input = prior.input(answer);
        if (input === null) return;
        await runBound({ ...binding, input: { ...binding.input, ...input } }, { about: prior.about });
      });
      return null;
    };
    // Registered before it begins: keys, a new size and the end may arrive at once.
    this.streams.set(peer, stream);
    await stream.start();
    return serving.session.info();
  }

  /**
   * A key can do no more than a call by the person who pressed it. @throws WshError access_denied, session_not_found
   */
  private async requireMayCall(by: Acting, { operation, input }: Binding): Promise<void> {
    const [{ findOperation }, { findPermittedSession }] = await Promise.all([
      import("../operations/table.ts"),
      import("../viewer/calls/permitted-targets.ts"),
    ]);
    const definition = findOperation(operation);
    if (definition === undefined) return;
    requireRights(by, definition, this.serving.session.id, input);
    for (const named of targetsIn(by, definition, input)) findPermittedSession(this.policy.instance, by, named);
  }

  /** Ends the watchers' connections: the session is over, while the process continues with panes of another one. */
  dismiss(): void {
    this.watchers.closeConnections();
  }
}

function destroyedEvent({ reason, exit }: SessionEvents["destroyed"]) {
  return { event: "session_destroyed", reason, exit_code: exit.code, signal: exit.signal };
}
