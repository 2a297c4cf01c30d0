/** `/sessions/:name/ws/raw`: the program's bytes as binary frames, and input (docs/protocol.md, Raw bytes). */

import { accessCovers } from "../../protocol/caller.ts";
import type { RequestContext } from "../../wire/connection.ts";
import { SessionStream } from "../sessions/session-stream.ts";
import type { StreamedPane } from "../sessions/streamed-session.ts";
import type { TypedInputRecord } from "./typed-input-record.ts";
import { closeIfInputPends, closeReason, type WebSocketEndpoint, type WebSocketPeer } from "./websockets.ts";

const encoder = new TextEncoder();

export class RawSocket implements WebSocketEndpoint {
  private socket: WebSocketPeer | null = null;
  private stream: SessionStream | null = null;
  private endReason: string | null = null;
  /** Output before the upgrade is complete. */
  private readonly early: Uint8Array[] = [];

  private constructor(private readonly record: TypedInputRecord | null) {}

  /**
   * @param record written at the end; null: typed input is not recorded
   * @throws WshError of SessionStream.open: then nothing is upgraded
   */
  static async open(
    source: StreamedPane,
    context: RequestContext,
    snapshot: boolean,
    record: TypedInputRecord | null,
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
    this.record?.add(bytes);
    stream.type(bytes);
    closeIfInputPends(socket, stream.pending);
  }

  drain(): void {
    this.stream?.resume();
  }

  close(): void {
    this.socket = null;
    this.stream?.close();
    this.record?.end();
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
