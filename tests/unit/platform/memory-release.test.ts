/** Memory is released after work: when it is requested, when not, and when code is released too. */
import { expect, test } from "bun:test";
import { MemoryRelease } from "../../../src/platform/memory-release.ts";
import { until } from "../../support/until.ts";

/** A pause, and an absence, in ms. */
const QUIET_MS = 40;
const LEFT_MS = 200;
const MB = 1024 * 1024;

function watched() {
  const seen = {
    collected: [] as { at: number; all: boolean }[],
    asked: 0,
    resident: 20 * MB,
    /** Runs once, right behind the next collection, however long the machine keeps this process waiting then. */
    next: null as (() => void) | null,
  };
  const resident = () => {
    seen.asked++;
    return seen.resident;
  };
  const collect = (all: boolean) => {
    seen.collected.push({ at: performance.now(), all });
    if (seen.next !== null) queueMicrotask(seen.next);
    seen.next = null;
  };
  const memory = new MemoryRelease(collect, resident, QUIET_MS, LEFT_MS);
  return { seen, memory };
}

/** Works until start-up is over. */
async function started() {
  const { seen, memory } = watched();
  memory.activity();
  await until("rest", () => seen.asked === 1);
  expect(seen.collected.map(({ all }) => all)).toEqual([true]);
  seen.collected = [];
  seen.asked = 0;
  return { seen, memory };
}

test("at the first pause it is released, and not before", async () => {
  const { seen, memory } = watched();
  let last = 0;
  for (const end = performance.now() + 5 * QUIET_MS; performance.now() < end; ) {
    memory.activity();
    last = performance.now();
    await Bun.sleep(QUIET_MS / 8);
    // A stalled machine makes this a pause.
    if (performance.now() - last < QUIET_MS / 2) expect(seen.collected).toHaveLength(0);
  }
  await until("a collection", () => seen.collected.length === 1);
  expect((seen.collected[0]?.at ?? 0) - last).toBeGreaterThanOrEqual(QUIET_MS - 1);
});

test("a little work afterwards is not worth a collection, much is", async () => {
  const { seen, memory } = await started();
  seen.resident = 22 * MB;
  memory.activity();
  await until("the next pause", () => seen.asked === 1);
  expect(seen.collected).toHaveLength(0);
  seen.resident = 30 * MB;
  memory.activity();
  await until("a collection", () => seen.collected.length === 1);
  expect(seen.collected[0]?.all).toBe(false);
});

test("code stays for a returning person, and is released after an absence", async () => {
  const { seen, memory } = await started();
  seen.resident = 30 * MB;
  let last = Number.NaN;
  seen.next = () => {
    last = performance.now();
    memory.activity();
  };
  memory.activity();
  await until("two rounds", () => seen.collected.length === 3);
  expect(seen.collected.map(({ all }) => all)).toEqual([false, true, true]);
  // The collection freed nothing: it is not repeated at the next pause.
  const [, first, second] = seen.collected;
  expect((first?.at ?? 0) - last).toBeGreaterThanOrEqual(LEFT_MS - 1);
  expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(QUIET_MS - 1);
  // Nothing more can be freed.
  await until("rest", () => seen.asked >= 4);
  await Bun.sleep(2 * LEFT_MS);
  expect(seen.collected).toHaveLength(3);
});

test("work between the rounds delays the second until nobody returns", async () => {
  const { seen, memory } = watched();
  let last = Number.NaN;
  seen.next = () => {
    last = performance.now();
    memory.activity();
  };
  memory.activity();
  await until("two more", () => seen.collected.length === 3);
  expect((seen.collected[1]?.at ?? 0) - last).toBeGreaterThanOrEqual(LEFT_MS - 1);
});
