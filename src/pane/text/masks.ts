/** The parts of a line that are echo of input, and the rest of the line. */

/** Characters from `start` up to `end` of a line are echo. */
export interface Mask {
  readonly start: number;
  readonly end: number;
}

/** The parts of a line from `from` on without the masked ones: a match may be in any of them. */
export function unmaskedParts(length: number, from: number, masks: readonly Mask[]): Mask[] {
  const pieces: Mask[] = [];
  let start = from;
  for (const mask of masks) {
    if (mask.end <= start) continue;
    if (mask.start > start) pieces.push({ start, end: Math.min(mask.start, length) });
    start = mask.end;
  }
  if (start < length || (start === 0 && length === 0)) pieces.push({ start, end: length });
  return pieces;
}
