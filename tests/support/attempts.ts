/** Times that a test depends on, on a machine that may stall: a stall spoils one attempt, a fault of the program all. */

/** What `act` gives at its first attempt that takes less than so long, in ms; a wait of the program's own is in each. */
export async function within<T>(limitMs: number, act: () => Promise<T>, attempts = 5): Promise<T> {
  const took: number[] = [];
  while (took.length < attempts) {
    const began = performance.now();
    const value = await act();
    const ms = performance.now() - began;
    if (ms < limitMs) return value;
    took.push(Math.round(ms));
  }
  throw new Error(`took ${took.join(", ")} ms, and was to take less than ${limitMs} ms`);
}

/** Time that this process has used of processors so far, in ms: what a machine does meanwhile adds nothing. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

/** Times that a program is given in turn to come to the point which a test is about, in ms. */
const GIVEN_MS = [700, 3_000, 12_000];

/** What `act` gives with the first time in which the program came to that point: where it did not, `act` gives null. */
export async function givenTime<T>(what: string, act: (ms: number) => Promise<T | null>): Promise<T> {
  for (const ms of GIVEN_MS) {
    const value = await act(ms);
    if (value !== null) return value;
  }
  throw new Error(`${what} did not come in ${GIVEN_MS.at(-1)} ms`);
}
