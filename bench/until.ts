/** Waits for a condition, with a limit after which the measure fails. */

/** Limit of each wait of a measure, in ms: a hundred times the expected duration. */
const PATIENCE_MS = 120_000;

/** Waits until `probe` returns a value other than undefined, null or false. */
export async function until<T>(what: string, probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms for ${what}`);
    await Bun.sleep(2);
  }
}
