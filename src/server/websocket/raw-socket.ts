/** `/sessions/:name/ws/raw`: the program's bytes as binary frames, and input (docs/protocol.md, Raw bytes). */

import { accessCovers } from "../../protocol/caller.ts";
import type { RequestContext } from "../../wire/connection.ts";
import { SessionStream } from "../sessions/session-stream.ts";
import type { StreamedPane } from "../sessions/streamed-session.ts";
import { closeCodes, closeReason, type WebSocketEndpoint, type WebSocketPeer } from "./websockets.ts";

/** Maximum typed bytes pending for a session process, which takes megabytes at once unless it hangs. */
const MAX_PENDING_INPUT = 4 * 1024 * 1024;
const encoder = new TextEncoder();

/** The input typed over one connection, as a digest. */
export interface TypedRecord {
  readonly hasher: Bun.CryptoHasher;
  write(typed: { readonly bytes: number; readonly hmac: string }): void;
}

export class RawSocket implements WebSocketEndpoint {
  private socket: WebSocketPeer | null = null;
  private stream: SessionStream | null = null;
  private endReason: string | null = null;
  /** Output before the upgrade is complete. */
  private readonly early: Uint8Array[] = [];
  private typedBytes = 0;

  private constructor(private readonly record: TypedRecord | null) {}

  /**
   * @param record records the typed input at the end
   * @throws WshError of SessionStream.open: then nothing is upgraded
   */
  static async open(
    source: StreamedPane,
    context: RequestContext,
    snapshot: boolean,
    record: TypedRecord | null,
  ): Promise<RawSocket> {
    const endpoint = new RawSocket(record);
    const stream = await SessionStream.open(source, context, {
      output: (bytes) => endpoint.output(bytes),
      end: (reason) => endpoint.end(reason),
    });
    endpoint.stream = stream;
    try {
      await stream.raw({ snapshot, read_only: !accessCovers(context.access, "operate") });
      return endpoint;
    } catch (error) {
      stream.close();
      throw error;
    }
  }

  open(socket: WebSocketPeer): void {
    this.socket = socket;
    for (const bytes of this.early.splice(0)) this.output(bytes);
    if (this.endReason !== null) this.end(this.endReason);
  }

  message(data: string | Uint8Array): void {
    const { stream, socket } = this;
    if (stream === null) return;
    const bytes = typeof data === "string" ? encoder.encode(data) : new Uint8Array(data);
    this.record?.hasher.update(bytes);
    this.typedBytes += bytes.length;
    stream.type(bytes);
    if (stream.pending > MAX_PENDING_INPUT) socket?.close(closeCodes.trouble, "the session does not accept its input");
  }

  drain(): void {
    this.stream?.resume();
  }

  close(): void {
    this.socket = null;
    this.stream?.close();
    this.record?.write({ bytes: this.typedBytes, hmac: this.record.hasher.digest("hex") });
  }

  private output(bytes: Uint8Array): void {
    if (this.socket === null) this.early.push(bytes);
    else if (this.socket.sendBinary(bytes) === -1) this.stream?.pause();
  }

  private end(reason: string): void {
    this.endReason = reason;
    const close = closeReason(reason);
    this.socket?.close(close.code, close.reason);
  }
}
