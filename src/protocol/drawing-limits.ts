/** Limits of overlays and panels, and the names of their colours. */

/** Maximum overlays, and maximum panels, of a session, for both screen modes together. */
const MAX_ELEMENTS = 256;
/** Maximum spans, and maximum region writes, of one element. */
const MAX_PIECES = 4096;
/** Longest text of one span or write, in UTF-8 bytes. */
const MAX_PIECE_BYTES = 65_536;
/** Limits of a session's elements; the constants above are the defaults. */
export interface ElementLimits {
  readonly overlays: number;
  readonly panels: number;
  /** Spans, and region writes, of one element. */
  readonly pieces: number;
  /** Bytes of text in one of them. */
  readonly pieceBytes: number;
}

export const defaultElementLimits: ElementLimits = {
  overlays: MAX_ELEMENTS,
  panels: MAX_ELEMENTS,
  pieces: MAX_PIECES,
  pieceBytes: MAX_PIECE_BYTES,
};

/** Longest text of all elements of a session, in bytes, so that 512 elements at their limits cannot fill the memory. */
export const MAX_SESSION_BYTES = 16 * 1024 * 1024;
/** Longest lifetime of an element with a time limit: a day, far below the range of a 32-bit timer. */
export const MAX_TTL_MS = 24 * 60 * 60 * 1000;

/** In the order of the palette. */
export const elementColorNames = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"] as const;
