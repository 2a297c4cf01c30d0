/**
 * Waits until what a program has printed already has been parsed. That it listens is known from the kernel, which may be
 * faster than its output through the terminal.
 */

/** Turns of the event loop without output after which none is left to read: one may only deliver what the next parses. */
const QUIET_TURNS = 3;
/** Most turns that are waited, ones with output too: a program that never stops printing is not waited for. */
const MAX_TURNS = 200;

/** @param offset output bytes parsed so far */
export async function drained(offset: () => number): Promise<void> {
  let quiet = 0;
  let seen = offset();
  for (let turn = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = offset();
    quiet = now === seen ? quiet + 1 : 0;
    seen = now;
  }
}
