/** A server of a separate instance, as its clients reach it: over TCP with a token, over the Unix socket without. */
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "./until.ts";
import { TestSocket } from "./websocket.ts";
import { Wsh, type WshOptions } from "./wsh.ts";
import { program } from "./wsh-program.ts";

export interface GatewayOptions extends WshOptions {
  readonly args?: readonly string[];
  readonly auth?: boolean;
}

export const TOKEN = "a-token-for-the-tests-of-wsh";

/** Ports that the system does not assign: its own begin at 32,768 on Linux, at 49,152 elsewhere. */
const LOWEST_PORT = 20_000;
const PORTS = 12_000;

/** A free TCP port for a server that restarts at the same one: the system does not assign it meanwhile. */
export function lastingPort(): number {
  for (;;) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS);
    try {
      Bun.listen({ hostname: "127.0.0.1", port, socket: { data() {} } }).stop(true);
      return port;
    } catch {
      // the port is in use
    }
  }
}

type Init = RequestInit & { readonly json?: unknown };

export class Gateway extends Wsh {
  readonly auth: boolean;
  /** `http://127.0.0.1:PORT`. */
  origin = "";
  private child: Bun.Subprocess | null = null;
  private readonly shellFile: string;
  private readonly args: readonly string[];
  private readonly sockets: TestSocket[] = [];

  constructor({ args = [], auth = true, ...options }: GatewayOptions) {
    super(options);
    this.auth = auth;
    this.args = args;
    // /etc/profile sets another prompt for root.
    this.shellFile = join(this.dir, "shrc");
    writeFileSync(this.shellFile, "PS1='$ '\n");
  }

  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(options);
    await gateway.serve();
    return gateway;
  }

  /** Starts the server, or restarts it after its end. */
  async serve(): Promise<void> {
    const bind = this.args.includes("--bind") ? [] : ["--bind", "127.0.0.1:0"];
    const auth = this.auth ? ["--token", TOKEN] : ["--no-auth"];
    const child = Bun.spawn([...program, "server", ...bind, ...auth, ...this.args], {
      env: this.env,
      cwd: this.dir,
      stdin: "ignore",
      stdout: "ignore",
      stderr: Bun.file(this.logFile),
    });
    this.child = child;
    this.origin = await until("the server", async () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${await this.log()}`);
      if (!existsSync(this.instance.infoFile)) return null;
      const info: { addresses?: string[]; pid?: number } = await Bun.file(this.instance.infoFile).json();
      return info.pid === child.pid ? (info.addresses?.[0] ?? "none") : null;
    });
    // It prints its address before it accepts connections. A kept connection may lead to an earlier server.
    await until("the server to answer", () => this.isServing());
  }

  get logFile(): string {
    return join(this.dir, "server.log");
  }

  log(): Promise<string> {
    return Bun.file(this.logFile).text();
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  /** The server's exit code when it ends. */
  get ended(): Promise<number> {
    return this.child?.exited ?? Promise.resolve(0);
  }

  signal(name: NodeJS.Signals): void {
    this.child?.kill(name);
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<number> {
    this.child?.kill(signal);
    return (await this.child?.exited) ?? 0;
  }

  /** Over TCP, with the server's token unless another is given. */
  tcp(path: string, { json, token = this.auth ? TOKEN : null, ...init }: Init & { token?: string | null } = {}) {
    const headers = new Headers(init.headers);
    if (token !== null) headers.set("Authorization", `Bearer ${token}`);
    const tls = { rejectUnauthorized: false };
    if (json === undefined) return fetch(`${this.origin}${path}`, { ...init, headers, tls });
    headers.set("Content-Type", "application/json");
    return fetch(`${this.origin}${path}`, { method: "POST", ...init, headers, body: JSON.stringify(json), tls });
  }

  /** Over the Unix socket. */
  unix(path: string, { json, ...init }: Init = {}): Promise<Response> {
    if (json === undefined) return this.fetch(path, init);
    const headers = { "Content-Type": "application/json" };
    return this.fetch(path, { method: "POST", headers, body: JSON.stringify(json), ...init });
  }

  /** Makes a session: a plain shell with the prompt `$ ` by default. */
  async create(fields: Readonly<Record<string, unknown>> = {}): Promise<{ name: string; id: string; pane_id: string }> {
    const response = await this.unix("/sessions", {
      json: { shell: "/bin/sh", env: { ENV: this.shellFile }, ...fields },
    });
    if (response.status !== 201) throw new Error(await response.text());
    return response.json();
  }

  override async type(session: string, text: string): Promise<void> {
    await this.unix(`/sessions/${session}/input`, { method: "POST", body: text });
  }

  /** A WebSocket over TCP. */
  async ws(path: string, headers: Readonly<Record<string, string>> = this.bearer): Promise<TestSocket> {
    const socket = new TestSocket(`${this.origin.replace(/^http/, "ws")}${path}`, headers);
    this.sockets.push(socket);
    await socket.opened;
    if (/json$/.test(path)) await socket.next("the greeting", (message) => message.connected === true);
    return socket;
  }

  get bearer(): Readonly<Record<string, string>> {
    return this.auth ? { Authorization: `Bearer ${TOKEN}` } : {};
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.close();
    this.child?.kill("SIGKILL");
    await this.child?.exited;
    await super[Symbol.asyncDispose]();
  }
}
