/**
 * Writes bytes to the person's terminal and loses none: bytes that the terminal does not take at once are queued in
 * order. Writing never blocks the process, so that it serves keys and signals while a terminal is stalled. The owner
 * checks `pending` and stops the source; `onDrain` reports when everything has been taken. A terminal that is gone
 * takes everything and shows nothing: `onGone` reports that once.
 */
import fs from "node:fs";
import { errorCode } from "../base/errno.ts";
import { Outbox } from "./outbox.ts";

/** Pause before the first retry when the terminal takes nothing, in ms: it empties its 4 to 64 KB faster than that. */
const FIRST_RETRY_MS = 1;
/** Longest pause, in ms: a terminal that is stalled for long is rarely tried. */
const LONGEST_RETRY_MS = 32;

export class TerminalOutput {
  private readonly outbox = new Outbox((bytes) => this.take(bytes));
  private retry: Timer | null = null;
  private pauseMs = FIRST_RETRY_MS;
  private gone = false;
  onDrain: () => void = () => {};
  onGone: () => void = () => {};

  /** @param fd preferably unshared and non-blocking; writes to a blocking one block */
  constructor(private readonly fd: number) {}

  /** Number of queued bytes. */
  get pending(): number {
    return this.outbox.pending;
  }

  write(bytes: Uint8Array): void {
    if (this.gone) return;
    this.outbox.write(bytes);
    if (this.gone) this.onGone();
    else if (this.pending > 0) this.retryLater();
  }

  /** Resolves when the queue is empty, or after `ms`. */
  async emptied(ms: number): Promise<void> {
    const deadline = performance.now() + ms;
    let pauseMs = FIRST_RETRY_MS;
    while (this.pending > 0 && !this.gone && performance.now() < deadline) {
      await Bun.sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, LONGEST_RETRY_MS);
    }
  }

  /** Discards the queue, if the terminal does not take it in time at the end. */
  discard(): void {
    clearTimeout(this.retry ?? undefined);
    this.retry = null;
    this.outbox.clear();
  }

  private retryLater(): void {
    this.retry ??= setTimeout(() => this.drain(), this.pauseMs);
  }

  private drain(): void {
    this.retry = null;
    const before = this.pending;
    const isEmpty = this.outbox.drain();
    const hasProgress = this.pending < before;
    this.pauseMs = hasProgress ? FIRST_RETRY_MS : Math.min(this.pauseMs * 2, LONGEST_RETRY_MS);
    if (this.gone) this.onGone();
    else if (isEmpty) this.onDrain();
    else this.retryLater();
  }

  /** @returns how many bytes the terminal took */
  private take(bytes: Uint8Array): number {
    let taken = 0;
    try {
      while (taken < bytes.length) taken += fs.writeSync(this.fd, bytes, taken);
    } catch (error) {
      if (errorCode(error) === "EAGAIN") return taken;
      this.gone = true;
    }
    return bytes.length;
  }
}
