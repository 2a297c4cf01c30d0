/**
 * A random walk over the whole product: sessions, terminals, agents' drawings, servers, bridges, and each of their
 * processes killed or stopped meanwhile; after each step the world must match the expected state. WSH_WALK_SEED repeats a
 * walk, WSH_WALK_SECONDS sets its duration.
 */
import { test } from "bun:test";
import { seededRandom } from "../../support/terminals/outer-screen.ts";
import { type Dice, steps } from "./steps.ts";
import { World } from "./world.ts";

/** Length of a walk in seconds: enough for each kind of step once or twice, or for many. */
const SECONDS = Number(process.env.WSH_WALK_SECONDS ?? (process.env.WSH_TEST_FULL === "1" ? 240 : 6));
const SEED = Number(process.env.WSH_WALK_SEED ?? Date.now() % 1_000_000);
/** Steps at least, however slow the machine is. */
const LEAST_STEPS = 5;
/** Steps of the log that a failure repeats. */
const LOG_STEPS = 25;

test(
  "whatever is done, and whatever dies, the rest is as it was",
  async () => {
    console.log(`walk: WSH_WALK_SEED=${SEED} WSH_WALK_SECONDS=${SECONDS}`);
    await walk(SEED, SECONDS);
  },
  (SECONDS + 90) * 1000,
);

async function walk(seed: number, seconds: number): Promise<void> {
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const dice: Dice = {
    below,
    pick: (list) => {
      const chosen = list[below(list.length)];
      if (chosen === undefined) throw new Error("nothing to choose from");
      return chosen;
    },
  };
  const log: string[] = [];
  await using world = new World();
  const deadline = performance.now() + seconds * 1000;
  try {
    while (performance.now() < deadline || log.length < LEAST_STEPS) {
      const possible = steps.filter((step) => step.possible(world));
      const step = dice.pick(possible.flatMap((one) => Array(one.weight).fill(one) as (typeof one)[]));
      log.push(`${log.length + 1} ${step.name}`);
      const done = await step.run(world, dice);
      log[log.length - 1] += ` ${done}`;
      await world.check();
    }
    log.push("stop everything");
    await world.end();
  } catch (error) {
    const last = log.slice(-LOG_STEPS).join("\n");
    const reason = error instanceof Error ? (error.stack ?? error.message) : String(error);
    throw new Error(`WSH_WALK_SEED=${seed}, after these steps:\n${last}\n${reason}`);
  }
}
