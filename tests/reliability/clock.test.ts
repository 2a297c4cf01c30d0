/**
 * Clocks that jump: the wall clock is set, by a year, in either direction; the machine sleeps and every timer is late
 * at once. Waits, leases and durations use the monotonic clock, and end once.
 */
import { describe, expect, test } from "bun:test";
import type { Clock } from "../../src/base/clock.ts";

import { CommandLog } from "../../src/pane/commands/command-log.ts";
import type { ShellMark } from "../../src/pane/ports.ts";
import { defaultElementLimits } from "../../src/protocol/drawing-limits.ts";
import { ElementStore } from "../../src/session/drawing/element-store.ts";
import { Keyboard } from "../../src/session/keyboard.ts";
import { FakeText } from "../support/fake-text.ts";
import { watched } from "../support/silence.ts";

const YEAR_MS = 365 * 24 * 3_600_000;

class JumpingClock implements Clock {
  private time = 5_000;
  private wallTime = 1_700_000_000_000;
  private timers: { readonly at: number; readonly fire: () => void }[] = [];

  now(): number {
    return this.time;
  }

  wall(): number {
    return this.wallTime;
  }

  after(ms: number, fire: () => void): Disposable {
    const timer = { at: this.time + ms, fire };
    this.timers.push(timer);
    return {
      [Symbol.dispose]: () => {
        this.timers = this.timers.filter((other) => other !== timer);
      },
    };
  }

  /** Sets the time of day. */
  setWall(byMs: number): void {
    this.wallTime += byMs;
  }

  /** Advances time in one jump, as while a machine sleeps: timers are due afterwards, in the order of their deadlines. */
  async jump(ms: number): Promise<void> {
    this.time += ms;
    this.wallTime += ms;
    for (;;) {
      const [due] = this.timers.filter(({ at }) => at <= this.time).sort((a, b) => a.at - b.at);
      if (due === undefined) break;
      this.timers = this.timers.filter((timer) => timer !== due);
      due.fire();
      await Promise.resolve();
    }
    await Promise.resolve();
  }

  get pending(): number {
    return this.timers.length;
  }
}

async function isOpen(promise: Promise<unknown>): Promise<boolean> {
  const open = Symbol("open");
  return (await Promise.race([promise, Promise.resolve(open)])) === open;
}

describe("waits for silence", () => {
  test("are independent of the wall clock", async () => {
    const clock = new JumpingClock();
    const { activity, silence } = watched(clock);
    activity.record();
    const wait = silence.awaitIdle({ timeoutMs: 1_000, maxWaitMs: 10_000 });
    clock.setWall(YEAR_MS);
    await clock.jump(999);
    expect(await isOpen(wait)).toBe(true);
    clock.setWall(-2 * YEAR_MS);
    await clock.jump(1);
    expect((await wait).decided).toBe("idle");
    expect(clock.pending).toBe(0);
  });

  test("end once after a sleep, each with its own result", async () => {
    const clock = new JumpingClock();
    const { activity, silence } = watched(clock);
    activity.record();
    const quiet = silence.awaitIdle({ timeoutMs: 1_000, maxWaitMs: 60_000 });
    const blocked = silence.awaitIdle({ timeoutMs: 1_000, maxWaitMs: 60_000, lastGeneration: activity.generation });
    await clock.jump(3_600_000);
    expect((await quiet).decided).toBe("idle");
    expect((await blocked).decided).toBe("timeout");
    expect(clock.pending).toBe(0);
  });
});

describe("the keyboard", () => {
  function holding(): { clock: JumpingClock; keyboard: Keyboard; changes: string[] } {
    const clock = new JumpingClock();
    const changes: string[] = [];
    const keyboard = new Keyboard({
      clock,
      hasSubscribers: () => false,
      typed: () => {},
      modeChanged: (mode) => changes.push(mode),
      focused: () => null,
    });
    keyboard.capture({ id: "agent", label: "agent", connected: false }, 60_000);
    return { clock, keyboard, changes };
  }

  test("is held for the agreed time, whatever the wall clock", async () => {
    const { clock, keyboard } = holding();
    clock.setWall(-YEAR_MS);
    await clock.jump(59_999);
    expect(keyboard.leaseLeft()).toBe(1);
    clock.setWall(2 * YEAR_MS);
    expect(keyboard.mode).toBe("capture");
    await clock.jump(1);
    expect(keyboard.mode).toBe("passthrough");
  });

  test("is free after a sleep, and nobody is notified twice", async () => {
    const { clock, keyboard, changes } = holding();
    await clock.jump(8 * 3_600_000);
    expect(keyboard.owner).toBeNull();
    expect(keyboard.leaseLeft()).toBeNull();
    expect(changes).toEqual(["capture", "passthrough"]);
    expect(clock.pending).toBe(0);
  });
});

describe("an element with a time to live", () => {
  function drawn(): { clock: JumpingClock; store: ElementStore; changes: number[] } {
    const clock = new JumpingClock();
    const changes: number[] = [];
    let ids = 0;
    const store = new ElementStore({
      limits: defaultElementLimits,
      newId: () => `element-${ids++}`,
      schedule: (ms, expire) => {
        const timer = clock.after(ms, expire);
        return () => timer[Symbol.dispose]();
      },
      onChange: () => changes.push(clock.now()),
    });
    store.createOverlay({ x: 0, y: 0, width: 1, height: 1, spans: [], ttl_ms: 60_000 });
    return { clock, store, changes };
  }

  test("lives for the agreed time, whatever the wall clock", async () => {
    const { clock, store } = drawn();
    clock.setWall(YEAR_MS);
    await clock.jump(59_999);
    expect(store.overlays()).toHaveLength(1);
    clock.setWall(-2 * YEAR_MS);
    await clock.jump(1);
    expect(store.overlays()).toEqual([]);
  });

  test("is gone after a sleep, reported once", async () => {
    const { clock, store, changes } = drawn();
    await clock.jump(8 * 3_600_000);
    expect(store.overlays()).toEqual([]);
    expect(changes).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });
});

test("a command has its true duration, though the wall clock was set back meanwhile", async () => {
  const clock = new JumpingClock();
  const text = new FakeText();
  const log = new CommandLog({ text, clock, cwd: () => "/", shellHoldsTerminal: () => true });
  const mark = (kind: ShellMark["kind"], exitCode: number | null = null): void =>
    log.handleMark({
      kind,
      verified: true,
      exitCode,
      commandLine: null,
      offset: text.offset,
      position: text.position(),
    });
  mark("A");
  mark("B");
  mark("C");
  await clock.jump(1_500);
  clock.setWall(-YEAR_MS);
  mark("D", 0);
  mark("A");
  mark("B");
  const record = log.last();
  expect(record).toMatchObject({ duration_ms: 1_500, exit_code: 0 });
  // Both are the wall clock's readings of that time.
  expect((record?.ended_at ?? 0) - (record?.started_at ?? 0)).toBe(1_500 - YEAR_MS);
});
