/**
 * A ring of bytes in shared memory between one reading thread (producer) and one owner (consumer), and the words by
 * which they meet. Bytes are counted modulo 2^32 and never reset; `written - taken` is what the ring holds, at most
 * RING_BYTES. Only the producer changes `written`, only the consumer `taken`.
 *
 * A full ring puts the producer to sleep on `taken`: that sleep is the backpressure of the PTY port. Nobody reads the
 * terminal then, the kernel's buffer fills, and the child blocks in write(2).
 */

import { QUANTUM_BYTES } from "./port.ts";

/** A power of two, so that counts may wrap. Holds the next quantum while the owner parses the last one. */
export const RING_BYTES = QUANTUM_BYTES;

/** Indexes into the control words. */
export const word = {
  /** Bytes put in so far, modulo 2^32. */
  written: 0,
  /** Bytes taken out so far, modulo 2^32. The producer sleeps here when the ring is full. */
  taken: 1,
  /** 1 from the producer's message until the consumer looked: no second message is sent in between. */
  signalled: 2,
  /** See `hung` below. */
  hung: 3,
  /** See `wish` below. The producer sleeps here while nobody holds the terminal's other side. */
  wish: 4,
} as const;

/** What the producer found at the end of the stream. */
export const hung = {
  /** Somebody has the terminal's other side open. */
  no: 0,
  /** Nobody has, at the moment: a child may close its terminal and open it again. */
  now: 1,
  /** Nobody has and the child is gone: every byte is in the ring. */
  final: 2,
} as const;

/** What the consumer asks of the producer; it only grows. */
export const wish = { run: 0, finish: 1, stop: 2 } as const;

export interface SharedRing {
  readonly bytes: Uint8Array<SharedArrayBuffer>;
  readonly words: Int32Array<SharedArrayBuffer>;
}

export function createRing(): SharedRing {
  return {
    bytes: new Uint8Array(new SharedArrayBuffer(RING_BYTES)),
    words: new Int32Array(new SharedArrayBuffer(Object.keys(word).length * Int32Array.BYTES_PER_ELEMENT)),
  };
}

/** Bytes that wait in the ring. */
export function held(ring: SharedRing): number {
  return (Atomics.load(ring.words, word.written) - Atomics.load(ring.words, word.taken)) | 0;
}

/** Takes out up to `max` bytes as a copy of the caller's own; empty when there are none. A run ends at the ring's seam. */
export function take(ring: SharedRing, max: number): Uint8Array<ArrayBuffer> {
  const taken = Atomics.load(ring.words, word.taken);
  const from = taken & (RING_BYTES - 1);
  const count = Math.min(max, held(ring), RING_BYTES - from);
  const bytes = new Uint8Array(count);
  if (count === 0) return bytes;
  bytes.set(ring.bytes.subarray(from, from + count));
  Atomics.store(ring.words, word.taken, (taken + count) | 0);
  Atomics.notify(ring.words, word.taken);
  return bytes;
}
