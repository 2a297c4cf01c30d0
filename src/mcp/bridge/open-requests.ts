/**
 * Tracks the client's open requests, and answers them when the server's answers will not arrive. Pure bookkeeping:
 * every accepted request is answered exactly once, by the server or from here.
 */
import { idOf, isRequestId } from "../../wire/lines.ts";

export type RequestId = string | number;

/** A line from the client that is a JSON-RPC message. */
export interface ClientMessage {
  readonly line: string;
  /** Set for requests and for answers to the server's own requests. */
  readonly id: RequestId | null;
  /** Unset for answers. */
  readonly method: string | null;
  readonly params: Readonly<Record<string, unknown>>;
}

/** A parsed line, or the JSON-RPC error that answers it. */
type Parsed =
  | { readonly ok: true; readonly message: ClientMessage }
  | { readonly ok: false; readonly code: number; readonly reason: string; readonly id: RequestId | null };

export function parseLine(line: string): Parsed {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { ok: false, code: -32700, reason: "Parse error: the line is not JSON", id: null };
  }
  const invalid = (reason: string): Parsed => ({ ok: false, code: -32600, reason, id: idOf(value) });
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return invalid("Invalid Request: the line is not a JSON-RPC message");
  }
  const { jsonrpc, id, method, params }: Readonly<Record<string, unknown>> = { ...value };
  if (jsonrpc !== "2.0") return invalid("Invalid Request: jsonrpc must be '2.0'");
  const isAnswer = method === undefined && ("result" in value || "error" in value);
  if (!isAnswer && typeof method !== "string") return invalid("Invalid Request: there is no method");
  const hasId = isRequestId(id);
  if (!hasId && (isAnswer || id !== undefined)) return invalid("Invalid Request: the id must be a string or a number");
  const named = typeof params === "object" && params !== null ? { ...params } : {};
  const message = { line, id: hasId ? id : null, method: typeof method === "string" ? method : null, params: named };
  return { ok: true, message };
}

/** Tools that change nothing; a test compares them with the tools' own annotations. */
export const readOnlyTools: ReadonlySet<string> = new Set([
  "wsh_await_quiesce",
  "wsh_get_output",
  "wsh_get_screen",
  "wsh_get_scrollback",
  "wsh_get_status",
  "wsh_history",
  "wsh_list_sessions",
  "wsh_wait",
]);

interface OpenRequest {
  readonly message: ClientMessage;
  /** Whether the server may have seen it. */
  isSent: boolean;
}

export class OpenRequests {
  private readonly open = new Map<RequestId, OpenRequest>();

  add(message: ClientMessage): void {
    if (message.id !== null) this.open.set(message.id, { message, isSent: false });
  }

  sent(id: RequestId): void {
    const request = this.open.get(id);
    if (request !== undefined) request.isSent = true;
  }

  /** Marks a request as answered or cancelled. Returns its message; null: it was not open. */
  close(id: RequestId): ClientMessage | null {
    const request = this.open.get(id);
    this.open.delete(id);
    return request?.message ?? null;
  }

  has(id: RequestId): boolean {
    return this.open.has(id);
  }

  /** Number of requests with an awaited answer; a listen has none until it is cancelled. */
  get awaitedCount(): number {
    return [...this.open.values()].filter(({ message }) => message.method !== "subscriptions/listen").length;
  }

  /**
   * Closes requests, and returns an error line for each.
   * @param which all, or only those that the server may have seen
   */
  fail(which: "all" | "sent", failure: { code: string; message: string; hint: string }): string[] {
    const lines: string[] = [];
    for (const [id, { message, isSent }] of this.open) {
      if (which === "sent" && !isSent) continue;
      this.open.delete(id);
      lines.push(errorLine(id, -32603, `${failure.message}; ${consequence(message, isSent)}`, failure));
    }
    return lines;
  }
}

/** Whether the caller may retry safely. */
function consequence(message: ClientMessage, isSent: boolean): string {
  if (!isSent) return "the request was not sent to a server";
  const name = message.params.name;
  const hasEffect = message.method === "tools/call" && !(typeof name === "string" && readOnlyTools.has(name));
  return hasEffect
    ? "the request may have been carried out: check before repeating it"
    : "nothing was changed: try again";
}

/** A JSON-RPC error as a line. */
export function errorLine(
  id: RequestId | null,
  code: number,
  message: string,
  data?: Readonly<Record<string, unknown>>,
): string {
  const error = data === undefined ? { code, message } : { code, message, data };
  return `${JSON.stringify({ jsonrpc: "2.0", id, error })}\n`;
}
