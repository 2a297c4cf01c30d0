/** Waiting for something to come true, with a limit after which a measure fails. */

/** How long anything may take that a measure waits for, in ms: a hundred times what it should. */
const PATIENCE_MS = 120_000;

/** Waits until `probe` answers something else than undefined, null or false. */
export async function until<T>(what: string, probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = await probe();
    if (value !== undefined && value !== null && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`waited ${PATIENCE_MS} ms for ${what}`);
    await Bun.sleep(2);
  }
}
