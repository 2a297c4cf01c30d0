/** `wsh mcp`, written and read line by line as an AI host does. */
import type { McpInstance } from "./mcp-instance.ts";
import { PATIENCE_MS, until } from "./until.ts";

export const initialize = request(1, "initialize", {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "lines", version: "1" },
});

export function request(id: number | string, method: string, params: object = {}): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

export function toolCall(id: number, name: string, args: object): string {
  return request(id, "tools/call", { name, arguments: args });
}

export interface Message {
  readonly id?: number | string | null;
  readonly method?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read results of every shape
  readonly result?: any;
  readonly error?: { code: number; message: string; data?: { code?: string } };
}

/** A bridge that is written and read line by line. Everything on its stdout must be JSON-RPC. */
export class Lines implements AsyncDisposable {
  readonly messages: Message[] = [];
  readonly child;
  stderr = "";

  constructor(mcp: McpInstance, args: readonly string[] = []) {
    this.child = mcp.spawn(["mcp", ...args]);
    void this.read();
    void new Response(this.child.stderr).text().then((text) => {
      this.stderr = text;
    });
  }

  send(...lines: readonly string[]): void {
    for (const line of lines) this.child.stdin.write(`${line}\n`);
    this.child.stdin.flush();
  }

  answer(id: number | string | null, patience = PATIENCE_MS): Promise<Message> {
    return until(
      `the answer to ${id}`,
      () => this.messages.find((m) => m.id === id && m.method === undefined),
      patience,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGKILL");
    await this.child.exited;
  }

  private async read(): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of this.child.stdout) {
      rest += decoder.decode(chunk, { stream: true });
      const lines = rest.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) this.messages.push({ ...JSON.parse(line) });
    }
    if (rest !== "") throw new Error(`stdout ends with half a line: ${rest.slice(0, 100)}`);
  }
}
