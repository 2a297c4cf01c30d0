/**
 * The SDK's transport over a stream of lines, one JSON-RPC message each. An invalid message is answered here and the
 * connection continues. When MAX_PENDING_BYTES are pending for a peer that does not read, nothing more is read from it;
 * answers already being made still join the queue, and their number is limited by the requests read.
 */

import type { MessageExtraInfo } from "@modelcontextprotocol/server";
import { type JSONRPCMessage, parseJSONRPCMessage, type Transport } from "@modelcontextprotocol/server";
import { parseJson } from "../../protocol/json.ts";
import { idOf, LineSplitter } from "../../wire/lines.ts";
import { Outbox } from "../../wire/outbox.ts";
import { MAX_LINE_BYTES } from "./hello.ts";

/** Unread bytes of answers above which reading stops: a few of the largest screens. */
const MAX_PENDING_BYTES = 8 * 1024 * 1024;

/** A transport's interface to its socket. */
export interface LineSocket {
  /** Returns how many bytes it took. */
  write(bytes: Uint8Array): number;
  pause(): void;
  resume(): void;
  end(): void;
}

const encoder = new TextEncoder();

export class LineTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: <T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void;
  /** Called with every message before the server handles it. */
  observe?: (message: JSONRPCMessage) => void;

  private readonly outbox: Outbox;
  private readonly lines: LineSplitter;
  private isClosed = false;
  private isPaused = false;

  constructor(private readonly socket: LineSocket) {
    this.outbox = new Outbox((bytes) => socket.write(bytes));
    this.lines = new LineSplitter(
      MAX_LINE_BYTES,
      (line) => this.receive(line),
      () => this.refuse(-32600, `a message is at most ${MAX_LINE_BYTES} bytes`, null),
    );
  }

  async start(): Promise<void> {}

  async send(message: JSONRPCMessage): Promise<void> {
    if (this.isClosed) throw new Error("the connection is closed");
    this.write(message);
  }

  async close(): Promise<void> {
    this.connectionLost();
    this.socket.end();
  }

  /** Bytes from the socket. */
  push(bytes: Uint8Array): void {
    if (!this.isClosed) this.lines.push(bytes);
  }

  /** The socket takes bytes again. */
  drain(): void {
    if (!this.outbox.drain() || !this.isPaused) return;
    this.isPaused = false;
    this.socket.resume();
  }

  /** The socket is gone. */
  connectionLost(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    this.outbox.clear();
    this.onclose?.();
  }

  private receive(line: string): void {
    let value: unknown;
    try {
      value = parseJson(line);
    } catch {
      this.refuse(-32700, "a line is not JSON", null);
      return;
    }
    let message: JSONRPCMessage;
    try {
      message = parseJSONRPCMessage(value);
    } catch {
      this.refuse(-32600, "a line is not a JSON-RPC message", idOf(value));
      return;
    }
    this.observe?.(message);
    this.onmessage?.(message);
  }

  private refuse(code: number, message: string, id: string | number | null): void {
    this.write({ jsonrpc: "2.0", id, error: { code, message } });
  }

  private write(message: object): void {
    const { jsonrpc: _jsonrpc, id, ...rest } = message as { jsonrpc: string; id?: unknown };
    // The key order is promised: hello.ts, MESSAGE_START.
    const ordered = id === undefined ? { jsonrpc: "2.0", ...rest } : { jsonrpc: "2.0", id, ...rest };
    this.outbox.write(encoder.encode(`${JSON.stringify(ordered)}\n`));
    if (this.outbox.pending <= MAX_PENDING_BYTES || this.isPaused) return;
    this.isPaused = true;
    this.socket.pause();
  }
}
