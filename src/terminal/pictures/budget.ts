/**
 * Limits the memory for programs' images: here as data, and in terminals as pixels. The oldest is dropped first, hidden
 * ones before displayed ones. Owned by the process, since its panes share it.
 */
import type { Pixels } from "./pixels.ts";

/** Maximum bytes stored of one pane's images, and of all. */
export const MAX_PANE_BYTES = 16 * 1024 * 1024;
const MAX_BYTES = 48 * 1024 * 1024;
/** Maximum bytes in a terminal, at four per pixel: kitty stores 320 MB. */
const MAX_TERMINAL_BYTES = 256 * 1024 * 1024;
/** Maximum images of one pane, against many images of one pixel. */
const MAX_PANE_IMAGES = 512;
const MAX_ID = 0xff_ffff;
/** Smaller numbers are colours of the palette in some terminals. */
const FIRST_ID = 0x1_0000;

/** Largest image, as sent. */
export const MAX_IMAGE_BYTES = MAX_PANE_BYTES;

export interface BudgetEntry {
  readonly owner: object;
  readonly pixels: Pixels;
  readonly isDisplayed: boolean;
  drop(): void;
}

/** Oldest first. */
const entries = new Set<BudgetEntry>();
const usedIds = new Set<number>();

/** Adds an image, for which others may be dropped. */
export function admit(entry: BudgetEntry): void {
  entries.add(entry);
  evict(entry, ({ owner }) => owner === entry.owner, MAX_PANE_BYTES, MAX_PANE_IMAGES);
  evict(entry, () => true, MAX_BYTES, Number.POSITIVE_INFINITY);
}

export function release(entry: BudgetEntry): void {
  entries.delete(entry);
}

function evict(newest: BudgetEntry, concerns: (entry: BudgetEntry) => boolean, bytes: number, count: number): void {
  const of = [...entries].filter(concerns);
  let held = 0;
  let shown = 0;
  for (const { pixels } of of) {
    held += pixels.bytes.length;
    shown += 4 * pixels.width * pixels.height;
  }
  let left = of.length;
  const oldest = [...of.filter(({ isDisplayed }) => !isDisplayed), ...of.filter(({ isDisplayed }) => isDisplayed)];
  for (const entry of oldest) {
    if (held <= bytes && shown <= MAX_TERMINAL_BYTES && left <= count) return;
    if (entry === newest) continue;
    held -= entry.pixels.bytes.length;
    shown -= 4 * entry.pixels.width * entry.pixels.height;
    left--;
    entries.delete(entry);
    entry.drop();
  }
}

/** An id that no picture of this process has. @param highest the id's highest byte */
export function takeId(highest = 0): number {
  for (;;) {
    const low = FIRST_ID + Math.floor(Math.random() * (MAX_ID - FIRST_ID));
    const id = highest * 0x100_0000 + low;
    if (usedIds.has(id)) continue;
    usedIds.add(id);
    return id;
  }
}

export function freeId(id: number): void {
  usedIds.delete(id);
}
