/**
 * The thread that reads one terminal's master descriptor into a shared ring. It owns the two descriptors that it is
 * given only for reading; the other thread closes them after this one has ended.
 *
 * It never returns to its event loop while it runs: it sleeps in poll(2) while the terminal is quiet (no wake-ups), in
 * Atomics.wait while the ring is full, and is told to stop by the `wish` word and a byte in the wake pipe.
 * The first byte after a pause is announced at once. While bytes come thick and fast, announcements are held back until
 * a batch is full, because each costs the owner a turn of its event loop.
 */

import { ptr } from "bun:ffi";
import { libc, POLLIN } from "./libc.ts";
import { hung, RING_BYTES, type SharedRing, wish, word } from "./ring.ts";

declare const self: Worker;

/** What the owner sends once. */
export interface ReaderStart {
  readonly ring: SharedRing;
  /** The terminal's master side, non-blocking. */
  readonly master: number;
  /** Becomes readable when `wish` has changed. */
  readonly wake: number;
}

/** A flood is this many bytes within FLOOD_WINDOW_MS: far more than typing or a redraw of the screen brings. */
const FLOOD_BYTES = 32 * 1024;
const FLOOD_WINDOW_MS = 4;
/** In a flood the owner is told when so much waits, */
const BATCH_BYTES = 64 * 1024;
/** or when nothing more came for so long. */
const BATCH_WAIT_MS = 1;
/** How often a terminal that nobody has open is looked at again; rare, so slow. */
const HUNG_RETRY_MS = 200;
/** Forever, in poll(2). */
const INDEFINITELY = -1;

self.onmessage = (message: MessageEvent<ReaderStart>) => {
  read(message.data);
};

function read({ ring, master, wake }: ReaderStart): void {
  const c = libc();
  const { bytes, words } = ring;
  // struct pollfd { int fd; short events; short revents; } twice; revents is the upper half of the second word.
  const watched = new Int32Array([master, POLLIN, wake, POLLIN]);
  const watchedAt = ptr(watched);
  let windowStart = 0;
  let windowBytes = 0;
  let flooding = false;

  const announce = () => {
    if (Atomics.exchange(words, word.signalled, 1) === 0) postMessage(null);
  };

  /** Reads once into the free run of the ring; -1 when there is nothing to read. */
  const fill = (): number => {
    const written = Atomics.load(words, word.written);
    const free = RING_BYTES - ((written - Atomics.load(words, word.taken)) | 0);
    const from = written & (RING_BYTES - 1);
    const count = c.read(master, ptr(bytes, from), Math.min(free, RING_BYTES - from));
    if (count > 0) Atomics.store(words, word.written, (written + count) | 0);
    return count > 0 ? count : -1;
  };

  while (Atomics.load(words, word.wish) !== wish.stop) {
    const taken = Atomics.load(words, word.taken);
    const waiting = (Atomics.load(words, word.written) - taken) | 0;
    if (waiting >= RING_BYTES) {
      announce();
      Atomics.wait(words, word.taken, taken);
      continue;
    }
    const count = fill();
    if (count > 0) {
      const now = performance.now();
      if (now - windowStart > FLOOD_WINDOW_MS) {
        // A window that ended long ago says nothing about now.
        flooding = windowBytes >= FLOOD_BYTES && now - windowStart < 2 * FLOOD_WINDOW_MS;
        windowStart = now;
        windowBytes = 0;
      }
      windowBytes += count;
      flooding ||= windowBytes >= FLOOD_BYTES;
      if (!flooding || waiting + count >= BATCH_BYTES) announce();
      continue;
    }
    const unannounced = waiting > 0 && Atomics.load(words, word.signalled) === 0;
    watched[1] = POLLIN;
    watched[3] = POLLIN;
    const ready = c.poll(watchedAt, 2, unannounced ? BATCH_WAIT_MS : INDEFINITELY);
    if (ready === 0) announce();
    const events = ready > 0 ? (watched[1] ?? 0) >>> 16 : 0;
    if ((events & POLLIN) !== 0 || (events & ~POLLIN) === 0) continue;
    // Nobody has the other side open. Bytes written before the hang-up are read first: only a read that fails ends it.
    const wished = Atomics.load(words, word.wish);
    if (fill() > 0) {
      announce();
      continue;
    }
    Atomics.store(words, word.hung, wished === wish.run ? hung.now : hung.final);
    announce();
    if (wished !== wish.run) return;
    Atomics.wait(words, word.wish, wish.run, HUNG_RETRY_MS);
    Atomics.store(words, word.hung, hung.no);
  }
}
