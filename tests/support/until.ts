/** Waits for a condition to become true, never for time to pass. */

/** Limit of every wait of a test, in ms: allows for a busy machine, not for a slow program. */
export const PATIENCE_MS = Number(process.env.WSH_PATIENCE ?? 20_000);
/** Pauses between two probes, in ms: each is longer than the last by half, so that a long wait costs little. */
const FIRST_PAUSE_MS = 5;
const LAST_PAUSE_MS = 120;

/** Waits until `probe` returns something other than undefined, null or false, and returns that. */
export async function until<T>(
  what: string,
  probe: () => T | Promise<T>,
  patienceMs: number = PATIENCE_MS,
): Promise<Exclude<T, undefined | null | false>> {
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, LAST_PAUSE_MS)) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value as Exclude<T, undefined | null | false>;
    if (performance.now() > deadline) throw new Error(`waited ${patienceMs} ms for ${what}`);
    await Bun.sleep(pauseMs);
  }
}
