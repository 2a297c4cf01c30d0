/**
 * A WebSocket's stream of a session's window: a connection to the process that serves the session, or to its
 * successor after a crash. Events keep their order and numbers then.
 */
import * as v from "valibot";
import { addressedJson } from "../../cluster/machine-prefix.ts";
import { StreamEndSchema } from "../../protocol/control.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import type { WindowSubscription } from "../../protocol/window-stream.ts";
import { Connection, type RequestContext } from "../../wire/connection.ts";
import { reconnect } from "./reconnect.ts";
import type { StreamedSession, StreamedSessions } from "./streamed-session.ts";

/** The number at the beginning of an event. */
const SEQ = /"seq":(\d+)/;
const decoder = new TextDecoder();

interface WindowFeedEvents {
  /** JSON of an event, as the session's process wrote it. */
  event(json: string): void;
  end(reason: string): void;
}

export class WindowFeed {
  private connection: Connection | null = null;
  private isOver = false;
  private isSubscribed = false;
  private seq = 0;

  private constructor(
    private readonly sources: StreamedSessions,
    /** Id of the session. */
    readonly session: string,
    private readonly options: WindowSubscription,
    private readonly context: RequestContext,
    private readonly events: WindowFeedEvents,
  ) {}

  /** @throws the error of the session's process */
  static async open(
    sources: StreamedSessions,
    source: StreamedSession,
    options: WindowSubscription,
    context: RequestContext,
    events: WindowFeedEvents,
  ): Promise<WindowFeed> {
    const feed = new WindowFeed(sources, source.info.id, options, context, events);
    await feed.connect(source);
    return feed;
  }

  pause(): void {
    this.connection?.pause();
  }

  resume(): void {
    this.connection?.resume();
  }

  close(): void {
    this.isOver = true;
    this.connection?.close();
  }

  private async connect(source: StreamedSession): Promise<void> {
    const { connection } = await Connection.open(source.address, "server");
    if (this.isOver) {
      connection.close();
      return;
    }
    this.connection = connection;
    this.isSubscribed = false;
    connection.listen({ message: (message) => this.receive(message), close: () => this.connectionLost(connection) });
    try {
      await connection.request("peer.window", { ...this.options, seq: this.seq }, this.context);
      if (!this.isOver && this.connection === connection) connection.requireOpen();
      this.isSubscribed = true;
    } catch (error) {
      this.connection = null;
      connection.close();
      throw error;
    }
  }

  private receive(message: WireMessage): void {
    if (this.isOver) return;
    if (message.type === messageTypes.end) {
      this.end(v.parse(StreamEndSchema, messageJson(message)).reason);
    } else if (message.type === messageTypes.event) {
      const json = decoder.decode(message.payload);
      this.seq = Math.max(this.seq, Number(SEQ.exec(json.slice(0, 64))?.[1] ?? 0));
      this.events.event(addressedJson(this.session, json));
    }
  }

  /** A connection that is lost before it is subscribed fails `connect`, whose caller decides. */
  private connectionLost(connection: Connection): void {
    if (this.isOver || this.connection !== connection || !this.isSubscribed) return;
    this.connection = null;
    void this.reconnect();
  }

  private async reconnect(): Promise<void> {
    const connect = (source: StreamedSession): Promise<void> => this.connect(source);
    if (await reconnect(this.sources, this.session, connect, () => this.isOver)) return;
    this.end("session_crashed");
  }

  private end(reason: string): void {
    if (this.isOver) return;
    this.close();
    this.events.end(reason);
  }
}
