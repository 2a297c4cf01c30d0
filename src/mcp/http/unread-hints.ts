/**
 * Notifications that something changed, on their way to a client that may not read: a second one says nothing that the
 * first does not, so none is sent while the same still waits. What waits is thus as much as there are different ones.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/server";

const DATA = "data: ";

/** They only say that it is worth to look again. */
const hintMethods: ReadonlySet<string> = new Set([
  "notifications/resources/list_changed",
  "notifications/resources/updated",
]);

export class UnreadHints {
  private readonly waiting = new Set<string>();
  private readonly decoder = new TextDecoder();

  /** Whether the client has the same before it; if not, this one is counted as sent. */
  isWaiting(message: JSONRPCMessage): boolean {
    if (!("method" in message) || !hintMethods.has(message.method)) return false;
    const text = JSON.stringify(message);
    if (this.waiting.has(text)) return true;
    this.waiting.add(text);
    return false;
  }

  /** A piece of the event stream has left for the client. */
  passed(piece: Uint8Array): void {
    if (this.waiting.size === 0) return;
    for (const line of this.decoder.decode(piece).split("\n")) {
      if (line.startsWith(DATA)) this.waiting.delete(line.slice(DATA.length));
    }
  }

  /** Nothing waits any more, or it never arrives. */
  forget(): void {
    this.waiting.clear();
  }
}
