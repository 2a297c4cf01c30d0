/**
 * Input on its way to a terminal, in the order of all writers' calls. The kernel takes as much as fits; the rest waits
 * here, at most INPUT_LIMIT_BYTES of it, and is offered again soon. A terminal whose child does not read takes nothing:
 * after INPUT_STALL_MS without progress everything queued is dropped, and every pending write fails.
 */

import { WshError } from "../protocol/errors.ts";

/** More than the largest input of one request (1 MiB), so that several writers may wait at once. */
export const INPUT_LIMIT_BYTES = 4 * 1024 * 1024;
/** Time without one byte read after which a program counts as not reading its input, in ms. */
const INPUT_STALL_MS = 5_000;
/**
 * Pause before input is offered again to a full terminal, in ms; doubled up to the longest while it stays full. The
 * kernel holds ~4 KB of input, so that the shortest pause bounds a paste at ~4 MB/s.
 */
const RETRY_FIRST_MS = 1;
const RETRY_LONGEST_MS = 32;

interface QueuedInput {
  rest: Uint8Array;
  readonly resolve: () => void;
  readonly reject: (error: WshError) => void;
}

/** Offers bytes to the kernel; returns how many it took, 0 when it is full, -1 when the terminal is gone. */
type Offer = (bytes: Uint8Array) => number;

export class InputQueue {
  readonly #offer: Offer;
  readonly #stallMs: number;
  readonly #limitBytes: number;
  readonly #pieces: QueuedInput[] = [];
  #queued = 0;
  #progressAt = 0;
  #pause = RETRY_FIRST_MS;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #closed = false;

  constructor(offer: Offer, stallMs = INPUT_STALL_MS, limitBytes = INPUT_LIMIT_BYTES) {
    this.#offer = offer;
    this.#stallMs = stallMs;
    this.#limitBytes = limitBytes;
  }

  /** Number of pending bytes. */
  get queued(): number {
    return this.#queued;
  }

  /**
   * Resolves when the kernel has taken every byte.
   * @throws WshError `input_send_failed`
   */
  write(bytes: Uint8Array): Promise<void> {
    if (this.#closed) return Promise.reject(failed("the terminal is closed"));
    let rest = bytes;
    if (this.#pieces.length === 0) {
      const taken = this.#offer(bytes);
      if (taken < 0) return Promise.reject(failed("the terminal is gone"));
      if (taken === bytes.length) return Promise.resolve();
      rest = bytes.subarray(taken);
      this.#progressAt = performance.now();
      this.#pause = RETRY_FIRST_MS;
    }
    if (this.#queued + rest.length > this.#limitBytes) {
      return Promise.reject(
        failed(`${this.#queued} bytes of input are already queued; the limit is ${this.#limitBytes}`),
      );
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    // A copy: the caller may reuse its buffer.
    this.#pieces.push({ rest: new Uint8Array(rest), resolve, reject });
    this.#queued += rest.length;
    this.#schedule();
    return promise;
  }

  /** Offers pending input at once: output has come, so the child runs and may have read. Costs nothing when empty. */
  poke(): void {
    if (this.#pieces.length > 0) this.#flush();
  }

  /** Fails pending and all later writes. Idempotent. */
  close(reason: string): void {
    this.#closed = true;
    this.#drop(reason);
  }

  #flush(): void {
    for (;;) {
      const piece = this.#pieces[0];
      if (piece === undefined) {
        this.#rest();
        return;
      }
      const taken = piece.rest.length === 0 ? 0 : this.#offer(piece.rest);
      if (taken < 0) {
        this.#drop("the terminal is gone");
        return;
      }
      this.#queued -= taken;
      piece.rest = piece.rest.subarray(taken);
      if (taken > 0) {
        this.#progressAt = performance.now();
        this.#pause = RETRY_FIRST_MS;
      }
      if (piece.rest.length > 0) break;
      this.#pieces.shift();
      piece.resolve();
    }
    const stalled = performance.now() - this.#progressAt;
    if (stalled >= this.#stallMs) {
      this.#drop(`the program has read nothing for ${Math.round(stalled)} ms; ${this.#queued} bytes were not sent`);
    } else {
      this.#schedule();
    }
  }

  #schedule(): void {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#pause = Math.min(this.#pause * 2, RETRY_LONGEST_MS);
      this.#flush();
    }, this.#pause);
  }

  #rest(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #drop(reason: string): void {
    this.#rest();
    this.#queued = 0;
    for (const piece of this.#pieces.splice(0)) piece.reject(failed(reason));
  }
}

function failed(reason: string): WshError {
  return new WshError("input_send_failed", `input was not sent: ${reason}`);
}
