/**
 * The newest messages of one HTTP session's streams, so that a client whose connection broke can resume with
 * Last-Event-ID. Bounded by number and bytes. A client cannot resume from a dropped event; the store
 * tells dropped events from unknown ones.
 */
import type { EventId, EventStore, JSONRPCMessage, StreamId } from "@modelcontextprotocol/server";

/** Limits per session: far more than is in transit when a connection breaks. */
const MAX_EVENTS = 256;
const MAX_BYTES = 1024 * 1024;

interface StoredEvent {
  readonly id: EventId;
  readonly stream: StreamId;
  readonly message: JSONRPCMessage;
  readonly bytes: number;
}

export class RecentEvents implements EventStore {
  private events: StoredEvent[] = [];
  private bytes = 0;
  private next = 0;

  async storeEvent(stream: StreamId, message: JSONRPCMessage): Promise<EventId> {
    const id = String(this.next++);
    const bytes = JSON.stringify(message).length;
    this.events.push({ id, stream, message, bytes });
    this.bytes += bytes;
    while (this.events.length > MAX_EVENTS || (this.bytes > MAX_BYTES && this.events.length > 1)) {
      this.bytes -= this.events.shift()?.bytes ?? 0;
    }
    return id;
  }

  /** Why no stream can resume after the event; null: one can. */
  refusal(id: EventId): string | null {
    if (this.events.some((event) => event.id === id)) return null;
    const wasSent = /^(0|[1-9]\d*)$/.test(id) && Number(id) < this.next;
    const why = wasSent
      ? `event ${id} is no longer kept: each session keeps its newest ${MAX_EVENTS} events, up to ${MAX_BYTES} bytes`
      : `this session has not sent event '${id}'`;
    return `Cannot resume: ${why}. Open a stream without Last-Event-ID and read the current state again.`;
  }

  async getStreamIdForEventId(id: EventId): Promise<StreamId | undefined> {
    return this.events.find((event) => event.id === id)?.stream;
  }

  async replayEventsAfter(
    last: EventId,
    { send }: { send: (id: EventId, message: JSONRPCMessage) => Promise<void> },
  ): Promise<StreamId> {
    const index = this.events.findIndex((event) => event.id === last);
    const stream = this.events[index]?.stream ?? "";
    for (const event of this.events.slice(index + 1)) {
      // A priming event has no message.
      if (event.stream === stream && "jsonrpc" in event.message) await send(event.id, event.message);
    }
    return stream;
  }
}
