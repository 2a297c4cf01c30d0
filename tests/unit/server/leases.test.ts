/** Waits of another machine end when that machine is silent. */
import { expect, test } from "bun:test";
import { Leases } from "../../../src/server/machines/leases.ts";
import { manualClock } from "../../support/manual-clock.ts";

const { signal } = new AbortController();
const waits = (over: AbortSignal): Promise<string> =>
  new Promise((resolve) => over.addEventListener("abort", () => resolve("given up")));

test("a wait continues while its caller is heard, and ends after 20 s of silence", async () => {
  const clock = manualClock();
  const leases = new Leases(clock);
  let state = "waits";
  const looks = [0, 1].map(() =>
    leases.holdWhile("a", signal, waits).catch(({ code }) => {
      state = code;
    }),
  );
  const unnamed = leases.holdWhile("", signal, waits);
  for (let seconds = 0; seconds < 60; seconds += 5) {
    clock.pass(5_000);
    leases.renew("a");
    leases.renew("b");
  }
  await Promise.resolve();
  expect(state).toBe("waits");
  clock.pass(10_000);
  clock.pass(10_000);
  await Promise.all(looks);
  expect([state, clock.timers()]).toEqual(["server_unavailable", 0]);
  expect(await Promise.race([unnamed, "waits"])).toBe("waits");
  expect(await leases.holdWhile("a", signal, async () => "seen")).toBe("seen");
  expect(clock.timers()).toBe(0);
});
