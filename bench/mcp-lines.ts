/** `wsh mcp` as an AI host uses it, with a minimal client so that wsh is measured rather than the client. */
import type { Stage } from "./stage.ts";

interface Answer {
  readonly result?: { readonly content: readonly { readonly text: string }[] };
  readonly error?: unknown;
}

/** The answer and the cost of a call. */
export interface Used {
  // biome-ignore lint/suspicious/noExplicitAny: results have every shape
  readonly value: any;
  /** Characters that a model reads and writes for it. */
  readonly characters: number;
}

export class McpLines implements Disposable {
  readonly child;
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private id = 0;

  /** @param server an MCP server over standard input and output; `wsh mcp` unless another is named */
  constructor(stage: Stage, server: readonly string[] = [stage.wsh, "mcp"]) {
    this.child = stage.spawn([...server]);
    void this.read();
  }

  /** The handshake; resolves with its answer. */
  initialize(): Promise<Answer> {
    return this.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "bench", version: "1" },
    });
  }

  /** A call of wsh, whose text is JSON. */
  async call(name: string, args: object): Promise<Used> {
    const { text, characters } = await this.text(name, args);
    return { value: JSON.parse(text), characters };
  }

  /** A call of any server. */
  async text(name: string, args: object): Promise<{ readonly text: string; readonly characters: number }> {
    const { result, error } = await this.request("tools/call", { name, arguments: args });
    const text = result?.content[0]?.text;
    if (text === undefined) throw new Error(`${name}: ${JSON.stringify(error)}`);
    return { text, characters: JSON.stringify(args).length + text.length };
  }

  /** Characters of the list of tools: every model pays for it once. */
  async listed(): Promise<number> {
    return JSON.stringify((await this.request("tools/list", {})).result).length;
  }

  [Symbol.dispose](): void {
    this.child.kill("SIGKILL");
  }

  private request(method: string, params: object): Promise<Answer> {
    const id = ++this.id;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    this.waiting.set(id, resolve);
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    this.child.stdin.flush();
    return promise;
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.child.stdout) {
      rest += decoder.decode(chunk, { stream: true });
      for (let end = rest.indexOf("\n"); end !== -1; end = rest.indexOf("\n")) {
        const { id, ...answer } = JSON.parse(rest.slice(0, end));
        rest = rest.slice(end + 1);
        this.waiting.get(id)?.(answer);
        this.waiting.delete(id);
      }
    }
  }
}
