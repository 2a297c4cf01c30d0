/**
 * A page's terminal for a session: attached to the process that serves the session, and to the next one when another
 * takes over or that process crashes. Pictures and events are passed on in order. Input is stored here until it is
 * acknowledged, and is sent again to the next process; the session accepts no number twice.
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
import { AGAIN_MS, AGAIN_POLL_MS, type StreamEnd, StreamEndSchema } from "../../protocol/control.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import { parsePlace } from "../../protocol/names.ts";
import { encodeInput, type NumberedInput } from "../../protocol/numbered-input.ts";
import { Connection, type Dial, type RequestContext } from "../../wire/connection.ts";
import type { StreamedSession, StreamedSessions } from "./streamed-session.ts";

interface ViewFeedEvents {
  /** JSON of a picture, as the session's process wrote it. */
  frame(json: string): void;
  /** Commands about images, counted like a picture. */
  images(commands: string): void;
  keyboard(captured: boolean): void;
  wanted(operation: string): void;
  /** The settings have changed. */
  settings(): void;
  alert(text: string): void;
  /** Input up to this number has been acknowledged. @param record the session's name for these numbers; null: none */
  took(n: number, record: string | null): void;
  /** It is unknown whether unacknowledged input up to this number was typed: it is not sent again. */
  lost(n: number, record: string): void;
  end(end: StreamEnd): void;
}

type Size = Pick<Attach, "rows" | "cols" | "follow">;
type TypedEcho = Extract<AttachEvent, { event: "moved" }>["typed"];

const decoder = new TextDecoder();

export class ViewFeed {
  private connection: Connection | null = null;
  private over = false;
  /** Unacknowledged input, oldest first. */
  private untaken: NumberedInput[] = [];
  private untakenBytes = 0;
  /** Highest number sent to a process of the session. */
  private sent = 0;
  /** Name of the session's record of numbers: a record with another name does not know input sent before. */
  private record: string | null = null;
  /**
   * Whether the current process has reported its acknowledged input, and has its predecessor's: then new input is sent
   * at once.
   */
  private isTold = false;
  private isReady = false;
  /** Highest number that any process of the session has acknowledged. */
  private newest = 0;
  /** Pictures of the current process, and of its predecessors. */
  private pictures = 0;
  private before = 0;

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
    return this.untakenBytes;
  }

  type(input: NumberedInput): void {
    if (this.over || input.number <= this.newest) return;
    this.untaken.push({ number: input.number, bytes: new Uint8Array(input.bytes) });
    this.untakenBytes += input.bytes.length;
    if (this.isTold && this.isReady) this.send(input);
  }

  resize(size: Size): void {
    this.attach = { ...this.attach, ...size };
    this.connection?.send(messageTypes.resize, size);
  }

  /** The page shows every picture up to the n-th of this feed. */
  shown(n: number): void {
    const pictures = Math.min(n - this.before, this.pictures);
    if (pictures > 0) this.tell("peer.written", { bytes: 0, pictures });
  }

  /** The person's new settings, or their error. */
  use(settings: PersonSettings): void {
    if (!("fault" in settings)) this.attach = { ...this.attach, ...settings };
    this.tell("peer.settings", settings);
  }

  focus(on: boolean): void {
    this.tell("peer.focus", { on });
  }

  /** The page's terminal for programs; it also encodes keys in kitty's protocol. */
  colors(colors: TerminalColors): void {
    this.tell("peer.colors", { ...colors, kitty: true });
  }

  /** The person takes the keyboard back. */
  release(): void {
    this.tell("input.release", {});
    this.tell("peer.give_back", {});
  }

  close(): void {
    this.over = true;
    this.connection?.close();
  }

  /** Not awaited: its result appears on the screen. */
  private tell(operation: string, input: unknown): void {
    this.connection?.request(operation, input, this.context).catch(() => {});
  }

  private async connect(address: string | Dial, typed: TypedEcho): Promise<void> {
    const { connection } = await Connection.open(address, "server");
    if (this.over) {
      connection.close();
      return;
    }
    this.connection = connection;
    this.isTold = false;
    this.isReady = false;
    this.before += this.pictures;
    this.pictures = 0;
    connection.listen({
      message: (message) => this.receive(connection, message),
      close: () => this.lost(connection),
    });
    try {
      await connection.request("peer.attach", this.attach, this.context);
    } catch (error) {
      if (this.connection === connection) this.connection = null;
      connection.close();
      throw error;
    }
    for (const each of typed) {
      if ("key" in each) this.tell("peer.command", each);
      else connection.sendBytes(messageTypes.input, encodeInput({ number: 0, bytes: Uint8Array.from(each.bytes) }));
    }
    this.isReady = true;
    this.begin();
  }

  /** A picture with another machine's ids in the form used here. */
  private withMachine(json: string): string {
    const { machine } = parsePlace(this.session);
    return machine === null ? json : addressedJson(machine, json);
  }

  /** Sends all unacknowledged input to this process, which has reported its acknowledged input. */
  private begin(): void {
    if (!this.isTold || !this.isReady) return;
    for (const input of this.untaken) this.send(input);
  }

  private send(input: NumberedInput): void {
    this.sent = Math.max(this.sent, input.number);
    this.connection?.sendBytes(messageTypes.input, encodeInput(input));
  }

  private receive(connection: Connection, message: WireMessage): void {
    if (this.over || connection !== this.connection) return;
    if (message.type === messageTypes.frame) {
      this.pictures++;
      this.events.frame(this.withMachine(decoder.decode(message.payload)));
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
    if (event.event === "took") this.took(event.n, event.record ?? null);
    else if (event.event === "keyboard") events.keyboard(event.captured);
    else if (event.event === "wanted") events.wanted(event.operation);
    else if (event.event === "settings") events.settings();
    else if (event.event === "alert") events.alert(event.text);
    else if (event.event === "moved") {
      this.connection = null;
      connection.close();
      void this.follow(event).catch(() => this.again(event.typed));
    }
  }

  /** The path is on the session's machine: its process there is found by its id. */
  private async follow({ socket, typed }: Extract<AttachEvent, { event: "moved" }>) {
    const { machine } = parsePlace(this.session);
    await this.connect(machine === null ? socket : (await this.sources.find(this.session)).address, typed);
  }

  private took(n: number, record: string | null): void {
    const isOther = record !== null && this.record !== null && record !== this.record;
    if (record !== null) this.record = record;
    if (n > this.newest) this.newest = n;
    // The process that received them is lost, and its record with it: sent again, they could be typed twice.
    if (isOther && this.untaken.some(({ number }) => number > this.newest && number <= this.sent)) {
      this.newest = this.sent;
      this.events.lost(this.sent, this.record ?? "");
    }
    this.untaken = this.untaken.filter(({ number }) => number > this.newest);
    this.untakenBytes = this.untaken.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.events.took(this.newest, this.record);
    if (this.isTold) return;
    this.isTold = true;
    this.begin();
  }

  private lost(connection: Connection): void {
    if (this.over || this.connection !== connection) return;
    this.connection = null;
    void this.again();
  }

  /** Another process serves the session, or will soon. */
  private async again(typed: TypedEcho = []): Promise<void> {
    const until = performance.now() + AGAIN_MS;
    while (!this.over && performance.now() < until) {
      try {
        const source = await this.sources.find(this.session);
        await this.connect(source.address, typed);
        return;
      } catch {
        await Bun.sleep(AGAIN_POLL_MS);
      }
    }
    this.end({ reason: "session_crashed" });
  }

  private end(end: StreamEnd): void {
    if (this.over) return;
    this.close();
    this.events.end(end);
  }
}
