/**
 * A page's terminal for a session, attached to the process that serves the session, or to its successor when
 * another process has taken over or that process has crashed. Pictures and events are passed on in order. Input
 * is stored here until it is acknowledged, and is sent again to the next process; the session accepts no number
 * twice.
 */
import * as v from "valibot";
import { addressedJson } from "../../cluster/machine-prefix.ts";
import {
  type Attach,
  type AttachEvent,
  AttachEventSchema,
  type PersonSettings,
  type TerminalColors,
} from "../../protocol/attach.ts";
import { type StreamEnd, StreamEndSchema } from "../../protocol/control.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import { parsePlace } from "../../protocol/names.ts";
import { encodeInput, type NumberedInput } from "../../protocol/numbered-input.ts";
import { Connection, type Dial, type RequestContext } from "../../wire/connection.ts";
import { reconnect } from "./reconnect.ts";
import type { StreamedSession, StreamedSessions } from "./streamed-session.ts";

interface ViewFeedEvents {
  /** JSON of a picture, as the session's process wrote it. */
  frame(json: string): void;
  /** Commands about images, counted like a picture. */
  images(commands: string): void;
  keyboard(captured: boolean): void;
  actionRequested(operation: string): void;
  /** The settings have changed. */
  settings(): void;
  alert(text: string): void;
  /** Input up to this number has been acknowledged. @param record the session's name for these numbers; null: none */
  inputAcknowledged(n: number, record: string | null): void;
  /** It is unknown whether unacknowledged input up to this number was typed: it is not sent again. */
  inputLost(n: number, record: string): void;
  end(end: StreamEnd): void;
}

type Size = Pick<Attach, "rows" | "cols" | "follow">;
/** Input that the former process had received and not used. */
type QueuedInput = Extract<AttachEvent, { event: "moved" }>["typed"];

const decoder = new TextDecoder();

export class ViewFeed {
  private connection: Connection | null = null;
  private isOver = false;
  /** Unacknowledged input, oldest first. */
  private unacknowledged: NumberedInput[] = [];
  private unacknowledgedBytes = 0;
  /** Highest number sent to a process of the session. */
  private highestSent = 0;
  /** Name of the session's record of numbers: a record with another name does not know input sent before. */
  private record: string | null = null;
  /**
   * Whether the current process has reported its acknowledged input, and has its predecessor's: then new input is sent
   * at once.
   */
  private hasReportedInput = false;
  private isAttached = false;
  /** What the page has reported of itself, for the next process; null: nothing. */
  private readonly reported: { colors: TerminalColors | null; hasFocus: boolean | null } = {
    colors: null,
    hasFocus: null,
  };
  /** Highest number that any process of the session has acknowledged. */
  private highestAcknowledged = 0;
  /** Pictures of the current process, and of its predecessors. */
  private pictures = 0;
  private earlierPictures = 0;

  private constructor(
    private readonly sources: StreamedSessions,
    private readonly session: string,
    private attach: Attach,
    private readonly context: RequestContext,
    private readonly events: ViewFeedEvents,
  ) {}

  /** @throws the error of the session's process */
  static async open(
    sources: StreamedSessions,
    source: StreamedSession,
    attach: Attach,
    context: RequestContext,
    events: ViewFeedEvents,
  ): Promise<ViewFeed> {
    const feed = new ViewFeed(sources, source.info.id, attach, context, events);
    await feed.connect(source.address, []);
    return feed;
  }

  /** Bytes of input that no process has acknowledged yet. */
  get pending(): number {
    return this.unacknowledgedBytes;
  }

  type(input: NumberedInput): void {
    if (this.isOver || input.number <= this.highestAcknowledged) return;
    this.unacknowledged.push({ number: input.number, bytes: new Uint8Array(input.bytes) });
    this.unacknowledgedBytes += input.bytes.length;
    if (this.hasReportedInput && this.isAttached) this.send(input);
  }

  resize(size: Size): void {
    this.attach = { ...this.attach, ...size };
    this.connection?.send(messageTypes.resize, size);
  }

  /** The page shows every picture up to the n-th of this feed. */
  confirmShown(n: number): void {
    const pictures = Math.min(n - this.earlierPictures, this.pictures);
    if (pictures > 0) this.request("peer.written", { bytes: 0, pictures });
  }

  /** The person's new settings, or their error. */
  applySettings(settings: PersonSettings): void {
    if (!("fault" in settings)) this.attach = { ...this.attach, ...settings };
    this.request("peer.settings", settings);
  }

  focus(on: boolean): void {
    this.reported.hasFocus = on;
    this.request("peer.focus", { on });
  }

  /** The page's terminal for programs; it also encodes keys in kitty's protocol. */
  colors(colors: TerminalColors): void {
    this.reported.colors = colors;
    this.request("peer.colors", { ...colors, kitty: true });
  }

  /** The person takes the keyboard back. */
  release(): void {
    this.request("input.release", {});
    this.request("peer.give_back", {});
  }

  close(): void {
    this.isOver = true;
    this.connection?.close();
  }

  /** Not awaited: its result appears on the screen. */
  private request(operation: string, input: unknown): void {
    this.connection?.request(operation, input, this.context).catch(() => {});
  }

  private async connect(address: string | Dial, queued: QueuedInput): Promise<void> {
    const { connection } = await Connection.open(address, "server");
    if (this.isOver) {
      connection.close();
      return;
    }
    this.connection = connection;
    this.hasReportedInput = false;
    this.isAttached = false;
    this.earlierPictures += this.pictures;
    this.pictures = 0;
    connection.listen({
      message: (message) => this.receive(connection, message),
      close: () => this.connectionLost(connection),
    });
    try {
      await connection.request("peer.attach", this.attach, this.context);
      if (!this.isOver && this.connection === connection) connection.requireOpen();
    } catch (error) {
      if (this.connection === connection) this.connection = null;
      connection.close();
      throw error;
    }
    const { colors, hasFocus } = this.reported;
    if (colors !== null) this.colors(colors);
    if (hasFocus !== null) this.focus(hasFocus);
    for (const each of queued) {
      if ("key" in each) this.request("peer.command", each);
      else connection.sendBytes(messageTypes.input, encodeInput({ number: 0, bytes: Uint8Array.from(each.bytes) }));
    }
    this.isAttached = true;
    this.sendUnacknowledged();
  }

  /** Sends all unacknowledged input to this process once it has reported its acknowledged input. */
  private sendUnacknowledged(): void {
    if (!this.hasReportedInput || !this.isAttached) return;
    for (const input of this.unacknowledged) this.send(input);
  }

  private send(input: NumberedInput): void {
    if (this.connection === null) return;
    this.highestSent = Math.max(this.highestSent, input.number);
    this.connection.sendBytes(messageTypes.input, encodeInput(input));
  }

  private receive(connection: Connection, message: WireMessage): void {
    if (this.isOver || connection !== this.connection) return;
    if (message.type === messageTypes.frame) {
      this.pictures++;
      this.events.frame(addressedJson(this.session, decoder.decode(message.payload)));
    } else if (message.type === messageTypes.images) {
      this.pictures++;
      this.events.images(decoder.decode(message.payload));
    } else if (message.type === messageTypes.end) {
      this.end(v.parse(StreamEndSchema, messageJson(message)));
    } else if (message.type === messageTypes.event) {
      const event = v.safeParse(AttachEventSchema, messageJson(message));
      if (event.success) this.event(connection, event.output);
    }
  }

  private event(connection: Connection, event: AttachEvent): void {
    const { events } = this;
    if (event.event === "took") this.acknowledge(event.n, event.record ?? null);
    else if (event.event === "keyboard") events.keyboard(event.captured);
    else if (event.event === "wanted") events.actionRequested(event.operation);
    else if (event.event === "settings") events.settings();
    else if (event.event === "alert") events.alert(event.text);
    else if (event.event === "moved") {
      this.connection = null;
      connection.close();
      void this.followSession(event).catch(() => this.reconnect(event.typed));
    }
  }

  /** The path is on the session's machine: its process there is found by its id. */
  private async followSession({ socket, typed }: Extract<AttachEvent, { event: "moved" }>) {
    const { machine } = parsePlace(this.session);
    await this.connect(machine === null ? socket : (await this.sources.find(this.session)).address, typed);
  }

  private acknowledge(n: number, record: string | null): void {
    const isOther = record !== null && this.record !== null && record !== this.record;
    if (record !== null) this.record = record;
    if (n > this.highestAcknowledged) this.highestAcknowledged = n;
    // The process that received them is lost, and its record with it: sent again, they could be typed twice.
    if (
      isOther &&
      this.unacknowledged.some(({ number }) => number > this.highestAcknowledged && number <= this.highestSent)
    ) {
      this.highestAcknowledged = this.highestSent;
      this.events.inputLost(this.highestSent, this.record ?? "");
    }
    this.unacknowledged = this.unacknowledged.filter(({ number }) => number > this.highestAcknowledged);
    this.unacknowledgedBytes = this.unacknowledged.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.events.inputAcknowledged(this.highestAcknowledged, this.record);
    if (this.hasReportedInput) return;
    this.hasReportedInput = true;
    this.sendUnacknowledged();
  }

  /** A connection that is lost before it is attached fails `connect`, whose caller decides. */
  private connectionLost(connection: Connection): void {
    if (this.isOver || this.connection !== connection || !this.isAttached) return;
    this.connection = null;
    void this.reconnect();
  }

  private async reconnect(typed: QueuedInput = []): Promise<void> {
    const connect = ({ address }: StreamedSession): Promise<void> => this.connect(address, typed);
    if (await reconnect(this.sources, this.session, connect, () => this.isOver)) return;
    this.end({ reason: "session_crashed" });
  }

  private end(end: StreamEnd): void {
    if (this.isOver) return;
    this.close();
    this.events.end(end);
  }
}
