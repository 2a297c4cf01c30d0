/** A server of an instance of its own, as its clients reach it: over TCP with a token, over the Unix socket without. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Instance, resolveInstance } from "../../src/instance/paths.ts";
import { PATIENCE_MS, until, wsh } from "./mcp-instance.ts";

export { PATIENCE_MS, until, wsh } from "./mcp-instance.ts";

export interface GatewayOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Text of config.toml. */
  readonly config?: string;
  readonly auth?: boolean;
}

export const TOKEN = "a-token-for-the-tests-of-wsh";

export class Gateway implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), "wsh-gw-"));
  readonly env: Readonly<Record<string, string>>;
  readonly instance: Instance;
  private child: ReturnType<typeof Bun.spawn> | null = null;
  private readonly sockets: WebSocket[] = [];
  /** `http://127.0.0.1:PORT`. */
  origin = "";
  auth: boolean;

  private constructor(private readonly options: GatewayOptions) {
    this.auth = options.auth ?? true;
    for (const name of ["home", "config", "config/wsh"]) mkdirSync(join(this.dir, name));
    this.env = {
      PATH: process.env.PATH ?? "",
      HOME: join(this.dir, "home"),
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      XDG_STATE_HOME: join(this.dir, "state"),
      XDG_CONFIG_HOME: join(this.dir, "config"),
      WSH_SERVER_NAME: "t",
      ...options.env,
    };
    this.instance = resolveInstance({ env: this.env });
  }

  static async start(options: GatewayOptions = {}): Promise<Gateway> {
    const gateway = new Gateway(options);
    if (options.config !== undefined) await Bun.write(gateway.instance.configFile, options.config);
    await gateway.serve();
    return gateway;
  }

  /** Starts the server; again, after it was ended. */
  async serve(): Promise<void> {
    const { args = [] } = this.options;
    const bind = args.includes("--bind") ? [] : ["--bind", "127.0.0.1:0"];
    const auth = this.auth ? ["--token", TOKEN] : ["--no-auth"];
    this.child = Bun.spawn([...wsh, "server", ...bind, ...auth, ...args], {
      env: this.env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: Bun.file(this.logFile),
    });
    const { child } = this;
    this.origin = await until("the server", async () => {
      if (child.exitCode !== null) throw new Error(`the server ended: ${await Bun.file(this.logFile).text()}`);
      if (!existsSync(this.instance.infoFile)) return null;
      const info: { addresses?: string[]; pid?: number } = await Bun.file(this.instance.infoFile).json();
      return info.pid === child.pid ? (info.addresses?.[0] ?? "none") : null;
    });
  }

  get logFile(): string {
    return join(this.dir, "server.log");
  }

  get pid(): number {
    return this.child?.pid ?? 0;
  }

  async end(signal: NodeJS.Signals = "SIGTERM"): Promise<void> {
    this.child?.kill(signal);
    await this.child?.exited;
  }

  /** Over TCP, with the server's token. */
  fetch(path: string, init: RequestInit & { json?: unknown; token?: string | null } = {}): Promise<Response> {
    const { json, token = this.auth ? TOKEN : null, ...rest } = init;
    const headers = new Headers(rest.headers);
    if (token !== null) headers.set("Authorization", `Bearer ${token}`);
    if (json === undefined) return fetch(`${this.origin}${path}`, { ...rest, headers });
    headers.set("Content-Type", "application/json");
    return fetch(`${this.origin}${path}`, { method: "POST", ...rest, headers, body: JSON.stringify(json) });
  }

  /** Over the Unix socket. */
  unix(path: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> {
    const { json, ...rest } = init;
    const body =
      json === undefined ? {} : { body: JSON.stringify(json), headers: { "Content-Type": "application/json" } };
    const method = json === undefined ? {} : { method: "POST" };
    return fetch(`http://wsh${path}`, { ...method, ...body, ...rest, unix: this.instance.httpSocket });
  }

  /** Makes a session; by default a plain shell with the prompt `$ `. */
  async session(fields: Readonly<Record<string, unknown>> = {}): Promise<{ name: string; id: string }> {
    const response = await this.unix("/sessions", { json: { shell: "/bin/sh", env: { PS1: "$ " }, ...fields } });
    if (response.status !== 201) throw new Error(await response.text());
    return response.json();
  }

  async type(session: string, text: string): Promise<void> {
    await this.unix(`/sessions/${session}/input`, { method: "POST", body: text });
  }

  async screen(session: string): Promise<string> {
    const response = await this.unix(`/sessions/${session}/screen?format=plain`);
    const { lines }: { lines?: string[] } = await response.json();
    return (lines ?? []).join("\n");
  }

  /** A WebSocket that keeps what it hears. */
  async ws(path: string, headers: Readonly<Record<string, string>> = this.bearer): Promise<TestSocket> {
    const socket = new TestSocket(`${this.origin.replace(/^http/, "ws")}${path}`, headers);
    this.sockets.push(socket.socket);
    await socket.opened;
    return socket;
  }

  get bearer(): Readonly<Record<string, string>> {
    return this.auth ? { Authorization: `Bearer ${TOKEN}` } : {};
  }

  async run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const child = Bun.spawn([...wsh, ...args], {
      env: this.env,
      cwd: this.dir,
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.close();
    await this.run("stop");
    await this.end("SIGKILL");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
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
