/**
 * A pane as the layout process has it: a connection to the process that runs it, which sends pictures and takes keys
 * and a size, as it does with an attached terminal. The pane may be one of this session, or a view of another one.
 *
 * Owns the newest picture and the newest info. What must stay true: the pane's process never waits for us, nor we for
 * it; a picture is complete, and of the size that it says.
 */
import * as v from "valibot";
import type { Loan } from "../endpoint/attach/shown.ts";
import { type AgentInfo, AgentInfoSchema } from "../protocol/agent.ts";
import {
  type Attach,
  type AttachEvent,
  AttachEventSchema,
  composedAttach,
  type LendInput,
  type LentBack,
  LentBackSchema,
} from "../protocol/attach.ts";
import { EventSchema, type Listing, ListingSchema, type StreamEnd, StreamEndSchema } from "../protocol/control.ts";
import { WshError } from "../protocol/errors.ts";
import type { Frame } from "../protocol/frame.ts";
import { applyFrame, FrameUpdateSchema } from "../protocol/frame-codec.ts";
import { type Message, messageJson, messageTypes } from "../protocol/messages.ts";
import { type PaneInfo, type SessionInfo, SessionInfoSchema } from "../protocol/session.ts";
import type { Size } from "../protocol/size.ts";
import type { SessionPlace } from "../session/viewers.ts";
import { Connection, type RequestContext } from "../wire/connection.ts";
import { endProcess } from "../wire/end-processes.ts";
import { standingOf } from "../wire/standing.ts";

/** Shortest time between two questions for the info of a pane that changes all the time, in ms. */
const INFO_MS = 250;
/** Time from a change to the question, in ms: an answer costs the pane's process a look at the system; pictures come first. */
const ASK_MS = 100;
/** Longest time that the question waits for a pause between two keys, in ms: the answer would hold up their echo. */
const TYPED_MS = 1_000;

export interface PaneLinkPort {
  /** A new picture is there. */
  painted(): void;
  /** The echo of a key, which the next picture has. @param loan a terminal that it was lent has it already */
  echoed(bytes: Uint8Array, loan: number | null): void;
  rang(): void;
  copied(clipboard: { readonly selection: string; readonly base64: string }): void;
  /** What lists show of the pane may have changed. */
  listed(): void;
  /** The AI agent in it has changed; null: there is none any more. */
  agent(agent: AgentInfo | null): void;
  /** A key that was pressed in it leads to another session. */
  go(place: SessionPlace): void;
  /** The stream is over: the program has ended, was killed, or the process is gone (null). */
  ended(end: StreamEnd | null): void;
}

/** A pane that printed within this time may be flooding, in ms: a flood's picture comes several times as often. */
const PRINTING_MS = 500;

/**
 * Times from the last news to one more question, in ms. A shell starts a program a moment after what it has printed, and
 * a program that replaces another prints nothing. There are no more once the state lasts until the process runs again.
 */
const SETTLED_MS = [500, 2_000, 8_000] as const;

const WatchedSchema = v.looseObject({ listing: v.optional(v.unknown()) });

/** Requests of the layout process itself. */
export const OWN_CONTEXT = {
  caller: { kind: "cli", id: `layout:${process.pid}`, connected: true },
  access: "admin",
} as const satisfies RequestContext;

export class PaneLink {
  /** The newest picture; null until the first. */
  frame: Frame | null = null;
  info: SessionInfo;
  private infoAt = performance.now();
  private asking = false;
  private later: Timer | null = null;
  private askTimer: Timer | null = null;
  private paintedAt = Number.NEGATIVE_INFINITY;
  private typedAt = Number.NEGATIVE_INFINITY;
  private isStale = false;
  /** How long the info holds; null: not known. */
  private listing: Listing | null = null;
  /** What was asked and is not answered yet. */
  private question: Promise<void> | null = null;
  private over = false;
  /** Told of the keys that the process reads at a terminal that it was lent; null: it has none. */
  private typedThere: (() => void) | null = null;

  private constructor(
    readonly id: string,
    readonly socket: string,
    private readonly connection: Connection,
    info: SessionInfo,
    /** The size that it was told. */
    private told: Size,
    /** It is shown here and belongs to another session. */
    readonly isView: boolean,
    private readonly port: PaneLinkPort,
  ) {
    this.info = info;
    connection.listen({ message: (message) => this.receive(message), close: () => this.end(null) });
  }

  /**
   * A program that has ended meanwhile is no failure: its end is reported as that of any other.
   * @param how what its process is told of its session before anything else; of a view, what shows it
   * @throws WshError of the pane's process
   */
  static async open(
    id: string,
    socket: string,
    size: Size,
    how: { readonly served: object } | { readonly around: string },
    port: PaneLinkPort,
  ): Promise<PaneLink> {
    const { connection, hello } = await Connection.open(socket, "layout");
    if (hello.info === undefined) {
      connection.close();
      throw new WshError("host_unavailable", `pane '${id}' is being started`);
    }
    const link = new PaneLink(id, socket, connection, hello.info, size, "around" in how, port);
    try {
      const attach = {
        ...size,
        ...composedAttach,
        // A view is a terminal in the session that has it: sessions do not show themselves by way of others. It changes
        // no size that somebody else looks at.
        ...("around" in how ? { ...how, observe: true } : {}),
      } satisfies Attach;
      // In this order, and without waiting in between: the answers are awaited together.
      const told = "served" in how ? connection.request("host.served", how.served, OWN_CONTEXT) : null;
      await Promise.all([told, connection.request("host.attach", attach, OWN_CONTEXT)]);
      link.watch();
      return link;
    } catch (error) {
      if (link.isOver) return link;
      link.close();
      throw error;
    }
  }

  /** The stream has ended: nothing comes from the process, and nothing reaches it. */
  get isOver(): boolean {
    return this.over;
  }

  get size(): Size {
    return this.told;
  }

  /** Whether its picture has the size that it was told last. */
  get isCurrent(): boolean {
    const { frame, told } = this;
    return frame !== null && frame.rows === told.rows && frame.cols === told.cols;
  }

  resize(size: Size): void {
    if (size.rows === this.told.rows && size.cols === this.told.cols) return;
    this.told = size;
    this.connection.send(messageTypes.resize, size);
  }

  type(bytes: Uint8Array): void {
    this.connection.sendBytes(messageTypes.input, bytes);
    this.typedAt = performance.now();
  }

  /**
   * Lends it a terminal; null while it has one, or is another session's.
   * @param typed a key was read there
   */
  lend(lent: LendInput, typed: () => void): Loan | null {
    if (this.isView || this.over || this.typedThere !== null) return null;
    const ends = new AbortController();
    this.typedThere = typed;
    const over = this.request("host.lend", lent, { ...OWN_CONTEXT, signal: ends.signal })
      .then((back) => v.parse(LentBackSchema, back))
      // A process of another version may know of no loans.
      .catch((): LentBack | null => (this.over ? null : { keys: [], refused: true }))
      .finally(() => {
        this.typedThere = null;
      });
    return { over, recall: () => ends.abort() };
  }

  /** A person types in another pane. One that prints is told, and leaves the processors to the echo if it floods. */
  typedBeside(): void {
    if (this.isView || this.over || performance.now() - this.paintedAt > PRINTING_MS) return;
    this.connection.request("host.typed_beside", {}, OWN_CONTEXT).catch(() => {});
  }

  /** @throws what the pane's process answered */
  request(op: string, input: unknown, context: RequestContext = OWN_CONTEXT): Promise<unknown> {
    return this.connection.request(op, input, context);
  }

  /**
   * Ends the pane's program; a view is only shown no more. Resolves when it has ended, or cannot be asked.
   * @param by the signal that ends the whole session from outside
   */
  async endProgram(by?: string): Promise<void> {
    if (this.isView) this.close();
    // Over a connection of its own: this one is closed with its stream, long before a program that resists has ended.
    else await endProcess(this.socket, { reason: "killed", by }).catch(() => {});
  }

  /** Time since something happened in the pane, in ms. */
  idleMs(): number {
    return this.info.idle_ms + Math.floor(performance.now() - this.infoAt);
  }

  /** The pane as lists show it, without its place. */
  paneInfo(): Omit<PaneInfo, "index" | "active"> {
    const own = this.info.windows.flatMap(({ panes }) => panes).find(({ id }) => id === this.id);
    const { pid, command, cwd, title, state, exit_code, signal, agent } = this.info;
    const { rows, cols } = this.frame ?? own ?? this.told;
    return {
      ...{ id: this.id, pid, command, rows, cols, cwd, title, state, exit_code, signal },
      ...(own?.program === undefined ? {} : { program: own.program }),
      ...(own?.last_exit_code === undefined ? {} : { last_exit_code: own.last_exit_code }),
      ...(own?.typed_by === undefined ? {} : { typed_by: own.typed_by }),
      ...(agent === undefined ? {} : { agent }),
    };
  }

  /**
   * Asks for the info, if it may be out of date. A view is asked only after it has reported a change: two sessions that
   * show each other would ask each other for ever.
   */
  async refresh(): Promise<void> {
    if (this.over) return;
    const { listing } = this;
    const lasts = listing !== null && standingOf(listing, listing.change) !== "ask";
    if (!this.isStale && (this.isView || lasts)) return;
    // Who waits for an answer sets himself a limit; one that hangs is not asked again.
    if (this.question !== null) return this.isView ? undefined : this.question;
    this.question = this.ask()
      .catch(() => {})
      .finally(() => {
        this.question = null;
      });
    await this.question;
  }

  close(): void {
    this.over = true;
    this.stopAsking();
    this.connection.close();
  }

  /** @throws what its process answered */
  private async ask(): Promise<void> {
    this.isStale = false;
    const answer = await this.connection.request("host.watch", {}, OWN_CONTEXT);
    this.learn(answer, v.parse(WatchedSchema, answer).listing);
  }

  private receive(message: Message): void {
    if (this.over) return;
    if (message.type === messageTypes.frame) {
      const update = v.parse(FrameUpdateSchema, messageJson(message));
      const { view, events } = applyFrame(this.frame, update);
      this.frame = view;
      this.paintedAt = performance.now();
      if (events.bell) this.port.rang();
      if (events.clipboard !== null) this.port.copied(events.clipboard);
      this.port.painted();
    } else if (message.type === messageTypes.output) {
      this.port.echoed(message.payload, null);
    } else if (message.type === messageTypes.end) {
      this.end(v.parse(StreamEndSchema, messageJson(message)));
    } else if (message.type === messageTypes.event) this.event(messageJson(message));
  }

  private event(value: unknown): void {
    const told = v.safeParse(AttachEventSchema, value);
    if (told.success) {
      if (told.output.event === "go") this.port.go(told.output);
      else if (told.output.event === "lent") this.lent(told.output);
      return;
    }
    const event = v.safeParse(EventSchema, value);
    if (!event.success) return;
    if (event.output.event === "stale") {
      this.isStale = true;
      this.askSoon();
      return;
    }
    if (event.output.info !== undefined) this.learn(event.output.info, event.output.listing);
    if (event.output.event !== "agent_state") return;
    const agent = v.safeParse(v.nullable(AgentInfoSchema), event.output.agent);
    if (agent.success) this.port.agent(agent.output);
  }

  private lent({ loan, text, typed }: Extract<AttachEvent, { event: "lent" }>): void {
    if (typed) {
      this.typedAt = performance.now();
      this.typedThere?.();
    }
    if (text !== "") this.port.echoed(Buffer.from(text, "latin1"), loan);
  }

  /** Asks for the first time, once its first pictures are there: what it said of itself as it was connected is new. */
  private watch(): void {
    this.isStale = true;
    this.later = setTimeout(() => {
      void this.refresh();
      this.settle();
    }, ASK_MS);
    this.later.unref();
  }

  /** One that prints all the time is asked a few times a second; one that is typed into, when its person pauses. */
  private askSoon(): void {
    if (this.asking) return;
    this.asking = true;
    const now = performance.now();
    this.askIn(Math.max(ASK_MS, this.infoAt + INFO_MS - now), now + TYPED_MS);
    this.settle();
    this.port.listed();
  }

  private askIn(ms: number, latest: number): void {
    this.askTimer = setTimeout(() => {
      const wait = Math.min(this.typedAt + ASK_MS, latest) - performance.now();
      if (wait > 0) {
        this.askIn(wait, latest);
        return;
      }
      this.asking = false;
      void this.refresh();
    }, ms);
    this.askTimer.unref();
  }

  /** Looks again when what has happened is over. */
  private settle(): void {
    const at = performance.now();
    const look = (after: readonly number[]): void => {
      const [next, ...rest] = after;
      clearTimeout(this.later ?? undefined);
      if (next === undefined || this.over) return;
      this.later = setTimeout(
        () => {
          look(rest);
          if (this.isView) this.isStale = true;
          // Else it is asked anyway, when its person pauses.
          if (!this.asking) void this.refresh();
        },
        at + next - performance.now(),
      );
      this.later.unref();
    };
    look(this.isView ? SETTLED_MS.slice(0, 1) : SETTLED_MS);
  }

  private stopAsking(): void {
    clearTimeout(this.later ?? undefined);
    clearTimeout(this.askTimer ?? undefined);
  }

  private learn(value: unknown, listing: unknown): void {
    const info = v.safeParse(SessionInfoSchema, value);
    if (!info.success) return;
    const said = v.safeParse(ListingSchema, listing);
    this.listing = said.success ? said.output : null;
    this.info = info.output;
    this.infoAt = performance.now();
    this.port.listed();
  }

  private end(end: StreamEnd | null): void {
    if (this.over) return;
    this.over = true;
    this.stopAsking();
    this.port.ended(end);
    if (end !== null) this.connection.close();
  }
}
