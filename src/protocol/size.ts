/**
 * Sizes of terminals, in cells. A side reported by a terminal or a new session is clamped to its range; a side set by
 * an API is refused when it is too small (docs/protocol.md, Limits). Layout never makes a program's screen smaller than
 * MIN_PANE_ROWS by MIN_PANE_COLS, whatever the outer size.
 */
import * as v from "valibot";

export interface Size {
  readonly rows: number;
  readonly cols: number;
}

/** Cells, or a share of the available ones. */
export type Amount = { readonly cells: number } | { readonly percent: number };

/** Longest side. */
export const MAX_SIDE = 1000;

/**
 * Below these, bash's line editor divides by zero and kills the shell (2 columns of 1 row), and fish's shows neither
 * prompt nor line (3 columns).
 */
export const MIN_PANE_ROWS = 2;
export const MIN_PANE_COLS = 4;

const clampSide = (n: number): number => Math.min(MAX_SIDE, Math.max(1, n));

/** A side that is clamped. */
export const SideSchema = sideFrom(0);

/** A side that is clamped above, and refused below `least`. */
export function sideFrom(least: number) {
  return v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(65_535), v.transform(clampSide));
}
