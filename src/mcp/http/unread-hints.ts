/**
 * Change notifications for a client that may not read: a second one adds nothing to the first, so none is sent while
 * the same is pending. The queue thus holds at most one of each kind.
 */
import type { JSONRPCMessage } from "@modelcontextprotocol/server";

const DATA = "data: ";

/** Methods that only invite the client to read again. */
const hintMethods: ReadonlySet<string> = new Set([
  "notifications/resources/list_changed",
  "notifications/resources/updated",
]);

export class UnreadHints {
  private readonly unread = new Set<string>();
  private readonly decoder = new TextDecoder();

  /** Whether the same message is pending for the client; if not, this one is counted as sent. */
  isWaiting(message: JSONRPCMessage): boolean {
    if (!("method" in message) || !hintMethods.has(message.method)) return false;
    const text = JSON.stringify(message);
    if (this.unread.has(text)) return true;
    this.unread.add(text);
    return false;
  }

  /** A piece of the event stream was sent to the client. */
  markSent(piece: Uint8Array): void {
    if (this.unread.size === 0) return;
    for (const line of this.decoder.decode(piece).split("\n")) {
      if (line.startsWith(DATA)) this.unread.delete(line.slice(DATA.length));
    }
  }

  /** Nothing is pending any more, or it will never arrive. */
  forget(): void {
    this.unread.clear();
  }
}
