/** A TCP proxy to a machine's gateway whose connections are reset at a chosen moment, as a kernel resets them. */
import net from "node:net";

/** Selects connections by the first line of their request. */
export type Meant = (firstLine: string) => boolean;

export class ResettingProxy implements AsyncDisposable {
  /** Connections that were reset. */
  resets = 0;
  private readonly sockets = new Set<net.Socket>();

  private constructor(
    private readonly server: net.Server,
    readonly port: number,
  ) {}

  /**
   * @param at number of pieces of data that pass, in either direction, before the reset; 0: the first request
   * does not arrive
   */
  static async to(port: number, meant: Meant, at: number): Promise<ResettingProxy> {
    const server = net.createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    const proxy = new ResettingProxy(server, address.port);
    server.on("connection", (local) => proxy.join(local, port, meant, at));
    return proxy;
  }

  private join(local: net.Socket, port: number, meant: Meant, at: number): void {
    const remote = net.connect(port, "127.0.0.1");
    let passed = 0;
    let isMeant = false;
    const pass = (from: net.Socket, to: net.Socket, bytes: Buffer | string): void => {
      // A kept connection carries one request after another.
      if (from === local) isMeant ||= meant(bytes.toString().split("\r\n")[0] ?? "");
      if (isMeant && passed++ >= at) {
        this.resets++;
        local.resetAndDestroy();
        remote.destroy();
        return;
      }
      to.write(bytes);
    };
    for (const [from, to] of [
      [local, remote],
      [remote, local],
    ] as const) {
      this.sockets.add(from);
      from.on("data", (bytes) => pass(from, to, bytes));
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.sockets.delete(from);
        to.destroy();
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}
