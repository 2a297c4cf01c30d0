/** Times in the forms that people use: `2d` (ago), `90m`, a date, or Unix time in ms. Pure. */
import { WshError } from "./errors.ts";

/** Milliseconds of a unit. */
const units: Readonly<Record<string, number>> = {
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 24 * 3_600_000,
  w: 7 * 24 * 3_600_000,
};

/** Returns ms of a duration such as `500ms`, `90s`, `2d`; null for other text. */
export function durationOf(text: string): number | null {
  const [, count = "", unit = ""] = /^(\d{1,9}(?:\.\d{1,3})?)(ms|[smhdw])$/.exec(text.trim()) ?? [];
  if (count === "") return null;
  return Math.round(Number(count) * (unit === "ms" ? 1 : (units[unit] ?? 1)));
}

/**
 * Returns a moment as Unix time in ms.
 * @param what name of the field, for the message
 * @throws WshError invalid_request
 */
export function momentOf(given: string | number, now: number, what: string): number {
  if (typeof given === "number") return given;
  const ago = durationOf(given);
  if (ago !== null) return now - ago;
  if (/^\d{10,16}$/.test(given)) return Number(given);
  const date = /^\d{4}-\d\d-\d\d/.test(given) ? Date.parse(given.length === 10 ? `${given}T00:00` : given) : Number.NaN;
  if (!Number.isNaN(date)) return date;
  throw new WshError("invalid_request", `'${what}': '${given}' is not a time`, {
    hint: "Give a duration before now (90m, 12h, 2d, 1w), a date (2026-01-31, 2026-01-31T18:00), or Unix time in ms.",
  });
}

/** `90 s`, `3 min`. */
export function roughDuration(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
