/** A WebSocket client over a plain TCP socket that can stop reading, which no client library can. Server frames only. */
import net from "node:net";
import type { Message } from "./websocket.ts";

export class SlowSocket {
  readonly messages: Message[] = [];
  /** Bytes read so far. */
  received = 0;
  closeCode: number | null = null;
  /** Pings received; none is answered. */
  pings = 0;
  ended = false;
  private buffer = Buffer.alloc(0);
  private opened = false;
  private waiters: (() => void)[] = [];

  private constructor(private readonly socket: net.Socket) {
    socket.on("data", (bytes: Buffer) => this.receive(bytes));
    socket.on("close", () => {
      this.ended = true;
      this.wake();
    });
    socket.on("error", () => {});
  }

  static async open(origin: string, path: string, headers: Readonly<Record<string, string>>): Promise<SlowSocket> {
    const { hostname, port, host } = new URL(origin);
    const socket = net.connect({ host: hostname, port: Number(port) });
    const slow = new SlowSocket(socket);
    const lines = Object.entries({
      Host: host,
      Upgrade: "websocket",
      Connection: "Upgrade",
      "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      "Sec-WebSocket-Version": "13",
      ...headers,
    }).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
    await slow.wait(() => slow.opened || slow.ended);
    if (!slow.opened) throw new Error("the handshake was refused");
    return slow;
  }

  send(message: object): void {
    this.sendFrame(0x1, Buffer.from(JSON.stringify(message)));
  }

  /** A masked frame with any opcode. */
  sendFrame(opcode: number, payload: Buffer): void {
    const mask = Buffer.from([1, 2, 3, 4]);
    const length =
      payload.length < 126
        ? Buffer.from([0x80 | payload.length])
        : Buffer.from([0x80 | 126, payload.length >> 8, payload.length & 0xff]);
    const masked = payload.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
    this.socket.write(Buffer.concat([Buffer.from([0x80 | opcode]), length, mask, masked]));
  }

  /** Raw bytes. */
  write(bytes: Uint8Array): void {
    this.socket.write(bytes);
  }

  pause(): void {
    this.socket.pause();
  }

  resume(): void {
    this.socket.resume();
  }

  close(): void {
    this.socket.destroy();
  }

  async wait(probe: () => boolean, patience = 20_000): Promise<void> {
    const deadline = performance.now() + patience;
    while (!probe()) {
      const left = deadline - performance.now();
      if (left <= 0) throw new Error(`waited ${patience} ms`);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.waiters.push(resolve);
      const timer = setTimeout(resolve, left);
      await promise;
      clearTimeout(timer);
    }
  }

  private receive(bytes: Buffer): void {
    this.received += bytes.length;
    this.buffer = Buffer.concat([this.buffer, bytes]);
    if (!this.opened) {
      const end = this.buffer.indexOf("\r\n\r\n");
      if (end < 0) return;
      this.opened = this.buffer.toString("latin1", 0, 12) === "HTTP/1.1 101";
      this.buffer = this.buffer.subarray(end + 4);
    }
    for (let frame = this.takeFrame(); frame !== null; frame = this.takeFrame()) this.frame(frame);
    this.wake();
  }

  private frame({ opcode, payload }: { opcode: number; payload: Buffer }): void {
    if (opcode === 0x1) this.messages.push(JSON.parse(payload.toString()));
    else if (opcode === 0x9) this.pings++;
    else if (opcode === 0x8) this.closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
  }

  private takeFrame(): { opcode: number; payload: Buffer } | null {
    const { buffer } = this;
    if (!this.opened || buffer.length < 2) return null;
    const short = (buffer[1] ?? 0) & 0x7f;
    const header = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (buffer.length < header) return null;
    const length = short === 126 ? buffer.readUInt16BE(2) : short === 127 ? Number(buffer.readBigUInt64BE(2)) : short;
    if (buffer.length < header + length) return null;
    this.buffer = buffer.subarray(header + length);
    return { opcode: (buffer[0] ?? 0) & 0x0f, payload: buffer.subarray(header, header + length) };
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }
}
