/** Memory comes back when work is over: when it is asked for, and when not. */
import { expect, test } from "bun:test";
import { GiveBack } from "../src/instance/give-back.ts";
import { until } from "./support/until.ts";

/** A pause, in ms. */
const QUIET_MS = 40;
const MB = 1024 * 1024;

function watched() {
  const seen = { collected: [] as number[], asked: 0, resident: 20 * MB };
  const resident = () => {
    seen.asked++;
    return seen.resident;
  };
  const memory = new GiveBack(() => seen.collected.push(performance.now()), resident, QUIET_MS);
  return { seen, memory };
}

test("at the first pause it is given back, in two rounds, and not before", async () => {
  const { seen, memory } = watched();
  let last = 0;
  for (const end = performance.now() + 5 * QUIET_MS; performance.now() < end; ) {
    memory.worked();
    last = performance.now();
    await Bun.sleep(QUIET_MS / 8);
    // On a machine that stood still meanwhile this was a pause.
    if (performance.now() - last < QUIET_MS / 2) expect(seen.collected).toHaveLength(0);
  }
  await until("two rounds", () => seen.collected.length === 2);
  expect((seen.collected[0] ?? 0) - last).toBeGreaterThanOrEqual(QUIET_MS - 1);
  expect((seen.collected[1] ?? 0) - (seen.collected[0] ?? 0)).toBeGreaterThanOrEqual(QUIET_MS - 1);
});

test("a little work afterwards is not worth a collection, much is", async () => {
  const { seen, memory } = watched();
  memory.worked();
  // At the first pause, and when the rest is known.
  await until("rest", () => seen.asked === 2);
  expect(seen.collected).toHaveLength(2);
  seen.resident = 22 * MB;
  memory.worked();
  await until("the next pause", () => seen.asked === 3);
  expect(seen.collected).toHaveLength(2);
  seen.resident = 30 * MB;
  memory.worked();
  await until("rest again", () => seen.asked === 5);
  expect(seen.collected).toHaveLength(4);
});

test("work between the rounds puts the second off", async () => {
  const { seen, memory } = watched();
  memory.worked();
  await until("the first round", () => seen.collected.length === 1);
  memory.worked();
  await until("two more", () => seen.collected.length === 3);
  expect(seen.asked).toBeGreaterThanOrEqual(2);
});
