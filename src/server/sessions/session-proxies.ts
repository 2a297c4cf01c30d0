/**
 * The gateway's view of the session processes: one connection to each, its newest SessionInfo, and its reports.
 * It holds no session state of its own: everything here can be discarded and read again from the registry. A
 * session process that does not answer is `unresponsive` until it answers, and no list waits for it twice. If a
 * connection ends without an announced end, the session process has crashed.
 */
import * as v from "valibot";
import { errorCode } from "../../base/errno.ts";
import { type Instance, sessionSocket } from "../../instance/paths.ts";
import { EventSchema, PEER_TIMEOUT_MS, type WireEvent } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import { notFound, paneId, parseTarget, type Target } from "../../protocol/names.ts";
import { type EndReason, mayRunElsewhere, requirePane, type SessionInfo } from "../../protocol/session.ts";
import { isSocket, type SessionEntry } from "../../registry/directories.ts";
import { cleanStale, isRegistered, lookUp } from "../../registry/registry.ts";
import { RegistryView } from "../../registry/registry-view.ts";
import { watchRegistry } from "../../registry/registry-watch.ts";
import { Connection, type RequestContext } from "../../wire/connection.ts";
import { PaneProcessSchema } from "../../wire/pane-process.ts";
import { BoundSessions } from "./bound-sessions.ts";
import { CapturedKeyboards } from "./keyboards.ts";
import { type Exit, lifecycleEvents } from "./lifecycle-events.ts";
import { askThrough, paneIn } from "./request-target.ts";
import { CONTEXT, isTargetOf, SessionProxy, sessionOf, unavailable, unresponsive } from "./session-proxy.ts";
import type { StreamedPane } from "./streamed-session.ts";

/** Delay from a change of the registry to the next read, in ms, unless a request comes earlier. */
const NOTICE_MS = 30;
/**
 * Longest wait of a list for a session process that is not known to hang, in ms: long enough for a busy machine,
 * short enough for a person.
 */
const LIST_PATIENCE_MS = 1_000;
/** Longest wait for a session process's first hello, in ms: it binds before its program is started. */
const HELLO_PATIENCE_MS = PEER_TIMEOUT_MS;

export interface ProxyListener {
  /**
   * The contents of a list may have changed. @param isNews whether a session was added, removed, or reports something
   */
  listChanged(isNews: boolean): void;
  created(info: SessionInfo): void;
  /** session_renamed, session_tags_changed, session_exited and other reports of a session process. */
  event(info: SessionInfo, event: WireEvent, leaving: boolean): void;
  destroyed(info: SessionInfo, reason: EndReason, exit: Exit): void;
}

export class SessionProxies {
  readonly keyboards = new CapturedKeyboards();
  readonly bound = new BoundSessions(() => this.findable);
  private readonly proxies = new Map<number, SessionProxy>();
  private readonly opening = new Map<number, Promise<void>>();
  private readonly hanging = new Set<SessionProxy>();
  private readonly registry: RegistryView;
  private readonly started = Promise.withResolvers<void>();
  private watcher: Disposable | null = null;
  private scanTimer: Timer | null = null;
  private listener: ProxyListener | null = null;

  constructor(
    readonly instance: Instance,
    /** This server's name. */
    private readonly hostname: string,
  ) {
    this.registry = new RegistryView(instance);
  }

  /** Finds the existing session processes, then reports changes. */
  async start(listener: ProxyListener): Promise<void> {
    await cleanStale(this.instance);
    this.watcher = watchRegistry(this.instance, () => this.scheduleScan());
    await this.scan();
    this.listener = listener;
    this.started.resolve();
  }

  stop(): void {
    this.watcher?.[Symbol.dispose]();
    clearTimeout(this.scanTimer ?? undefined);
    this.listener = null;
    for (const proxy of this.proxies.values()) {
      proxy.isDropped = true;
      proxy.connection?.close();
    }
  }

  /** Session processes that can be asked now, including those only milliseconds old. */
  async listCurrent(): Promise<readonly SessionProxy[]> {
    await this.started.promise;
    await this.scan();
    return this.findable;
  }

  /** Session processes that can be found, oldest first. */
  get findable(): readonly SessionProxy[] {
    return this.known.filter((proxy) => !proxy.isLeaving);
  }

  /** Including those about to end, in the order of their sessions. */
  get known(): readonly SessionProxy[] {
    return [...this.proxies.values()]
      .filter((proxy) => !proxy.isForeign)
      .sort((a, b) => sessionOf(a) - sessionOf(b) || a.entry.id - b.entry.id);
  }

  /** Number of running sessions, and of ended ones whose end no client knows. */
  get unfinished(): number {
    return this.known.filter((proxy) => proxy.info.running || !proxy.isEndReported).length;
  }

  /**
   * Returns a target's session process, looked up again when it is unknown or has ended: a session may be milliseconds
   * old.
   * @param only id of the only session that the caller may use; the others do not exist for it
   * @throws WshError session_not_found
   */
  async find(target: string, only?: string): Promise<SessionProxy> {
    const parsed = parseTarget(target);
    let proxy = this.lookUp(parsed, only);
    if (proxy?.info.running !== true) {
      await this.scan();
      proxy = this.lookUp(parsed, only);
    }
    // A process that is late with its first answer does not count as hanging.
    if (proxy?.connection === null && proxy.error === null) {
      await this.opening.get(proxy.entry.id);
      proxy = this.lookUp(parsed, only);
    }
    if (proxy === undefined) throw notFound(parsed, this.instance.name);
    // A pane may be newer than the last reported info.
    if (this.targetError(proxy, parsed) !== null) await this.infoOf(proxy);
    const error = this.targetError(proxy, parsed);
    if (error !== null) throw error;
    return proxy;
  }

  /** The error for an unknown window or pane of a target; a session with several reports itself which exist. */
  private targetError({ hasManyPanes, info }: SessionProxy, target: Target): WshError | null {
    if (hasManyPanes || this.hasLeftWindow(target)) return null;
    try {
      requirePane(info, target);
      return null;
    } catch (thrown) {
      return WshError.from(thrown);
    }
  }

  /** Asks a session process; for a view, the process of its source. @throws the process's error */
  request(proxy: SessionProxy, op: string, input: unknown, context: RequestContext): Promise<unknown> {
    return askThrough(proxy, (socket) => this.proxyAt(socket), { op, input, context });
  }

  /**
   * The pane that a target names in its session.
   * @param target as the caller wrote it; absent: the session's oldest pane
   * @throws WshError pane_not_found, session_unavailable
   */
  async paneOf(proxy: SessionProxy, target?: string): Promise<StreamedPane> {
    const { owner, pane } = await this.ownerOf(proxy, target);
    // Calls to another process name the pane.
    return paneIn(owner, pane, proxy.hasManyPanes || owner !== proxy);
  }

  /** The process that runs the pane. @param target and errors as in paneOf */
  async ownerOf(
    proxy: SessionProxy,
    target?: string,
  ): Promise<{ readonly owner: SessionProxy; readonly pane: string }> {
    // A new pane may not be in the info yet.
    if (!proxy.hasManyPanes && proxy.isOutdated) await this.infoOf(proxy);
    if (!proxy.hasManyPanes && !mayRunElsewhere(proxy.info, proxy.entry.id))
      return { owner: proxy, pane: proxy.info.pane_id };
    const context = target === undefined ? CONTEXT : { ...CONTEXT, target };
    const { pane, socket } = v.parse(PaneProcessSchema, await proxy.request("peer.resolve", {}, context));
    return { owner: socket === proxy.address ? proxy : await this.proxyAt(socket), pane };
  }

  /** The process at a socket of this instance. @throws WshError session_unavailable */
  private async proxyAt(socket: string): Promise<SessionProxy> {
    const known = (): SessionProxy | undefined =>
      [...this.proxies.values()].find(({ entry }) => entry.socket === socket);
    if (known()?.connection == null) await this.scan();
    const found = known();
    if (found === undefined) throw new WshError("session_unavailable", `no session process at ${socket}`);
    return found;
  }

  /**
   * Returns current infos, oldest first. Only session processes with possibly outdated info are asked; a hanging one is
   * listed as such and not waited for again.
   */
  async list(): Promise<SessionInfo[]> {
    await this.started.promise;
    await this.scan();
    await readArrivedMessages();
    return Promise.all(this.findable.map((proxy) => this.infoOf(proxy)));
  }

  /**
   * Reads the registry, connects to new session processes, and forgets those that never answered and are gone.
   * Connected ones report their names themselves, so if none hangs this is one system call, however many there are.
   */
  private async scan(): Promise<void> {
    const ids = this.registry.ids();
    const registered = new Set(ids);
    for (const [id, proxy] of this.proxies) {
      if (proxy.connection !== null) continue;
      if (registered.has(id)) this.nameByRegistry(proxy);
      else this.proxies.delete(id);
    }
    await Promise.all(ids.filter((id) => this.isNew(id)).map((id) => this.open(id)));
  }

  /** Not awaited: if it is impossible now (no descriptors left), it is done later. */
  private scanInBackground(): void {
    this.scan().catch(() => setTimeout(() => this.scanInBackground(), LIST_PATIENCE_MS).unref());
  }

  /** Reads the registry for session processes that do not report their names themselves. */
  private nameByRegistry(proxy: SessionProxy): void {
    const entry = this.registry.entries().find(({ id }) => id === proxy.entry.id);
    if (entry !== undefined) proxy.updateEntry(entry);
  }

  /** The registry changed. A request reads it at once; otherwise, changes close together are read together. */
  private scheduleScan(): void {
    this.scanTimer ??= setTimeout(() => {
      this.scanTimer = null;
      this.scanInBackground();
    }, NOTICE_MS);
    this.scanTimer.unref();
  }

  /** Whether its name is unknown until the pending answer arrives. */
  private isNew(id: number): boolean {
    const proxy = this.proxies.get(id);
    return proxy === undefined || (proxy.connection !== null && this.opening.has(id));
  }

  /**
   * Like the registry's lookUp: a name stands for its live session, otherwise for the newest one that had it. Runs on
   * every call.
   */
  private lookUp(target: Target, only: string | undefined): SessionProxy | undefined {
    const isVisible = ({ info, isLeaving }: SessionProxy): boolean =>
      !isLeaving && (only === undefined || info.id === only);
    const isSession = (proxy: SessionProxy): boolean => !proxy.isForeign && isVisible(proxy);
    if (target.kind === "pane") {
      const id = paneId(target.id);
      const has = ({ info }: SessionProxy): boolean =>
        info.windows.some(({ panes }) => panes.some((pane) => pane.id === id));
      const proxy =
        [...this.proxies.values()].find((each) => isSession(each) && has(each)) ??
        this.proxies.get(this.registered(target)?.id ?? target.id);
      return proxy !== undefined && isVisible(proxy) ? proxy : undefined;
    }
    if (target.kind !== "session") {
      for (const each of this.proxies.values()) if (isSession(each) && isTargetOf(target, each)) return each;
      return undefined;
    }
    let ended: SessionProxy | undefined;
    for (const proxy of this.proxies.values()) {
      if (!isTargetOf(target, proxy) || !isSession(proxy)) continue;
      if (proxy.info.running) return proxy;
      if (ended === undefined || proxy.entry.id > ended.entry.id) ended = proxy;
    }
    return ended;
  }

  /** A pane that is new, or has just left its window, is found in the registry. */
  private registered(target: Target): SessionEntry | undefined {
    return lookUp(this.registry.entries(), target);
  }

  /** Whether the target is a pane that has left its window and can still be read. */
  private hasLeftWindow(target: Target): boolean {
    return target.kind === "pane" && this.registered(target)?.panes?.includes(target.id) === true;
  }

  private open(id: number): Promise<void> {
    const promise = this.opening.get(id) ?? this.connect(id).finally(() => this.opening.delete(id));
    this.opening.set(id, promise);
    // A session process that hangs must not delay a scan.
    return Promise.race([promise, Bun.sleep(LIST_PATIENCE_MS)]);
  }

  private async connect(id: number, mayRetry = true): Promise<void> {
    const socket = sessionSocket(this.instance, id);
    if (!isSocket(socket)) return;
    const proxy = new SessionProxy(
      { id, socket, session: null, window: null, name: null, ended: false, isMember: false },
      this.hostname,
    );
    proxy.error = this.proxies.get(id)?.error ?? null;
    const started = performance.now();
    // Listed as hanging meanwhile; one that answers quickly never appears so.
    const slow = setTimeout(() => {
      this.nameByRegistry(proxy);
      this.proxies.set(id, proxy);
    }, LIST_PATIENCE_MS / 2);
    try {
      const { connection, hello } = await Connection.open(
        socket,
        "server",
        { message: (message) => this.receive(proxy, message), close: () => this.connectionLost(proxy) },
        HELLO_PATIENCE_MS,
      );
      proxy.connection = connection;
      proxy.error = null;
      proxy.updateInfo(hello.info, null);
      proxy.version = hello.version;
      proxy.isForeign = hello.member === true;
      this.proxies.set(id, proxy);
      // Events begin here: the answer includes changes since the hello.
      await proxy.watch(connection);
      connection.rest();
      if (!proxy.isForeign) this.listener?.created(proxy.info);
      this.listener?.listChanged(true);
    } catch (thrown) {
      const error = WshError.from(thrown);
      const wasQuick = performance.now() - started < LIST_PATIENCE_MS;
      if (error.code !== "version_mismatch" && !(await this.isAlive(id))) {
        this.proxies.delete(id);
        return;
      }
      // It was between bind(2) and listen(2), or another process has replaced it.
      if (error.code !== "version_mismatch" && wasQuick && mayRetry) return this.connect(id, false);
      // The kernel still holds the lock of a dying process, whose name belongs to no session.
      if (error.code === "session_not_found" && errorCode(error.cause) === "ECONNREFUSED") {
        this.proxies.delete(id);
        setTimeout(() => this.scanInBackground(), LIST_PATIENCE_MS).unref();
        return;
      }
      this.nameByRegistry(proxy);
      proxy.error = error.code === "version_mismatch" ? error : unavailable(proxy.info.name);
      this.proxies.set(id, proxy);
      this.retryLater(id);
    } finally {
      clearTimeout(slow);
    }
  }

  /** Whether a process listens at the socket (its backlog may only be full); a dead one's files are removed. */
  private async isAlive(id: number): Promise<boolean> {
    await cleanStale(this.instance, [id]);
    return isRegistered(this.instance, id);
  }

  /**
   * Asks a hanging session process again when it may have recovered, and checks whether one of another version still
   * exists; costs one connection attempt every few seconds.
   */
  private retryLater(id: number): void {
    const timer = setTimeout(() => {
      if (this.proxies.get(id)?.connection === null) this.open(id).catch(() => this.retryLater(id));
    }, HELLO_PATIENCE_MS);
    timer.unref();
  }

  private receive(proxy: SessionProxy, message: WireMessage): void {
    if (message.type !== messageTypes.event) return;
    const event = v.parse(EventSchema, messageJson(message));
    if (event.event === "stale") {
      proxy.noteChange(Number(event.change));
      this.listener?.listChanged(false);
      return;
    }
    proxy.updateInfo(event.info, event.listing);
    this.listener?.listChanged(event.event !== "listing");
    if (event.event === "listing") return;
    if (event.event === "session_end_told") proxy.isEndReported = true;
    else if (proxy.info.running) proxy.isEndReported = false;
    if (event.event === "session_ending") {
      proxy.isLeaving = true;
    } else if (event.event === "session_destroyed") {
      proxy.isLeaving = true;
      proxy.announcedEnd = { reason: event.reason as EndReason, ...lifecycleEvents.exitOf(event) };
    } else if (!proxy.isForeign) {
      this.listener?.event(proxy.info, event, proxy.isLeaving);
    }
  }

  private connectionLost(proxy: SessionProxy): void {
    proxy.connection = null;
    if (this.proxies.get(proxy.entry.id) !== proxy) return;
    this.proxies.delete(proxy.entry.id);
    this.listener?.listChanged(true);
    if (!proxy.isForeign) this.sessionEnded(proxy);
  }

  private sessionEnded(proxy: SessionProxy): void {
    const crash = { reason: "session_crashed", exit_code: null, signal: null } as const;
    const { reason, ...exit } = proxy.announcedEnd ?? crash;
    this.listener?.destroyed(proxy.info, reason, exit);
    if (proxy.announcedEnd === null) void cleanStale(this.instance, [proxy.entry.id]).catch(() => {});
  }

  private infoOf(proxy: SessionProxy): SessionInfo | Promise<SessionInfo> {
    const { connection } = proxy;
    const freshness = connection === null ? "stopped" : proxy.freshness;
    if (freshness === "known") {
      this.hanging.delete(proxy);
      return proxy.infoNow;
    }
    if (connection === null || freshness === "stopped" || this.hanging.has(proxy)) return unresponsive(proxy.infoNow);
    return this.freshInfo(proxy, connection);
  }

  private async freshInfo(proxy: SessionProxy, connection: Connection): Promise<SessionInfo> {
    // Never cancelled: a late answer shows that the session process has recovered.
    const answer = proxy.watch(connection).then(() => {
      this.hanging.delete(proxy);
      return proxy.info;
    });
    const patience = Promise.withResolvers<SessionInfo>();
    const timer = setTimeout(() => {
      this.hanging.add(proxy);
      patience.resolve(unresponsive(proxy.infoNow));
    }, LIST_PATIENCE_MS);
    try {
      return await Promise.race([answer, patience.promise]);
    } catch {
      return unresponsive(proxy.infoNow);
    } finally {
      clearTimeout(timer);
    }
  }
}

/**
 * Lets the event loop read the messages of session processes: a caller that learned of a change directly from one then
 * finds it in the next list.
 */
async function readArrivedMessages(): Promise<void> {
  // The first turn may have polled its sockets already.
  for (let turn = 0; turn < 2; turn++) await new Promise((resume) => setImmediate(resume));
}
