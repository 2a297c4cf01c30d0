/** When pictures of a rendered terminal are made. */
import { expect, test } from "bun:test";
import { FRAME_MS, FramePacer } from "../../../src/viewer/terminal/frame-pacer.ts";
import { until } from "../../support/until.ts";

/** A pacer of a terminal that takes every picture, and the times of its pictures. */
function counted(): { readonly pacer: FramePacer; readonly made: readonly number[] } {
  const made: number[] = [];
  const pacer: FramePacer = new FramePacer({
    isBlocked: () => false,
    isSynchronized: () => false,
    whenAtRest: (make) => make(),
    render: () => {
      made.push(performance.now());
      pacer.recordPicture();
    },
  });
  return { pacer, made };
}

test("after a rest three pictures are made at once, the next ones a frame apart", async () => {
  const { pacer, made } = counted();
  for (let at = 0; at < 4; at++) pacer.schedule();
  expect(made.length).toBeGreaterThanOrEqual(3);
  await until("the fourth", () => made.length >= 4);
  expect((made[3] ?? 0) - (made[0] ?? 0)).toBeGreaterThanOrEqual(FRAME_MS - 1);
  pacer.close();
});

test("what is known to be complete is shown at once, other output when it has paused", async () => {
  const { pacer, made } = counted();
  pacer.outputArrived(true);
  expect(made).toHaveLength(1);
  pacer.outputArrived(false);
  expect(made).toHaveLength(1);
  await until("the pause", () => made.length === 2);
  pacer.close();
});

test("echoes of keys faster than frames do not delay other pictures", async () => {
  const { pacer, made } = counted();
  for (let key = 0; key < 1_000; key++) {
    pacer.keyTyped();
    pacer.outputArrived(true);
  }
  expect(made).toHaveLength(1_000);
  const began = performance.now();
  pacer.schedule();
  await until("the picture of something else", () => made.length > 1_000);
  // Sixteen seconds, if each echo had delayed it by a frame.
  expect(performance.now() - began).toBeLessThan(5_000);
  pacer.close();
});
