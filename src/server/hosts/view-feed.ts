/**
 * A page's terminal at a session: attached to the process that serves the session, and to the next one when another
 * takes over (its first split) or that process was lost. Pictures and events pass in order. Input stays here until its
 * number was taken, and is sent again where the session goes on; the session takes no number twice.
 */
import * as v from "valibot";
import { addressedJson } from "../../cluster/addressed.ts";
import { type Attach, AttachEventSchema } from "../../protocol/attach.ts";
import { REPLACED_MS, type StreamEnd, StreamEndSchema } from "../../protocol/control.ts";
import { WshError } from "../../protocol/errors.ts";
import { type Message, messageJson, messageTypes } from "../../protocol/messages.ts";
import { parsePlace } from "../../protocol/names.ts";
import { encodeInput, type NumberedInput } from "../../protocol/numbered-input.ts";
import { Connection, type Dial, type RequestContext } from "../../wire/connection.ts";
import { REPLACED_POLL_MS } from "./being-replaced.ts";
import type { StreamedHost, StreamedHosts } from "./streamed-host.ts";

export interface ViewFeedEvents {
  /** JSON of a picture, as the session's process wrote it. */
  frame(json: string): void;
  keyboard(captured: boolean): void;
  wanted(operation: string): void;
  alert(text: string): void;
  /** Input up to this number has been taken. */
  took(n: number): void;
  end(end: StreamEnd): void;
}

type Size = Pick<Attach, "rows" | "cols" | "follow">;
type Typed = Extract<v.InferOutput<typeof AttachEventSchema>, { event: "moved" }>["typed"];

const decoder = new TextDecoder();

export class ViewFeed {
  private connection: Connection | null = null;
  private over = false;
  /** Input whose number has not been taken, oldest first. */
  private untaken: NumberedInput[] = [];
  private untakenBytes = 0;
  /** The present process has said what it has taken: input goes there at once. */
  private begun = false;
  /** Highest number that any process of the session has taken. */
  private newest = 0;
  /** Pictures of the present process, and those of the ones before it. */
  private pictures = 0;
  private before = 0;

  private constructor(
    private readonly hosts: StreamedHosts,
    private readonly session: string,
    private attach: Attach,
    private readonly context: RequestContext,
    private readonly events: ViewFeedEvents,
  ) {}

  /** @throws what the session's process answered */
  static async open(
    hosts: StreamedHosts,
    host: StreamedHost,
    attach: Attach,
    context: RequestContext,
    events: ViewFeedEvents,
  ): Promise<ViewFeed> {
    const feed = new ViewFeed(hosts, host.info.id, attach, context, events);
    await feed.connect(host.address, []);
    return feed;
  }

  /** Bytes of input that no process has taken yet. */
  get pending(): number {
    return this.untakenBytes;
  }

  type(input: NumberedInput): void {
    if (this.over || input.number <= this.newest) return;
    this.untaken.push({ number: input.number, bytes: new Uint8Array(input.bytes) });
    this.untakenBytes += input.bytes.length;
    if (this.begun) this.connection?.sendBytes(messageTypes.input, encodeInput(input));
  }

  resize(size: Size): void {
    this.attach = { ...this.attach, ...size };
    this.connection?.send(messageTypes.resize, size);
  }

  /** The page shows every picture up to the n-th of this feed. */
  shown(n: number): void {
    const pictures = Math.min(n - this.before, this.pictures);
    if (pictures > 0) this.tell("host.written", { bytes: 0, pictures });
  }

  focus(on: boolean): void {
    this.tell("host.focus", { on });
  }

  /** The person takes the keyboard back. */
  release(): void {
    this.tell("input.release", {});
    this.tell("host.give_back", {});
  }

  close(): void {
    this.over = true;
    this.connection?.close();
  }

  /** Not awaited: its result appears on the screen. */
  private tell(operation: string, input: unknown): void {
    this.connection?.request(operation, input, this.context).catch(() => {});
  }

  private async connect(address: string | Dial, typed: Typed): Promise<void> {
    const { connection } = await Connection.open(address, "server");
    if (this.over) {
      connection.close();
      return;
    }
    this.connection = connection;
    this.begun = false;
    this.before += this.pictures;
    this.pictures = 0;
    connection.listen({
      message: (message) => this.receive(connection, message),
      close: () => this.lost(connection),
    });
    try {
      await connection.request("host.attach", this.attach, this.context);
    } catch (error) {
      if (this.connection === connection) this.connection = null;
      connection.close();
      throw error;
    }
    for (const each of typed) {
      if ("key" in each) this.tell("host.command", each);
      else connection.sendBytes(messageTypes.input, encodeInput({ number: 0, bytes: Uint8Array.from(each.bytes) }));
    }
    this.begin();
  }

  /** A picture, with the ids of another machine as they are said here. */
  private named(json: string): string {
    const { machine } = parsePlace(this.session);
    return machine === null ? json : addressedJson(machine, json);
  }

  /** Everything that no process has taken goes to this one. */
  private begin(): void {
    this.begun = true;
    for (const input of this.untaken) this.connection?.sendBytes(messageTypes.input, encodeInput(input));
  }

  private receive(connection: Connection, message: Message): void {
    if (this.over || connection !== this.connection) return;
    if (message.type === messageTypes.frame) {
      this.pictures++;
      this.events.frame(this.named(decoder.decode(message.payload)));
    } else if (message.type === messageTypes.end) {
      this.end(v.parse(StreamEndSchema, messageJson(message)));
    } else if (message.type === messageTypes.event) {
      const event = v.safeParse(AttachEventSchema, messageJson(message));
      if (event.success) this.event(connection, event.output);
    }
  }

  private event(connection: Connection, event: v.InferOutput<typeof AttachEventSchema>): void {
    const { events } = this;
    if (event.event === "took") this.took(event.n);
    else if (event.event === "keyboard") events.keyboard(event.captured);
    else if (event.event === "wanted") events.wanted(event.operation);
    else if (event.event === "alert") events.alert(event.text);
    else if (event.event === "moved") {
      this.connection = null;
      connection.close();
      void this.follow(event).catch(() => this.again());
    }
  }

  /** The path is one of the machine that the session is on: what serves it there is found by its id. */
  private async follow({ socket, typed }: Extract<v.InferOutput<typeof AttachEventSchema>, { event: "moved" }>) {
    const { machine } = parsePlace(this.session);
    await this.connect(machine === null ? socket : (await this.hosts.find(this.session)).address, typed);
  }

  private took(n: number): void {
    if (n > this.newest) this.newest = n;
    this.untaken = this.untaken.filter(({ number }) => number > this.newest);
    this.untakenBytes = this.untaken.reduce((sum, { bytes }) => sum + bytes.length, 0);
    this.events.took(this.newest);
  }

  private lost(connection: Connection): void {
    if (this.over || this.connection !== connection) return;
    this.connection = null;
    void this.again();
  }

  /** Another process serves the session, or will soon. */
  private async again(): Promise<void> {
    const until = performance.now() + REPLACED_MS;
    while (!this.over && performance.now() < until) {
      try {
        const host = await this.hosts.find(this.session);
        if (host.isMember) throw new WshError("host_unavailable", "its layout process is not there yet");
        await this.connect(host.address, []);
        return;
      } catch {
        await Bun.sleep(REPLACED_POLL_MS);
      }
    }
    this.end({ reason: "host_crashed" });
  }

  private end(end: StreamEnd): void {
    if (this.over) return;
    this.close();
    this.events.end(end);
  }
}
