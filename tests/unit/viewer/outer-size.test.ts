/** The time at which a session learns the size of an attached terminal. */
import { expect, test } from "bun:test";
import type { Size } from "../../../src/protocol/size.ts";
import type { Session } from "../../../src/session/session.ts";
import { OuterSize } from "../../../src/viewer/terminal/outer-size.ts";
import { until } from "../../support/until.ts";

function terminal() {
  const told: Size[] = [];
  const session = {
    size: { rows: 24, cols: 80 },
    viewers: { noteAct: () => false, noteResize() {} },
    resize: () => Promise.resolve(),
  } as unknown as Session;
  const size = new OuterSize(
    session,
    { rows: 24, cols: 80 },
    {
      viewer: 1,
      appliesAtOnce: false,
      isOver: () => false,
      isOpening: () => false,
      resized() {},
      contribute: (decided) => void told.push(decided),
      beforeSizeApplied() {},
      sizeApplied() {},
    },
  );
  return { size, told };
}

test("of sizes that arrive together the session gets only the last", async () => {
  const { size, told } = terminal();
  for (const cols of [81, 82, 83]) size.resized({ rows: 24, cols, follow: false });
  await until("a size", () => told.length > 0 && !size.isApplying);
  expect(told).toEqual([{ rows: 24, cols: 83 }]);
});

test("while a window is dragged the session gets a size per frame, and in the end the last", async () => {
  const { size, told } = terminal();
  const began = performance.now();
  for (let cols = 81; cols <= 200; cols++) {
    size.resized({ rows: 24, cols, follow: false });
    await Bun.sleep(1);
  }
  await until("the last size", () => told.at(-1)?.cols === 200 && !size.isApplying);
  const frames = (performance.now() - began) / 16;
  expect(told.length).toBeLessThanOrEqual(frames + 2);
});
