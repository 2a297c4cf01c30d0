/** Requests with an id: carried out once, answered at every repetition, and never guessed. */
import { expect, test } from "bun:test";
import { WshError } from "../../../src/protocol/errors.ts";
import { ORPHAN_MS, REMEMBERED_MS, requestKeyOf } from "../../../src/protocol/requests.ts";
import { RequestMemory } from "../../../src/wire/request-memory.ts";
import { manualClock } from "../../support/manual-clock.ts";

const ask = (id: string, input: unknown = 1, firstAt?: number) =>
  requestKeyOf(id, "me", { operation: "exec", input }, firstAt);
const here = { signal: new AbortController().signal, isGone: () => true };
const code = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    (value) => value,
    (thrown) => WshError.from(thrown).code,
  );

function memory(limits = { ids: 100, bytes: 10_000 }, forgets = false) {
  const clock = manualClock();
  clock.pass(1_000_000);
  const once = new RequestMemory(limits, forgets, clock);
  let runs = 0;
  const old = (id: string, ageMs: number) => ask(id, 1, clock.wall() - ageMs);
  return { clock, once, old, run: async () => ({ run: ++runs }), runs: () => runs };
}

test("the same id gives the same answer, or the same error; another input or owner is a different request", async () => {
  const { once, run, runs } = memory();
  expect(await once.answer(ask("a"), here, run)).toEqual({ run: 1 });
  expect(await once.answer(ask("a"), here, run)).toEqual({ run: 1 });
  expect(await code(once.answer(ask("a", 2), here, run))).toBe("request_conflict");
  expect(await once.answer(requestKeyOf("a", "you", { operation: "exec", input: 1 }), here, run)).toEqual({ run: 2 });
  const fail = async (): Promise<never> => {
    await run();
    throw new WshError("not_at_prompt", "busy", { running: "x" });
  };
  expect(await code(once.answer(ask("b"), here, fail))).toBe("not_at_prompt");
  expect(await code(once.answer(ask("b"), here, run))).toBe("not_at_prompt");
  expect(runs()).toBe(3);
});

test("a repetition during the work waits for the same end, also when the first caller's connection is lost", async () => {
  const { once, clock } = memory();
  const end = Promise.withResolvers<object>();
  let stopped = false;
  const work = (signal: AbortSignal): Promise<object> => {
    signal.addEventListener("abort", () => {
      stopped = true;
    });
    return end.promise;
  };
  const lost = new AbortController();
  const first = once.answer(ask("a"), { signal: lost.signal, isGone: () => true }, work);
  lost.abort();
  expect(await code(first)).toBe("cancelled");
  clock.pass(ORPHAN_MS - 1);
  const second = once.answer(ask("a"), here, work);
  await Promise.resolve();
  clock.pass(ORPHAN_MS * 2);
  expect(stopped).toBe(false);
  end.resolve({ done: true });
  expect(await second).toEqual({ done: true });
});

test("abandoned work is given up, and a cancelled request at once", async () => {
  const { once, clock } = memory();
  const until = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(new WshError("cancelled", "given up"))));
  const lost = new AbortController();
  const left = code(once.answer(ask("a"), { signal: lost.signal, isGone: () => true }, until));
  lost.abort();
  await left;
  clock.pass(ORPHAN_MS);
  expect(await code(once.answer(ask("a"), here, until))).toBe("cancelled");
  const cancelled = code(once.answer(ask("b"), here, until));
  once.cancel(ask("b").key);
  expect(await cancelled).toBe("cancelled");
});

test("a forgotten or older request is not carried out a second time", async () => {
  const { once, clock, old, run, runs } = memory({ ids: 2, bytes: 10_000 });
  expect(await code(once.answer(old("before", 5_000), here, run))).toBe("outcome_unknown");
  clock.pass(10_000);
  expect(await once.answer(old("late", 5_000), here, run)).toEqual({ run: 1 });
  for (const id of ["b", "c", "d"]) {
    clock.pass(1_000);
    await once.answer(ask(id), here, run);
  }
  expect(once.size).toBe(2);
  expect(await code(once.answer(old("late", 9_000), here, run))).toBe("outcome_unknown");
  clock.pass(REMEMBERED_MS + 1);
  expect(once.size).toBe(0);
  expect(await code(once.answer(old("d", REMEMBERED_MS + 1), here, run))).toBe("outcome_unknown");
  expect(runs()).toBe(4);
  // Without an age it is a new request.
  expect(await once.answer(ask("d"), here, run)).toEqual({ run: 5 });
});

test("answers take limited memory: the oldest report only that it was done", async () => {
  const { once } = memory({ ids: 100, bytes: 1_000 });
  const large = async () => ({ text: "x".repeat(600) });
  await once.answer(ask("a"), here, large);
  await once.answer(ask("b"), here, large);
  expect(await code(once.answer(ask("a"), here, large))).toBe("outcome_unknown");
  expect(await once.answer(ask("b"), here, large)).toEqual({ text: "x".repeat(600) });
});

test("an error that leaves the outcome open is repeated, where another process knows", async () => {
  const { once, old, run } = memory(undefined, true);
  const unreached = async (): Promise<never> => {
    throw new WshError("session_unavailable", "does not answer");
  };
  expect(await code(once.answer(ask("a"), here, unreached, false))).toBe("session_unavailable");
  expect(await once.answer(old("a", 10), here, run, false)).toEqual({ run: 1 });
});
