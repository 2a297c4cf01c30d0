/**
 * A tools client that counts what its model pays for: calls, including set-up and clean-up, and the UTF-8 bytes that
 * the model sees of each result (structured content; the texts of an error, or when there is nothing else).
 */
import type { Client } from "@modelcontextprotocol/client";

/** The longest wait of a tool is 300 s; the answer needs a moment more. In ms. */
const MAX_CALL_MS = 310_000;

interface CountedCall {
  readonly name: string;
  readonly args: object;
  /** The result as the model sees it. */
  readonly seen: string;
}

/** The part of a result that reaches a model: hosts pass on the structured content, and the text of an error. */
function seenByModel(result: {
  readonly isError?: boolean | undefined;
  readonly structuredContent?: unknown;
  readonly content?: unknown;
}): string {
  if (result.isError !== true && result.structuredContent !== undefined)
    return JSON.stringify(result.structuredContent);
  const items = (result.content ?? []) as readonly { readonly text?: string }[];
  return items.map(({ text }) => text ?? "").join("\n");
}

export class CountedCalls {
  readonly calls: CountedCall[] = [];

  constructor(private readonly client: Client) {}

  /** UTF-8 bytes of everything that the model has seen. */
  get bytes(): number {
    return this.calls.reduce((sum, { seen }) => sum + Buffer.byteLength(seen), 0);
  }

  /** Characters of everything that the model has written and seen. */
  get characters(): number {
    return this.calls.reduce((sum, { args, seen }) => sum + JSON.stringify(args).length + seen.length, 0);
  }

  /** Calls a tool; an error is returned like any other result. */
  async use(name: string, args: object): Promise<{ readonly seen: string; readonly isError: boolean }> {
    const result = await this.client.callTool({ name, arguments: { ...args } }, { timeout: MAX_CALL_MS });
    const seen = seenByModel(result);
    this.calls.push({ name, args, seen });
    return { seen, isError: result.isError === true };
  }

  /** The parsed result of a call that must succeed. */
  // biome-ignore lint/suspicious/noExplicitAny: results have every shape
  async must(name: string, args: object): Promise<any> {
    const { seen, isError } = await this.use(name, args);
    if (isError) throw new Error(`${name} ${JSON.stringify(args)}: ${seen}`);
    return JSON.parse(seen);
  }
}
