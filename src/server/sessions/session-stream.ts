/**
 * A WebSocket's own connection to a session process. Events and output arrive in order; when the WebSocket's peer does
 * not read them, the connection is paused, which the session process notices and merges its reports. The first report
 * of an end counts: the session process's end reason, or the loss of the connection.
 */

import * as v from "valibot";
import { addressedJson } from "../../cluster/machine-prefix.ts";
import { requireMayHear } from "../../operations/rights.ts";
import { StreamEndSchema } from "../../protocol/control.ts";
import type { Subscription } from "../../protocol/events.ts";
import { messageJson, messageTypes, type WireMessage } from "../../protocol/messages.ts";
import { Connection, type RequestContext } from "../../wire/connection.ts";
import type { StreamedPane } from "./streamed-session.ts";

interface StreamEvents {
  /** JSON of an event, as the session process wrote it. */
  event?(json: string): void;
  output?(bytes: Uint8Array): void;
  /** The new subscription begins here: earlier events belong to the previous one. */
  subscribed?(): void;
  end(reason: string): void;
}

const SUBSCRIBED = '{"event":"subscribed"';
const decoder = new TextDecoder();

export class SessionStream {
  private isOver = false;

  private constructor(
    readonly source: StreamedPane,
    private readonly connection: Connection,
    private readonly context: RequestContext,
    private readonly events: StreamEvents,
  ) {
    connection.listen({ message: (message) => this.receive(message), close: () => this.end("session_crashed") });
  }

  /**
   * Takes a client's place in the session.
   * @throws WshError resource_limit_reached, session_unavailable, session_not_found
   */
  static async open(source: StreamedPane, context: RequestContext, events: StreamEvents): Promise<SessionStream> {
    const { connection } = await Connection.open(source.address, "server");
    const own = { ...context, target: source.target };
    const stream = new SessionStream(source, connection, own, events);
    try {
      await connection.request("peer.client", {}, own);
      return stream;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  /** Replaces the subscription; `subscribed` marks its start. @throws the session process's error */
  async subscribe(options: Subscription): Promise<void> {
    // Another machine knows only the access of this connection.
    requireMayHear(this.context, options.events);
    await this.connection.request("peer.subscribe", { ...options, call: 0 }, this.context);
  }

  /** @throws the session process's error */
  async raw(options: { readonly snapshot: boolean; readonly read_only: boolean }): Promise<void> {
    await this.connection.request("peer.raw", options, this.context);
  }

  type(bytes: Uint8Array): void {
    this.connection.sendBytes(messageTypes.input, bytes);
  }

  /** Typed bytes that the session process has not taken. */
  get pending(): number {
    return this.connection.pending;
  }

  pause(): void {
    this.connection.pause();
  }

  resume(): void {
    this.connection.resume();
  }

  close(): void {
    this.isOver = true;
    this.connection.close();
  }

  private receive(message: WireMessage): void {
    if (this.isOver) return;
    if (message.type === messageTypes.output) {
      this.events.output?.(message.payload);
    } else if (message.type === messageTypes.event) {
      const json = decoder.decode(message.payload);
      if (json.startsWith(SUBSCRIBED)) this.events.subscribed?.();
      else this.events.event?.(addressedJson(this.source.info.name, json));
    } else if (message.type === messageTypes.end) {
      this.end(v.parse(StreamEndSchema, messageJson(message)).reason);
    }
  }

  private end(reason: string): void {
    if (this.isOver) return;
    this.close();
    this.events.end(reason);
  }
}
