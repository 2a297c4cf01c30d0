/** One wait for an event, a deadline or an abort: it ends once, and leaves no resources. */
import { expect, test } from "bun:test";
import { orUntil, pause, Wait } from "../../../src/base/deadline.ts";
import { listenedSignal } from "../../support/listened-signal.ts";
import { manualClock } from "../../support/manual-clock.ts";

type By = "event" | "deadline" | "abort";

function waiting() {
  const clock = manualClock();
  const owner = listenedSignal();
  let released = 0;
  const wait = new Wait<By>({ clock, ms: 100, signal: owner.signal }, (by) => by).own(() => released++);
  return { clock, owner, wait, left: () => ({ timers: clock.timers(), listeners: owner.listeners(), released }) };
}

test("the event, the deadline and an abort each end it, and leave no timer and no listener", async () => {
  const nothing = { timers: 0, listeners: 0, released: 1 };

  const byEvent = waiting();
  expect(byEvent.left()).toEqual({ timers: 1, listeners: 1, released: 0 });
  byEvent.wait.end("event");
  expect(byEvent.left()).toEqual(nothing);
  expect(await byEvent.wait.promise).toBe("event");

  const byDeadline = waiting();
  byDeadline.clock.pass(99);
  expect(byDeadline.wait.isOver).toBe(false);
  byDeadline.clock.pass(1);
  expect(byDeadline.left()).toEqual(nothing);
  expect(await byDeadline.wait.promise).toBe("deadline");

  const byAbort = waiting();
  byAbort.owner.abort();
  expect(byAbort.left()).toEqual(nothing);
  expect(await byAbort.wait.promise).toBe("abort");
});

test("a deadline or an abort that throws fails the wait: its caller gets the error", async () => {
  const clock = manualClock();
  const { signal, abort, listeners } = listenedSignal();
  const thrown = (by: string): never => {
    throw new Error(by);
  };
  const late = orUntil(new Promise(() => {}), { clock, ms: 5, signal }, thrown);
  clock.pass(5);
  await expect(late).rejects.toThrow("deadline");
  const aborted = orUntil(new Promise(() => {}), { clock, ms: 5, signal }, thrown);
  abort();
  await expect(aborted).rejects.toThrow("abort");
  await expect(orUntil(new Promise(() => {}), { clock, signal }, thrown)).rejects.toThrow("abort");
  expect([clock.timers(), listeners()]).toEqual([0, 0]);
});

test("it fails once, and later events change nothing", async () => {
  const { wait, left, owner, clock } = waiting();
  wait.fail(new Error("too slow"));
  wait.end("event");
  wait.fail(new Error("later"));
  owner.abort();
  clock.pass(1_000);
  expect(left()).toEqual({ timers: 0, listeners: 0, released: 1 });
  expect(wait.promise).rejects.toThrow("too slow");
});

test("a signal that has aborted ends it at once, and resources added afterwards are released", async () => {
  const owner = listenedSignal();
  owner.abort();
  const clock = manualClock();
  const wait = new Wait<By>({ clock, ms: 100, signal: owner.signal }, (by) => by);
  let released = 0;
  wait.own(() => released++, { [Symbol.dispose]: () => released++ });
  expect({ released, timers: clock.timers(), listeners: owner.listeners() }).toEqual({
    released: 2,
    timers: 0,
    listeners: 0,
  });
  expect(await wait.promise).toBe("abort");
});

test("a deadline that has passed ends it in a separate turn; without one it has no timer", async () => {
  const clock = manualClock();
  const late = new Wait<By>({ clock, ms: -5 }, (by) => by);
  expect(late.isOver).toBe(false);
  clock.pass(0);
  expect(await late.promise).toBe("deadline");
  new Wait<By>({ clock, ms: Number.POSITIVE_INFINITY }, (by) => by);
  new Wait<By>({ clock }, (by) => by);
  expect(clock.timers()).toBe(0);
});

test("disposing of an unfinished one releases everything", () => {
  const { wait, left } = waiting();
  wait[Symbol.dispose]();
  expect(left()).toEqual({ timers: 0, listeners: 0, released: 1 });
});

test("a promise, or its stand-in", async () => {
  const clock = manualClock();
  const never = new Promise<string>(() => {});
  const limits = { clock, ms: 10 };
  expect(await orUntil(Promise.resolve("value"), limits, () => "late")).toBe("value");
  expect(orUntil(Promise.reject(new Error("failed")), limits, () => "late")).rejects.toThrow("failed");
  await Bun.sleep(0);
  expect(clock.timers()).toBe(0);
  const late = orUntil(never, limits, () => "late");
  clock.pass(10);
  expect(await late).toBe("late");
});

test("a pause ends with its owner and leaves no listener", async () => {
  const owner = listenedSignal();
  await pause(1, owner.signal);
  expect(owner.listeners()).toBe(0);
  const long = pause(1_000_000, owner.signal);
  owner.abort();
  await long;
  expect(owner.listeners()).toBe(0);
});
