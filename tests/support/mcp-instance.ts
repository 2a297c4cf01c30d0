/** An instance of wsh with MCP clients: over `wsh mcp`, over TCP and over the Unix socket. */
import { existsSync } from "node:fs";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { until } from "./until.ts";
import { Wsh, type WshOptions } from "./wsh.ts";
import { program } from "./wsh-program.ts";

/** `legacy`: a protocol version with sessions. `auto`: the newest that the server knows, which has none. */
export type Era = "legacy" | "auto";

export class McpInstance extends Wsh {
  private readonly owned: { close(): Promise<unknown> | unknown }[] = [];

  /** Agents may change everything, unless the configuration has a rule, as in tests of rights. */
  constructor(env: Readonly<Record<string, string>> = {}, { config = "", ...more }: Omit<WshOptions, "env"> = {}) {
    const rights = config.includes("agents_may") ? "" : 'agents_may = "everything"\n';
    super({ env, config: `${rights}${config}`, ...more });
  }

  /** Starts a server that also listens on a free TCP port, without a token. */
  async startServer(...args: readonly string[]): Promise<{ url: URL; pid: number }> {
    const child = this.spawn(["server", "--bind", "127.0.0.1:0", "--no-auth", ...args]);
    return { url: await this.address(child), pid: child.pid };
  }

  /** URL at which a server of this instance serves MCP over TCP, if it does. */
  async address(child: { readonly pid: number; readonly exitCode: number | null }): Promise<URL> {
    const address = await until("the server", async () => {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
      if (!existsSync(this.instance.infoFile)) return null;
      const info: { addresses?: string[]; pid?: number } = await Bun.file(this.instance.infoFile).json();
      // It writes the file before its Unix socket is in place.
      return info.pid === child.pid && (await this.isServing()) ? info.addresses?.[0] : null;
    });
    return new URL("/mcp", address);
  }

  /** A client of the SDK's second version over `wsh mcp ARGS`. */
  async client({
    args = [],
    mode = "legacy",
    name,
  }: {
    args?: readonly string[];
    mode?: Era;
    name?: string;
  } = {}): Promise<Client> {
    const [command = "", ...own] = program;
    return this.connect(
      mode,
      new StdioClientTransport({
        command,
        args: [...own, "mcp", ...args],
        env: { ...this.env },
        cwd: this.dir,
        stderr: "pipe",
      }),
      name,
    );
  }

  /** The same over HTTP. Without a URL: over the Unix socket. */
  async httpClient(url: URL | null, mode: Era = "legacy"): Promise<Client> {
    const unix = this.instance.httpSocket;
    const overSocket = (input: string | URL | Request, init?: RequestInit) => fetch(input, { ...init, unix });
    return this.connect(
      mode,
      url === null
        ? new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), { fetch: overSocket })
        : new StreamableHTTPClientTransport(url),
    );
  }

  async connect(mode: Era, transport: Parameters<Client["connect"]>[0], name = "test"): Promise<Client> {
    const client = new Client({ name, version: "1" }, { versionNegotiation: { mode } });
    await client.connect(transport);
    this.owned.push(client);
    return client;
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.owned.map(async (thing) => thing.close()).map((closed) => closed.catch(() => {})));
    await super[Symbol.asyncDispose]();
  }
}

/** A tool's answer: the parsed text, and whether it is an error. */
export interface Answer {
  readonly isError: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
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
