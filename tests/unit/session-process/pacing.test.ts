/** A throttled session reads in bursts while processors are short, and without pauses otherwise. */
import { expect, test } from "bun:test";
import { FloodPace } from "../../../src/session-process/fairness/pacing.ts";
import { until } from "../../support/until.ts";

function paced(waitedPerLook: number) {
  let looks = 0;
  let pauses = 0;
  let held = 0;
  let passed = 0;
  const hold = () => {
    pauses++;
    held++;
    const pass = (bytes: number) => {
      passed += bytes;
    };
    return { letThrough: pass, [Symbol.dispose]: () => void held-- };
  };
  const pace = new FloodPace(hold, () => {
    looks++;
    return { ran: looks * 1e6, waited: looks * waitedPerLook };
  });
  return { pace, seen: () => ({ looks, pauses, held, passed }) };
}

test("a process that waits long for a processor pauses, and resumes normally afterwards", async () => {
  const { pace, seen } = paced(20e6);
  pace.begin();
  await until("a few pauses", () => seen().pauses >= 4);
  pace.end();
  expect(seen().held).toBe(0);
  const { looks } = seen();
  pace.begin();
  await until("it begins again", () => seen().looks > looks + 2);
  pace.end();
  expect(seen().held).toBe(0);
});

test("a process that shares a processor with one other does not pause", async () => {
  const { pace, seen } = paced(3e6);
  pace.begin();
  await until("a few looks", () => seen().looks >= 6);
  pace.end();
  expect(seen().pauses).toBe(0);
});
