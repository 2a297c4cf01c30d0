/**
 * Waits until output that a program has already printed is parsed. The kernel may report that the program
 * listens before its output has passed through the terminal.
 */

/** Turns of the event loop without output after which none is pending: one may only deliver bytes for the next. */
const QUIET_TURNS = 3;
/** Maximum turns to wait, including those with output: a program that never stops printing is not awaited. */
const MAX_TURNS = 200;

/** @param offset returns the output bytes parsed so far */
export async function awaitDrained(offset: () => number): Promise<void> {
  let quiet = 0;
  let seen = offset();
  for (let turn = 0; turn < MAX_TURNS && quiet < QUIET_TURNS; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    const now = offset();
    quiet = now === seen ? quiet + 1 : 0;
    seen = now;
  }
}
