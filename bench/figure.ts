/** Samples and their statistics. Pure. */

export interface Figure {
  readonly median: number;
  /** The middle half of the samples lies between these two. */
  readonly low: number;
  readonly high: number;
}

/** The value below which `share` (0 to 1) of the samples lie. @throws RangeError without samples */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const value = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  if (value === undefined) throw new RangeError("no samples");
  return value;
}

export function figure(samples: readonly number[]): Figure {
  return { median: percentile(samples, 0.5), low: percentile(samples, 0.25), high: percentile(samples, 0.75) };
}

/** A single measurement, or a count. */
export function one(value: number): Figure {
  return figure([value]);
}

/** Short enough for a table, exact enough to compare. */
export function number(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
}

export function shown({ median, low, high }: Figure): string {
  return low === high ? number(median) : `${number(median)} (${number(low)}–${number(high)})`;
}
