/** When pictures of a rendered terminal are made. */
import { expect, test } from "bun:test";
import { FRAME_MS, FramePacer } from "../../../src/viewer/terminal/frame-pacer.ts";
import { until } from "../../support/until.ts";

test("after a rest three pictures are made at once, the next ones a frame apart", async () => {
  const made: number[] = [];
  const pacer: FramePacer = new FramePacer({
    isBlocked: () => false,
    isSynchronized: () => false,
    atRest: (make) => make(),
    render: () => {
      made.push(performance.now());
      pacer.began();
    },
  });
  for (let at = 0; at < 4; at++) pacer.schedule();
  expect(made.length).toBeGreaterThanOrEqual(3);
  await until("the fourth", () => made.length >= 4);
  expect((made[3] ?? 0) - (made[0] ?? 0)).toBeGreaterThanOrEqual(FRAME_MS - 1);
  pacer.close();
});

test("what is known to be complete is shown at once, other output when it has paused", async () => {
  let made = 0;
  const pacer: FramePacer = new FramePacer({
    isBlocked: () => false,
    isSynchronized: () => false,
    atRest: (make) => make(),
    render: () => {
      made++;
      pacer.began();
    },
  });
  pacer.outputArrived(true);
  expect(made).toBe(1);
  pacer.outputArrived(false);
  expect(made).toBe(1);
  await until("the pause", () => made === 2);
  pacer.close();
});

test("echoes of keys faster than frames do not delay other pictures", async () => {
  let made = 0;
  const pacer: FramePacer = new FramePacer({
    isBlocked: () => false,
    isSynchronized: () => false,
    atRest: (make) => make(),
    render: () => {
      made++;
      pacer.began();
    },
  });
  for (let key = 0; key < 1_000; key++) {
    pacer.keyTyped();
    pacer.outputArrived(true);
  }
  expect(made).toBe(1_000);
  const began = performance.now();
  pacer.schedule();
  await until("the picture of something else", () => made > 1_000);
  // Sixteen seconds, if each echo had delayed it by a frame.
  expect(performance.now() - began).toBeLessThan(5_000);
  pacer.close();
});
