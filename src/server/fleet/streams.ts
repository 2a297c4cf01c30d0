/**
 * Streams of other fleet members to sessions here: a relay reads each like one over a WebSocket. A message whose number
 * is not the next ends the stream, as does silence, since its other end pings; the opener opens another.
 */
import type { FleetConnection, FleetMessage } from "../../cluster/fleet/connection.ts";
import type { CallContext } from "../../operations/call.ts";
import { intervals } from "../../platform/intervals.ts";
import { WshError } from "../../protocol/errors.ts";
import {
  decodeStreamMessage,
  encodeStreamMessage,
  headerNames,
  type StreamMessage,
} from "../../protocol/fleet-messages.ts";
import { downSubject, isInbox, parseUpSubject, type StreamSubject } from "../../protocol/fleet-subjects.ts";
import type { DialedProcess } from "../../protocol/machines.ts";
import type { RelayPeer, SessionRelay } from "../machines/session-relay.ts";
import { memberContext } from "./requests.ts";

/** Silence after which the peer counts as gone, in ms: three of its pings, and a second. */
const SILENCE_MS = 3 * intervals.peerPing + 1_000;

interface FleetStreamsOptions {
  readonly connection: FleetConnection;
  readonly boot: string;
  readonly openStream: (target: string, process: DialedProcess, context: CallContext) => Promise<SessionRelay>;
}

export class FleetStreams {
  private readonly open = new Map<string, IncomingStream>();

  constructor(private readonly options: FleetStreamsOptions) {}

  receive(message: FleetMessage): void {
    const recipient = parseUpSubject(message.subject);
    const decoded = recipient === null ? null : decodeStreamMessage(message.data);
    if (recipient === null || decoded === null) return;
    const { connection, boot } = this.options;
    const key = `${recipient.user} ${recipient.access} ${recipient.stream}`;
    if (message.header(headerNames.boot) !== boot) {
      const { reply } = message;
      if (isInbox(reply, recipient.user, recipient.machine)) {
        connection.publish(reply, "", { headers: { [headerNames.boot]: boot, [headerNames.refused]: "1" } });
      }
      return;
    }
    const stream = this.open.get(key);
    if (stream !== undefined) stream.receive(decoded.number, decoded.message);
    else if (decoded.message.kind === "open" && decoded.number === 0) {
      // A message that JetStream was induced to send does not have such a reply subject.
      if (!isInbox(message.reply, recipient.user, recipient.machine)) return;
      const incoming = new IncomingStream(connection, recipient, () => this.open.delete(key));
      this.open.set(key, incoming);
      const { target, process = "session" } = decoded.message.open;
      const context = memberContext(recipient, new AbortController().signal);
      void incoming.begin(this.options.openStream(target, process, context));
    } else if (decoded.message.kind !== "close") {
      // From before this server's start, or already ended: its other end is notified.
      connection.publish(downSubject(recipient), encodeStreamMessage({ kind: "close" }, 0));
    }
  }

  /** The connection is lost, and messages in transit with it. */
  connectionLost(): void {
    for (const stream of [...this.open.values()]) stream.end();
  }
}

class IncomingStream implements RelayPeer {
  private relay: SessionRelay | null = null;
  private sentCount = 0;
  private nextNumber = 1;
  private isOver = false;
  private silence: Timer;

  constructor(
    private readonly connection: FleetConnection,
    private readonly recipient: StreamSubject,
    private readonly onEnd: () => void,
  ) {
    this.silence = setTimeout(() => this.end(), SILENCE_MS);
  }

  async begin(opening: Promise<SessionRelay>): Promise<void> {
    try {
      const relay = await opening;
      if (this.isOver) return relay.close();
      this.relay = relay;
      relay.open(this);
    } catch (thrown) {
      this.send(JSON.stringify({ error: WshError.from(thrown).toBody() }));
      this.close();
    }
  }

  receive(number: number, message: StreamMessage): void {
    this.silence.refresh();
    const isNext = number === this.nextNumber++;
    const isOver = !isNext || message.kind === "open" || message.kind === "close";
    if (isOver) this.end();
    // The relay may retain its input.
    else this.relay?.message(message.kind === "note" ? message.text : new Uint8Array(message.bytes));
  }

  send(text: string): void {
    this.publish({ kind: "note", text });
  }

  sendBinary(bytes: Uint8Array): void {
    this.publish({ kind: "bytes", bytes });
  }

  /** Earlier messages arrive first. */
  close(): void {
    this.publish({ kind: "close" });
    this.end();
  }

  end(): void {
    if (this.isOver) return;
    this.isOver = true;
    clearTimeout(this.silence);
    this.onEnd();
    this.relay?.close();
  }

  private publish(message: StreamMessage): void {
    if (
      !this.isOver &&
      !this.connection.publish(downSubject(this.recipient), encodeStreamMessage(message, this.sentCount++))
    )
      this.end();
  }
}
