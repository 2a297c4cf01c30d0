/**
 * A server's requests to the client (elicitation), over a bridge that outlives servers. Ids are replaced: two servers
 * number their requests alike, and an answer to one must not reach the other. An answer to a request of a former link
 * is dropped, and those requests are cancelled at the client.
 */

import { requestedId } from "./link.ts";
import type { RequestId } from "./open-requests.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const CANCELLED = "notifications/cancelled";
const cancelledStart = Buffer.from(`{"jsonrpc":"2.0","method":"${CANCELLED}"`);

export class ServerRequests {
  private count = 0;
  /** The client's id of each open request, and the server's own. */
  private readonly open = new Map<RequestId, RequestId>();

  /** A line of the server, in the form for the client. */
  passOn(line: Uint8Array): Uint8Array {
    const asked = requestedId(line);
    if (asked !== null) {
      const id = `wsh-ask-${++this.count}`;
      this.open.set(id, asked);
      return rewritten(line, (message) => ({ ...message, id }));
    }
    if (this.open.size === 0 || !startsWith(line, cancelledStart)) return line;
    return rewritten(line, (message) => {
      const params = { ...(message.params as { requestId?: RequestId } | undefined) };
      const requestId = [...this.open].find(([, own]) => own === params.requestId)?.[0];
      if (requestId === undefined) return message;
      this.open.delete(requestId);
      return { ...message, params: { ...params, requestId } };
    });
  }

  /** The client's answer, in the form for its server; null: no server waits for it. */
  answer(id: RequestId, line: string): string | null {
    const own = this.open.get(id);
    if (own === undefined) return null;
    this.open.delete(id);
    return JSON.stringify({ ...JSON.parse(line), id: own });
  }

  /** The link is gone. @returns lines that cancel its requests at the client */
  cancelAll(): string[] {
    const lines = [...this.open.keys()].map((requestId) => {
      const params = { requestId, reason: "the wsh server ended" };
      return `${JSON.stringify({ jsonrpc: "2.0", method: CANCELLED, params })}\n`;
    });
    this.open.clear();
    return lines;
  }
}

function rewritten(line: Uint8Array, change: (message: Record<string, unknown>) => object): Uint8Array {
  return encoder.encode(`${JSON.stringify(change(JSON.parse(decoder.decode(line))))}\n`);
}

function startsWith(line: Uint8Array, start: Buffer): boolean {
  return start.equals(line.subarray(0, start.length));
}
