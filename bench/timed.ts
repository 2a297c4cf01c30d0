/** @returns how long each of `count` calls took, in ms */
export async function timed(count: number, call: () => Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  for (let at = 0; at < count; at++) {
    const began = performance.now();
    await call();
    times.push(performance.now() - began);
  }
  return times;
}
