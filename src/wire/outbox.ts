/**
 * Queues bytes that a socket has not accepted. A socket may take part of a write; the outbox keeps the rest in order
 * and writes it when the socket drains. It never drops data: `pending` is the backlog of the peer, and the owner
 * decides (stop sending and repaint later, or close).
 */

/** Pending bytes above which a reader counts as too slow: a few screens, several times a pipe's capacity. */
export const BEHIND_BYTES = 256 * 1024;

export class Outbox {
  private queue: Uint8Array[] = [];
  private bytes = 0;

  /** @param send writes to the socket and returns how many bytes it took; negative when it is closed */
  constructor(private readonly send: (bytes: Uint8Array) => number) {}

  /** Number of queued bytes. */
  get pending(): number {
    return this.bytes;
  }

  write(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (this.bytes > 0) {
      this.queue.push(bytes);
      this.bytes += bytes.length;
      return;
    }
    const taken = Math.max(0, this.send(bytes));
    if (taken < bytes.length) {
      this.queue.push(taken === 0 ? bytes : bytes.subarray(taken));
      this.bytes = bytes.length - taken;
    }
  }

  /** Call on the socket's drain event. @returns true when the queue is empty */
  drain(): boolean {
    while (this.queue.length > 0) {
      const batch = this.queue.length === 1 ? this.queue[0] : Buffer.concat(this.queue);
      if (batch === undefined) break;
      const taken = Math.max(0, this.send(batch));
      this.bytes -= taken;
      this.queue = taken < batch.length ? [batch.subarray(taken)] : [];
      if (taken < batch.length) return false;
    }
    return true;
  }

  clear(): void {
    this.queue = [];
    this.bytes = 0;
  }
}
