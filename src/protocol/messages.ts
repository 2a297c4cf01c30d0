/**
 * Messages on a session process's socket: `type:u8, length:u32 big-endian, payload`. Payloads of control messages are
 * JSON (control.ts, attach.ts, frame-codec.ts), all others are bytes. Pure: does no I/O. A message that is too long or
 * of an unknown type poisons the decoder, since later bytes cannot be trusted; the owner closes the connection.
 */
import { WshError } from "./errors.ts";

/** Raised only when an old peer could misread a new one; a peer of another version is listed and refused. */
export const PROTOCOL_VERSION = 3;

/** Largest payload: a full repaint of the largest screen (1000×1000, styled) fits. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export const messageTypes = {
  /** The first message each way: Hello. */
  hello: 0x01,
  /** Request, answered by one response with the same id. */
  request: 0x02,
  response: 0x03,
  /** Cancels a request: `{id}`; the request is still answered. */
  cancel: 0x04,
  /** Something happened in the session: SessionEvent. */
  event: 0x05,
  /** Terminal bytes for a pass-through client, session process → client. */
  output: 0x10,
  /** Bytes from a person's terminal, client → session process. */
  input: 0x11,
  /** A composed frame for a rendering client: FrameUpdate, session process → client. */
  frame: 0x12,
  /** Images for the client's terminal, written between two pictures: commands of kitty's graphics protocol. */
  images: 0x15,
  /** The client's terminal changed size: `{rows, cols}`. */
  resize: 0x13,
  /** Ends the stream: client → session process `{}`; session process → client `{reason, exit_code?, signal?}`. */
  end: 0x14,
} as const;

export type MessageType = (typeof messageTypes)[keyof typeof messageTypes];

const knownTypes: ReadonlySet<number> = new Set(Object.values(messageTypes));
const HEADER_BYTES = 5;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface WireMessage {
  readonly type: MessageType;
  readonly payload: Uint8Array;
}

export function encodeMessage(type: MessageType, payload: Uint8Array): Uint8Array {
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  bytes[0] = type;
  new DataView(bytes.buffer).setUint32(1, payload.length);
  bytes.set(payload, HEADER_BYTES);
  return bytes;
}

export function encodeJsonMessage(type: MessageType, value: unknown): Uint8Array {
  return encodeMessage(type, encoder.encode(JSON.stringify(value)));
}

/** @throws WshError invalid_request when the payload is not JSON. */
export function messageJson(message: WireMessage): unknown {
  try {
    return JSON.parse(decoder.decode(message.payload));
  } catch {
    throw new WshError(
      "invalid_request",
      `the payload of message type ${message.type} (${message.payload.length} bytes) is not JSON`,
    );
  }
}

/** Collects bytes into whole messages. Holds at most one unfinished message of MAX_MESSAGE_BYTES. */
export class MessageDecoder {
  private parts: Uint8Array[] = [];
  private size = 0;

  /**
   * @returns the messages completed by these bytes; payloads share no memory with the input
   * @throws WshError invalid_request on an unknown type or a payload that is too long
   */
  push(bytes: Uint8Array): WireMessage[] {
    if (bytes.length > 0) {
      this.parts.push(new Uint8Array(bytes));
      this.size += bytes.length;
    }
    const messages: WireMessage[] = [];
    for (;;) {
      if (this.size < HEADER_BYTES) return messages;
      const header = this.peekHeader();
      if (this.size < HEADER_BYTES + header.length) return messages;
      const whole = this.join();
      const end = HEADER_BYTES + header.length;
      messages.push({ type: header.type, payload: whole.subarray(HEADER_BYTES, end) });
      const rest = whole.subarray(end);
      this.parts = rest.length > 0 ? [rest] : [];
      this.size = rest.length;
    }
  }

  private peekHeader(): { type: MessageType; length: number } {
    if ((this.parts[0]?.length ?? 0) < HEADER_BYTES) this.join();
    const first = this.parts[0] ?? new Uint8Array(HEADER_BYTES);
    const view = new DataView(first.buffer, first.byteOffset, first.byteLength);
    const type = view.getUint8(0);
    const length = view.getUint32(1);
    if (!isMessageType(type)) throw new WshError("invalid_request", `unknown message type ${type}`);
    if (length > MAX_MESSAGE_BYTES) {
      throw new WshError("invalid_request", `a message of ${length} bytes exceeds the limit of ${MAX_MESSAGE_BYTES}`);
    }
    return { type, length };
  }

  private join(): Uint8Array {
    const [first] = this.parts;
    if (first !== undefined && this.parts.length === 1) return first;
    const whole = new Uint8Array(this.size);
    let offset = 0;
    for (const part of this.parts) {
      whole.set(part, offset);
      offset += part.length;
    }
    this.parts = [whole];
    return whole;
  }
}

function isMessageType(type: number): type is MessageType {
  return knownTypes.has(type);
}
