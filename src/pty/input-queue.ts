/**
 * Input on its way to a terminal, in the order of all writers' calls. The kernel takes as much as fits; the rest, at
 * most INPUT_LIMIT_BYTES, waits here and is offered again soon. A terminal whose child does not read takes nothing:
 * after INPUT_STALL_MS without progress everything queued is dropped, and every pending write fails.
 */

import { type Clock, systemClock } from "../base/clock.ts";
import { WshError } from "../protocol/errors.ts";

/** More than the largest input of one request (1 MiB), so that several writers may wait at once. */
export const INPUT_LIMIT_BYTES = 4 * 1024 * 1024;
/** Time without one byte read after which a program counts as not reading its input, in ms. */
const INPUT_STALL_MS = 5_000;
/**
 * Pause before input is offered again to a full terminal, in ms; doubled up to the longest while it stays
 * full. The kernel holds ~4 KB of input, so the shortest pause limits a paste to ~4 MB/s.
 */
const RETRY_FIRST_MS = 1;
const RETRY_LONGEST_MS = 32;

interface QueuedInput {
  unsent: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: WshError) => void;
}

/** Offers bytes to the kernel; returns how many it took, 0 when it is full, -1 when the terminal is gone. */
type OfferBytes = (bytes: Uint8Array) => number;

export class InputQueue {
  readonly #offer: OfferBytes;
  readonly #stallMs: number;
  readonly #limitBytes: number;
  readonly #clock: Clock;
  readonly #pending: QueuedInput[] = [];
  #pendingBytes = 0;
  #lastProgressAt = 0;
  #retryDelayMs = RETRY_FIRST_MS;
  #retryTimer: Disposable | undefined;
  #isClosed = false;

  constructor(offer: OfferBytes, stallMs = INPUT_STALL_MS, limitBytes = INPUT_LIMIT_BYTES, clock = systemClock) {
    this.#offer = offer;
    this.#stallMs = stallMs;
    this.#limitBytes = limitBytes;
    this.#clock = clock;
  }

  /** Number of pending bytes. */
  get pendingBytes(): number {
    return this.#pendingBytes;
  }

  /**
   * Resolves when the kernel has taken every byte.
   * @throws WshError `input_send_failed`
   */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#isClosed) return Promise.reject(sendError("the terminal is closed"));
    let rest = bytes;
    if (this.#pending.length === 0) {
      const taken = this.#offer(bytes);
      if (taken < 0) return Promise.reject(sendError("the terminal is gone"));
      if (taken === bytes.length) return Promise.resolve();
      rest = bytes.subarray(taken);
      this.#lastProgressAt = this.#clock.now();
      this.#retryDelayMs = RETRY_FIRST_MS;
    }
    if (this.#pendingBytes + rest.length > this.#limitBytes) {
      return Promise.reject(
        sendError(`${this.#pendingBytes} bytes of input are already queued; the limit is ${this.#limitBytes}`),
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A copy: the caller may reuse its buffer.
    this.#pending.push({ unsent: new Uint8Array(rest), resolve, reject });
    this.#pendingBytes += rest.length;
    this.#scheduleRetry();
    return promise;
  }

  /** Offers pending input at once: output has come, so the child runs and may have read. Costs nothing when empty. */
  retryNow(): void {
    if (this.#pending.length > 0) this.#flush();
  }

  /** Fails pending and all later writes. Idempotent. */
  close(reason: string): void {
    this.#isClosed = true;
    this.#failPending(reason);
  }

  #flush(): void {
    for (;;) {
      const piece = this.#pending[0];
      if (piece === undefined) {
        this.#cancelRetry();
        return;
      }
      const taken = piece.unsent.length === 0 ? 0 : this.#offer(piece.unsent);
      if (taken < 0) {
        this.#failPending("the terminal is gone");
        return;
      }
      this.#pendingBytes -= taken;
      piece.unsent = piece.unsent.subarray(taken);
      if (taken > 0) {
        this.#lastProgressAt = this.#clock.now();
        this.#retryDelayMs = RETRY_FIRST_MS;
      }
      if (piece.unsent.length > 0) break;
      this.#pending.shift();
      piece.resolve();
    }
    const stalled = this.#clock.now() - this.#lastProgressAt;
    if (stalled >= this.#stallMs) {
      this.#failPending(
        `the program has read nothing for ${Math.round(stalled)} ms; ${this.#pendingBytes} bytes were not sent`,
      );
    } else {
      this.#scheduleRetry();
    }
  }

  #scheduleRetry(): void {
    if (this.#retryTimer !== undefined) return;
    this.#retryTimer = this.#clock.after(this.#retryDelayMs, () => {
      this.#retryTimer = undefined;
      this.#retryDelayMs = Math.min(this.#retryDelayMs * 2, RETRY_LONGEST_MS);
      this.#flush();
    });
  }

  #cancelRetry(): void {
    this.#retryTimer?.[Symbol.dispose]();
    this.#retryTimer = undefined;
  }

  #failPending(reason: string): void {
    this.#cancelRetry();
    this.#pendingBytes = 0;
    for (const piece of this.#pending.splice(0)) piece.reject(sendError(reason));
  }
}

function sendError(reason: string): WshError {
  return new WshError("input_send_failed", `input was not sent: ${reason}`);
}
