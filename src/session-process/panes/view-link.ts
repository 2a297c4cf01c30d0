/**
 * A view: another session, or one of its panes, shown in a pane here. It is a connection to that process, which sends
 * pictures and receives keys and a size, as with an attached terminal.
 *
 * Owns the newest picture and the newest info. Invariants: neither process ever waits for the other; a picture is
 * complete, and has its stated size.
 */
import * as v from "valibot";
import { AgentInfoSchema } from "../../protocol/agent.ts";
import { type Attach, composedAttach, EffectEventSchema, type TerminalColors } from "../../protocol/attach.ts";
import { EventSchema, PEER_TIMEOUT_MS, type StreamEnd, StreamEndSchema } from "../../protocol/control.ts";
import type { CopyModeInput } from "../../protocol/copy-mode.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Frame, FrameModes } from "../../protocol/frame.ts";
import { applyFrame, FrameUpdateSchema } from "../../protocol/frame-codec.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import type { Owner } from "../../protocol/owner.ts";
import { ReportedEventSchema } from "../../protocol/recorded-events.ts";
import { type PaneInfo, type SessionInfo, SessionInfoSchema } from "../../protocol/session.ts";
import type { Size } from "../../protocol/size.ts";
import type { PtyFlags } from "../../pty/port.ts";
import type * as Kept from "../../terminal/pictures/linked-pictures.ts";
import { picturesUsed, pictureTerminals } from "../../terminal/pictures/picture.ts";
import { Connection, type RequestContext } from "../../wire/connection.ts";
import { patience } from "../../wire/patience.ts";
import { GuestFactsSchema, guestEndedError } from "./guest-facts.ts";
import type { PaneLink, PlacedPane, PlacedPaneEvents } from "./placed-pane.ts";

/** Shortest interval between requests for the info of a constantly changing pane, in ms. */
const MIN_REQUEST_INTERVAL_MS = 250;
/**
 * Time from a change to the request, in ms: answering makes the pane's process query the system, and pictures come
 * first.
 */
const REQUEST_DELAY_MS = 100;
/** Longest wait of the request for a pause between two keys, in ms: the answer would delay their echo. */
const MAX_TYPING_DELAY_MS = 1_000;

/** Delays from the last change to one more request, in ms: a shell starts a program a moment after its output. */
const RECHECK_DELAYS_MS = [500] as const;

/** Requests of the session process itself. */
const OWN_CONTEXT = {
  caller: { kind: "cli", id: `view:${process.pid}`, connected: true },
  access: "admin",
} as const satisfies RequestContext;

/** The target of a link. */
interface LinkTarget {
  readonly id: string;
  readonly socket: string;
  /** Its target in calls there. */
  readonly target: string;
  /** Whether it is a pane of this session that another process runs since it was moved here. */
  readonly isGuest: boolean;
}

export class ViewLink implements PlacedPane, PaneLink {
  readonly link = this;
  readonly isView: boolean;
  readonly isGuest: boolean;
  readonly id: string;
  readonly socket: string;
  readonly target: string;
  /** Info of a guest, in the form for lists. */
  private lastInfo: Omit<PaneInfo, "index" | "active" | "last"> | null = null;
  /** The newest picture; null until the first. */
  frame: Frame | null = null;
  pictures: Kept.LinkedPictures | null = null;
  info: SessionInfo;
  owner: Owner | null = null;
  private infoAt = performance.now();
  private isRequestScheduled = false;
  private recheckTimer: Timer | null = null;
  private requestTimer: Timer | null = null;
  private typedAt = Number.NEGATIVE_INFINITY;
  private isStale = false;
  /** The pending request. */
  private pendingRequest: Promise<void> | null = null;
  private hasStreamEnded = false;
  private isWatched = false;
  private isPrivate = false;
  /** Whether the newest keys are an AI agent's. */
  private byAgent = false;

  private constructor(
    target: LinkTarget,
    private readonly connection: Connection,
    info: SessionInfo,
    /** The size last sent to it. */
    private sentSize: Size,
    private readonly port: PlacedPaneEvents,
  ) {
    this.id = target.id;
    this.socket = target.socket;
    this.target = target.target;
    this.isGuest = target.isGuest;
    this.isView = !target.isGuest;
    this.info = info;
    connection.listen({ message: (message) => this.receive(message), close: () => this.handleEnd(null) });
  }

  /**
   * A program that has ended meanwhile is not an error: its end is reported as usual.
   * @param showingSocket socket of the session that shows it
   * @throws WshError of the process
   */
  static async open(target: LinkTarget, size: Size, showingSocket: string, port: PlacedPaneEvents): Promise<ViewLink> {
    const { id, socket } = target;
    const { connection, hello } = await Connection.open(socket, "layout");
    if (hello.info === undefined) {
      connection.close();
      throw new WshError("session_unavailable", `pane '${id}' is being started`);
    }
    const link = new ViewLink(target, connection, hello.info, size, port);
    try {
      // To its source, a view is an attached terminal. `around` prevents sessions from showing themselves through
      // others; `observe` keeps the view from affecting the size for other viewers.
      const attachRole = target.isGuest ? { records: true } : { around: showingSocket, observe: true };
      const pictures = pictureTerminals.size > 0;
      if (pictures) picturesUsed.now = true;
      const attach = { ...size, ...composedAttach, ...attachRole, pictures } satisfies Attach;
      await link.request("peer.attach", attach);
      link.scheduleFirstRequest();
      return link;
    } catch (error) {
      if (link.hasEnded) return link;
      link.close();
      throw error;
    }
  }

  /** The stream has ended: the process sends and receives nothing more. */
  get hasEnded(): boolean {
    return this.hasStreamEnded;
  }

  get size(): Size {
    return this.sentSize;
  }

  /** Whether its picture has the size last sent. */
  get isCurrent(): boolean {
    const { frame, sentSize } = this;
    return frame !== null && frame.rows === sentSize.rows && frame.cols === sentSize.cols;
  }

  get modes(): FrameModes | null {
    return this.frame?.modes ?? null;
  }

  get title(): string {
    return this.frame?.title ?? "";
  }

  readonly isSynchronized = false;

  resize(size: Size): void {
    if (size.rows === this.sentSize.rows && size.cols === this.sentSize.cols) return;
    this.sentSize = size;
    this.connection.send(messageTypes.resize, size);
  }

  type(bytes: Uint8Array, _flags?: PtyFlags | null, byAgent = this.byAgent): void {
    // Its process cannot tell whose keys these are.
    if (byAgent !== this.byAgent) this.request("peer.by_agent", { on: byAgent }).catch(() => {});
    this.byAgent = byAgent;
    this.connection.sendBytes(messageTypes.input, bytes);
    this.typedAt = performance.now();
  }

  /** @throws its process's error */
  request(op: string, input: unknown, context: RequestContext = OWN_CONTEXT): Promise<unknown> {
    return this.connection.request(op, input, { ...context, target: this.target });
  }

  /**
   * The target pane, and the socket that serves it. @param through views on the way to it
   * @throws WshError session_unavailable when its process hangs
   */
  resolve(through: number): Promise<unknown> {
    const { promise: hangs, reject } = Promise.withResolvers<never>();
    const stopPatience = patience(this.socket, PEER_TIMEOUT_MS, () => {
      reject(new WshError("session_unavailable", `the session process of '${this.info.name}' does not answer`));
    });
    return Promise.race([hangs, this.request("peer.resolve", { through })]).finally(stopPatience);
  }

  async openCopyMode(input: CopyModeInput): Promise<void> {
    await this.request("peer.look", input);
  }

  learnColors(colors: TerminalColors): void {
    // From now on its frames may contain parts of pictures.
    if (colors.graphics === true) picturesUsed.now = true;
    this.request("peer.colors", colors).catch(() => {});
  }

  /** Reports whether a person here is viewing it: only then does it count as attended there. */
  setWatched(isWatched: boolean): void {
    if (this.isGuest || this.hasStreamEnded || isWatched === this.isWatched) return;
    this.isWatched = isWatched;
    this.request("peer.watched", { on: isWatched }).catch(() => {});
  }

  /** A view is only removed from display. */
  async endProgram(): Promise<void> {
    if (this.isGuest && !this.hasStreamEnded) await this.request("peer.end_pane", {}).catch(() => {});
    this.close();
  }

  /** Restarts its program in its place. @throws WshError of its process; session_ended */
  async restart(): Promise<void> {
    if (this.hasStreamEnded) throw guestEndedError(this.id);
    await this.request("peer.restart_pane", {});
    this.isStale = true;
    await this.refresh();
  }

  /** Reports that another session has adopted this guest, or that its session was renamed. */
  setAdoptedBy(home: { readonly number: number; readonly name: string }): void {
    this.request("peer.named_pane", { ...home }).catch(() => {});
  }

  setPrivate(isPrivate: boolean, isNew = false): void {
    if (isPrivate === this.isPrivate && !isNew) return;
    this.isPrivate = isPrivate;
    this.request("peer.private_pane", { on: isPrivate }).catch(() => {});
  }

  /** Time since the last activity in the pane, in ms. */
  idleMs(): number {
    return this.info.idle_ms + Math.floor(performance.now() - this.infoAt);
  }

  /** The pane in the form for lists, without its place. */
  paneInfo(): Omit<PaneInfo, "index" | "active" | "last"> {
    if (this.lastInfo !== null) return this.lastInfo;
    const ownPane = this.info.windows.flatMap(({ panes }) => panes).find(({ id }) => id === this.id);
    const { pid, command, cwd, title, state, exit_code, signal, agent } = this.info;
    const { rows, cols } = this.frame ?? ownPane ?? this.sentSize;
    return {
      id: this.id,
      pid,
      command,
      rows,
      cols,
      cwd,
      title,
      state,
      exit_code,
      signal,
      ...defined({
        program: ownPane?.program,
        last_exit_code: ownPane?.last_exit_code,
        typed_by: ownPane?.typed_by,
        agent,
      }),
      ...(this.info.private === true ? { private: true } : {}),
    };
  }

  /**
   * Requests the info if it may be outdated. A view is asked only after it has reported a change: two sessions that
   * show each other would otherwise ask each other endlessly.
   */
  async refresh(): Promise<void> {
    if (this.hasStreamEnded) return;
    if (!this.isStale) return;
    // Waiting callers set their own deadline; a hanging process is not asked again meanwhile.
    if (this.pendingRequest !== null) return;
    this.pendingRequest = this.requestInfo()
      .catch(() => {})
      .finally(() => {
        this.pendingRequest = null;
      });
    await this.pendingRequest;
  }

  close(): void {
    this.hasStreamEnded = true;
    this.cancelRequests();
    this.connection.close();
  }

  /** @throws its process's error */
  private async requestInfo(): Promise<void> {
    this.isStale = false;
    if (!this.isGuest) {
      this.updateInfo(await this.connection.request("peer.watch", {}, OWN_CONTEXT));
      return;
    }
    const before = this.lastInfo?.agent;
    const { info, owner, idle_ms } = v.parse(GuestFactsSchema, await this.request("peer.pane", {}));
    this.lastInfo = info;
    this.owner = owner ?? null;
    // The info of the connection's start is that of the session that the pane has left.
    this.info = { ...this.info, idle_ms };
    this.infoAt = performance.now();
    if (!Bun.deepEquals(before, info.agent)) this.port.agent(info.agent ?? null);
    this.port.listingChanged();
  }

  private receive(message: WireMessage): void {
    if (this.hasStreamEnded) return;
    if (message.type === messageTypes.frame) {
      const update = v.parse(FrameUpdateSchema, messageJson(message));
      const { view, events } = applyFrame(this.frame, update);
      this.frame = view;
      if (events.bell) this.port.bellRang();
      if (events.clipboard !== null) this.port.copied(events.clipboard);
      this.port.rendered();
      if (this.isGuest) this.scheduleRequest();
    } else if (message.type === messageTypes.output) {
      this.port.echoed(message.payload);
    } else if (message.type === messageTypes.images) {
      this.handlePictures(message.payload);
    } else if (message.type === messageTypes.end) {
      this.handleEnd(v.parse(StreamEndSchema, messageJson(message)));
    } else if (message.type === messageTypes.event) this.handleEvent(messageJson(message));
  }

  private handlePictures(commands: Uint8Array): void {
    if (this.pictures === null) {
      // Loaded with the first one: most sessions have none.
      const { LinkedPictures }: typeof Kept = require("../../terminal/pictures/linked-pictures.ts");
      this.pictures = new LinkedPictures();
    }
    this.pictures.handleCommands(commands);
    this.port.rendered();
  }

  private handleEvent(value: unknown): void {
    const effect = v.safeParse(EffectEventSchema, value);
    if (effect.success) {
      this.port.effect({ ...effect.output, bytes: Buffer.from(effect.output.bytes, "base64") });
      return;
    }
    const reported = v.safeParse(ReportedEventSchema, value);
    if (reported.success) {
      this.port.eventReported(reported.output.details);
      return;
    }
    const event = v.safeParse(EventSchema, value);
    if (!event.success) return;
    if (event.output.event === "stale") {
      this.isStale = true;
      this.scheduleRequest();
      return;
    }
    if (event.output.info !== undefined) this.updateInfo(event.output.info);
    if (event.output.event !== "agent_state") return;
    const agent = v.safeParse(v.nullable(AgentInfoSchema), event.output.agent);
    if (agent.success) this.port.agent(agent.output);
  }

  /** Schedules the first request after the first pictures: the info from the connection's start is still new. */
  private scheduleFirstRequest(): void {
    this.isStale = true;
    this.recheckTimer = setTimeout(() => {
      void this.refresh();
      this.recheckLater();
    }, REQUEST_DELAY_MS);
    this.recheckTimer.unref();
  }

  /** A pane that prints constantly is asked a few times a second; one with typed input, when the person pauses. */
  private scheduleRequest(): void {
    this.isStale = true;
    if (this.isRequestScheduled) return;
    this.isRequestScheduled = true;
    const now = performance.now();
    this.requestIn(Math.max(REQUEST_DELAY_MS, this.infoAt + MIN_REQUEST_INTERVAL_MS - now), now + MAX_TYPING_DELAY_MS);
    this.recheckLater();
    this.port.listingChanged();
  }

  private requestIn(ms: number, latest: number): void {
    this.requestTimer = setTimeout(() => {
      const wait = Math.min(this.typedAt + REQUEST_DELAY_MS, latest) - performance.now();
      if (wait > 0) {
        this.requestIn(wait, latest);
        return;
      }
      this.isRequestScheduled = false;
      void this.refresh();
    }, ms);
    this.requestTimer.unref();
  }

  /** Checks again after the activity. */
  private recheckLater(): void {
    const startedAt = performance.now();
    const schedule = (after: readonly number[]): void => {
      const [next, ...rest] = after;
      clearTimeout(this.recheckTimer ?? undefined);
      if (next === undefined || this.hasStreamEnded) return;
      this.recheckTimer = setTimeout(
        () => {
          schedule(rest);
          this.isStale = true;
          // Otherwise the scheduled request is sent at the person's next pause.
          if (!this.isRequestScheduled) void this.refresh();
        },
        startedAt + next - performance.now(),
      );
      this.recheckTimer.unref();
    };
    schedule(RECHECK_DELAYS_MS);
  }

  private cancelRequests(): void {
    clearTimeout(this.recheckTimer ?? undefined);
    clearTimeout(this.requestTimer ?? undefined);
  }

  private updateInfo(value: unknown): void {
    const info = v.safeParse(SessionInfoSchema, value);
    if (!info.success) return;
    this.info = info.output;
    this.infoAt = performance.now();
    this.port.listingChanged();
  }

  private handleEnd(end: StreamEnd | null): void {
    if (this.hasStreamEnded) return;
    this.hasStreamEnded = true;
    this.cancelRequests();
    if (end === null && this.isGuest) {
      this.port.processLost();
      return;
    }
    this.port.ended({ code: end?.exit_code ?? null, signal: end?.signal ?? null, isOwn: end?.reason === "exited" });
    if (end !== null) this.connection.close();
  }
}
