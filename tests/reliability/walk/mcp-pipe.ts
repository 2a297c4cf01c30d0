/** An AI host at the other end of `wsh mcp`: JSON-RPC lines, no SDK, so that messages are sent and received unchanged. */
import { until } from "../../support/until.ts";
import type { Wsh } from "../../support/wsh.ts";

interface Reply {
  readonly id?: number;
  readonly result?: { readonly content?: readonly { readonly text: string }[] };
  readonly error?: { readonly code: number; readonly message: string };
}

export class McpPipe implements Disposable {
  private readonly replies: Reply[] = [];
  private nextId = 1;

  private constructor(private readonly child: ReturnType<Wsh["spawn"]>) {
    void this.read();
  }

  /** Starts a bridge and initializes. */
  static async open(wsh: Wsh): Promise<McpPipe> {
    const pipe = new McpPipe(wsh.spawn(["mcp"]));
    const clientInfo = { name: "walk", version: "1" };
    await pipe.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    pipe.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    return pipe;
  }

  get pid(): number {
    return this.child.pid;
  }

  async request(method: string, params: object): Promise<Reply> {
    const id = this.nextId++;
    this.send({ jsonrpc: "2.0", id, method, params });
    return until(`the bridge to answer ${method}`, () => {
      if (this.child.exitCode !== null) throw new Error(`the bridge ended with ${this.child.exitCode}`);
      return this.replies.find((reply) => reply.id === id);
    });
  }

  /** A tool's answer, parsed; throws its error. */
  async tool(name: string, args: object = {}): Promise<unknown> {
    const { result, error } = await this.request("tools/call", { name, arguments: args });
    if (error !== undefined) throw new Error(`${name}: ${error.message}`);
    return JSON.parse(result?.content?.[0]?.text ?? "null");
  }

  signal(name: NodeJS.Signals): void {
    this.child.kill(name);
  }

  get exited(): Promise<number> {
    return this.child.exited;
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
  }

  private send(message: object): void {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
    void this.child.stdin.flush();
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const bytes of this.child.stdout) {
      const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line !== "") this.replies.push(JSON.parse(line));
    }
  }
}
