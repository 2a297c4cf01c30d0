/** A TCP proxy that can be cut, held and slowed: what a network does between two machines. */
import net from "node:net";

export class CutProxy implements AsyncDisposable {
  private readonly sockets = new Set<net.Socket>();
  private isHeld = false;
  private isDown = false;
  private delayMs = 0;
  private readonly held: (() => void)[] = [];
  private armed: { left: number; readonly act: () => void } | null = null;
  /** Receives data from the remote end. */
  heard: ((bytes: Buffer) => void) | null = null;

  private constructor(
    private readonly server: net.Server,
    readonly port: number,
  ) {}

  static async to(port: number): Promise<CutProxy> {
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const proxy = new CutProxy(server, address.port);
    server.on("connection", (local) => proxy.join(local, port));
    return proxy;
  }

  /** Ends all connections; new ones are refused until `heal`. */
  cut(): void {
    this.isDown = true;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Ends all connections once. */
  snap(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  /** Holds all data; neither end is notified. */
  hold(): void {
    this.isHeld = true;
  }

  /** Delivers the held data and everything after it. */
  heal(): void {
    this.isDown = false;
    this.isHeld = false;
    for (const pass of this.held.splice(0)) pass();
  }

  /** Calls the action after so many more pieces of data have passed in either direction, before the next one does. */
  after(pieces: number, act: () => void): void {
    this.armed = { left: pieces, act };
  }

  /** Whether the action has run. */
  get hasActed(): boolean {
    return this.armed === null;
  }

  slow(ms: number): void {
    this.delayMs = ms;
  }

  private join(local: net.Socket, port: number): void {
    if (this.isDown) {
      local.destroy();
      return;
    }
    const remote = net.connect(port, "127.0.0.1");
    for (const [from, to] of [
      [local, remote],
      [remote, local],
    ] as const) {
      this.sockets.add(from);
      from.on("data", (bytes) => {
        this.count();
        this.pass(() => {
          if (!to.destroyed) to.write(bytes);
          if (from === remote) this.heard?.(Buffer.from(bytes));
        });
      });
      from.on("end", () => this.pass(() => void to.end()));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.sockets.delete(from);
        this.pass(() => void to.destroy());
      });
    }
  }

  private count(): void {
    const { armed } = this;
    if (armed === null || armed.left-- > 0) return;
    this.armed = null;
    armed.act();
  }

  private pass(act: () => void): void {
    if (this.isHeld) this.held.push(act);
    else if (this.delayMs > 0) setTimeout(act, this.delayMs);
    else act();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
