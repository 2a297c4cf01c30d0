/** Time that advances when a test says so. */
import type { Clock } from "../../src/base/clock.ts";

export interface ManualClock extends Clock {
  /** Pending timers. */
  timers(): number;
  pass(ms: number): void;
}

export function manualClock(): ManualClock {
  let time = 0;
  let timers: { readonly at: number; readonly fire: () => void }[] = [];
  return {
    now: () => time,
    wall: () => time,
    after(ms, fire) {
      const timer = { at: time + ms, fire };
      timers.push(timer);
      return {
        [Symbol.dispose]() {
          timers = timers.filter((other) => other !== timer);
        },
      };
    },
    timers: () => timers.length,
    pass(ms) {
      time += ms;
      for (const timer of timers.filter(({ at }) => at <= time)) {
        timers = timers.filter((other) => other !== timer);
        timer.fire();
      }
    },
  };
}
