/** An instance of wsh of its own, and MCP clients for it: over `wsh mcp`, over TCP and over the Unix socket. */
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Instance, resolveInstance } from "../../src/instance/paths.ts";

const root = join(import.meta.dir, "../..");
const binary = process.env.WSH_TEST_BINARY ?? join(root, "dist/wsh");

/** The built program where there is one, else the source. */
export const wsh: readonly string[] = existsSync(binary)
  ? [binary]
  : [process.execPath, "--smol", join(root, "src/main.ts")];

/** How long anything may take that a test waits for, in ms: a busy machine, not a slow program. */
export const PATIENCE_MS = 20_000;

/** Waits until `probe` answers something else than undefined, null or false. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  patience = PATIENCE_MS,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + patience;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${patience} ms for ${what}`);
    await Bun.sleep(5);
  }
}

export class McpInstance implements AsyncDisposable {
  readonly dir = mkdtempSync(join(tmpdir(), "wsh-mcp-"));
  readonly env: Readonly<Record<string, string>>;
  readonly instance: Instance;
  private readonly closers: (() => Promise<unknown> | unknown)[] = [];

  constructor(extra: Readonly<Record<string, string>> = {}) {
    mkdirSync(join(this.dir, "home"));
    this.env = {
      PATH: process.env.PATH ?? "",
      HOME: join(this.dir, "home"),
      SHELL: "/bin/bash",
      LANG: "C.UTF-8",
      XDG_RUNTIME_DIR: join(this.dir, "run"),
      WSH_SERVER_NAME: "t",
      ...extra,
    };
    this.instance = resolveInstance({ env: this.env });
  }

  /** Ends when the instance is disposed of. */
  owns<T extends { close(): Promise<unknown> | unknown }>(thing: T): T {
    this.closers.unshift(() => thing.close());
    return thing;
  }

  spawn(args: readonly string[]) {
    return Bun.spawn([...wsh, ...args], {
      env: this.env,
      cwd: this.dir,
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
  }

  /** Runs a command to its end. */
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

  /** Starts a server that also listens on a free TCP port. Returns its address. */
  async startServer(...args: readonly string[]): Promise<{ url: URL; pid: number }> {
    const child = Bun.spawn([...wsh, "server", "--bind", "127.0.0.1:0", "--no-auth", ...args], {
      env: this.env,
      stdin: "ignore",
      stdout: "ignore",
      stderr: Bun.file(join(this.dir, "server.log")),
    });
    this.closers.push(() => {
      child.kill("SIGKILL");
      return child.exited;
    });
    const address = await until("the server", async () => {
      if (child.exitCode !== null) throw new Error(await Bun.file(join(this.dir, "server.log")).text());
      if (!existsSync(this.instance.infoFile)) return null;
      const info: { addresses?: string[]; pid?: number } = await Bun.file(this.instance.infoFile).json();
      return info.pid === child.pid ? info.addresses?.[0] : null;
    });
    return { url: new URL("/mcp", address), pid: child.pid };
  }

  /** A client of the SDK's second version over `wsh mcp`. */
  async client(options: { args?: readonly string[]; mode?: "auto" | "legacy"; cwd?: string } = {}): Promise<Client> {
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: options.mode ?? "legacy" } },
    );
    const [command = "", ...own] = wsh;
    const transport = new StdioClientTransport({
      command,
      args: [...own, "mcp", ...(options.args ?? [])],
      env: { ...this.env },
      cwd: options.cwd ?? this.dir,
      stderr: "pipe",
    });
    await client.connect(transport);
    return this.owns(client);
  }

  /** The same over HTTP. Without a URL: over the Unix socket. */
  async httpClient(url: URL | null, mode: "auto" | "legacy" = "legacy"): Promise<Client> {
    const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
    const unix = this.instance.httpSocket;
    const overSocket = (input: string | URL | Request, init?: RequestInit) => fetch(input, { ...init, unix });
    const transport =
      url === null
        ? new StreamableHTTPClientTransport(new URL("http://wsh/mcp"), { fetch: overSocket })
        : new StreamableHTTPClientTransport(url);
    await client.connect(transport);
    return this.owns(client);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.closers.splice(0)) await Promise.resolve(close()).catch(() => {});
    await this.run("stop");
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** What a tool answers: the parsed text, and whether it is an error. */
export interface Answer {
  readonly isError: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into results of every shape
  readonly value: any;
  readonly structured: unknown;
  readonly texts: readonly string[];
}

export async function call(client: Client, name: string, args: Record<string, unknown> = {}): Promise<Answer> {
  const result = await client.callTool({ name, arguments: args });
  const texts = (result.content as { type: string; text?: string }[]).map((item) => item.text ?? "");
  return {
    isError: result.isError === true,
    value: JSON.parse(texts[0] ?? "null"),
    structured: result.structuredContent,
    texts,
  };
}
