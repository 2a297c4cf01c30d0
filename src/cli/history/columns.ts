/** Formats times, durations and results of commands in the history. Pure. */

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** `now`, `5m`, `3h`, `2d`, else the date; `-` when unknown. */
export function formatAge(time: number | null, now: number): string {
  if (time === null) return "-";
  const ageMs = now - time;
  if (ageMs < MINUTE_MS) return "now";
  if (ageMs < HOUR_MS) return `${Math.floor(ageMs / MINUTE_MS)}m`;
  if (ageMs < DAY_MS) return `${Math.floor(ageMs / HOUR_MS)}h`;
  if (ageMs < 30 * DAY_MS) return `${Math.floor(ageMs / DAY_MS)}d`;
  const date = new Date(time);
  // Another machine may send an invalid time.
  return Number.isNaN(date.getTime()) ? "-" : date.toISOString().slice(0, 10);
}

/** `0.2s`, `42s`, `3m05`, `2h10`. */
export function formatDuration(ms: number | null): string {
  if (ms === null) return "-";
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)}s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}m${String(seconds % 60).padStart(2, "0")}`;
  return `${Math.floor(minutes / 60)}h${String(minutes % 60).padStart(2, "0")}`;
}

/** The exit code, else the signal; `?` when neither is known. */
export function formatEnd({
  exit_code,
  signal,
}: {
  readonly exit_code: number | null;
  readonly signal: string | null;
}): string {
  if (signal !== null) return signal.replace(/^SIG/, "");
  return exit_code === null ? "?" : String(exit_code);
}
