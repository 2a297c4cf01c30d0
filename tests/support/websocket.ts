/** A WebSocket client for tests: keeps received messages, waits for the one that a test wants. */
import { PATIENCE_MS } from "./until.ts";

// biome-ignore lint/suspicious/noExplicitAny: tests read messages of every shape
export type Message = any;

/** A WebSocket client that collects messages and waits for the ones a test wants. */
export class TestSocket {
  readonly socket: WebSocket;
  readonly opened: Promise<void>;
  readonly closed: Promise<{ code: number; reason: string }>;
  readonly messages: Message[] = [];
  readonly bytes: Buffer[] = [];
  private nextId = 1;
  private waiters: (() => void)[] = [];

  constructor(url: string, headers: Readonly<Record<string, string>>) {
    this.socket = new WebSocket(url, { headers } as unknown as string[]);
    this.socket.binaryType = "arraybuffer";
    const closed = Promise.withResolvers<{ code: number; reason: string }>();
    const opened = Promise.withResolvers<void>();
    this.opened = opened.promise;
    this.closed = closed.promise;
    this.socket.onopen = () => opened.resolve();
    this.socket.onerror = () => opened.reject(new Error(`no WebSocket at ${url}`));
    this.socket.onclose = ({ code, reason }) => {
      closed.resolve({ code, reason });
      this.wake();
    };
    this.socket.onmessage = ({ data }) => {
      if (typeof data === "string") this.messages.push(JSON.parse(data));
      else this.bytes.push(Buffer.from(data as ArrayBuffer));
      this.wake();
    };
  }

  /** Resolves when the server has read everything that was sent so far. */
  async read(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    // Bun's clients have this; the types are those of browsers.
    const socket = this.socket as unknown as Bun.WebSocket;
    socket.addEventListener("pong", () => resolve(), { once: true });
    socket.ping();
    await promise;
  }

  get text(): string {
    return Buffer.concat(this.bytes).toString();
  }

  /** The first message from index `from` on that the test accepts. */
  async next(what: string, accepts: (message: Message) => boolean, from = 0): Promise<Message> {
    return this.wait(what, () => this.messages.slice(from).find(accepts));
  }

  async wait<T>(what: string, probe: () => T | undefined | false): Promise<T> {
    const deadline = performance.now() + PATIENCE_MS;
    for (;;) {
      const found = probe();
      if (found !== undefined && found !== false) return found;
      const left = deadline - performance.now();
      if (left <= 0) {
        throw new Error(
          `waited for ${what}; heard ${JSON.stringify(this.messages).slice(0, 2000)} ${this.text.slice(-500)}`,
        );
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.waiters.push(resolve);
      const timer = setTimeout(resolve, left);
      await promise;
      clearTimeout(timer);
    }
  }

  /** Sends a request and waits for its answer. */
  async call(method: string, params?: object, extra: object = {}): Promise<Message> {
    const id = this.nextId++;
    this.send({ id, method, ...(params === undefined ? {} : { params }), ...extra });
    return this.next(`the answer to ${method}`, (message) => message.id === id);
  }

  send(message: unknown): void {
    this.socket.send(typeof message === "string" ? message : JSON.stringify(message));
  }

  close(): void {
    this.socket.close();
  }

  private wake(): void {
    for (const waiter of this.waiters.splice(0)) waiter();
  }
}
