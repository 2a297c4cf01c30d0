/** A page that slept does not take its peer for gone; a silent peer is asked once, and given up. */
import { afterEach, expect, mock, spyOn, test } from "bun:test";
import { Heartbeat } from "../../../src/web/connection/heartbeat.ts";

let now = 0;
let tick: () => void = () => {};

function begun(): { heard: string[]; heartbeat: Heartbeat; after(ms: number): string[] } {
  now = 0;
  spyOn(performance, "now").mockImplementation(() => now);
  spyOn(globalThis, "setInterval").mockImplementation(((run: () => void) => {
    tick = run;
    return 0;
  }) as unknown as typeof setInterval);
  const heard: string[] = [];
  const heartbeat = new Heartbeat({
    sendPing: () => heard.push("ping"),
    tick: (isSilent) => (isSilent ? heard.push("silent") : 0),
    giveUp: () => heard.push("given up"),
  });
  heartbeat.start();
  return {
    heard,
    heartbeat,
    after(ms) {
      now += ms;
      tick();
      return heard.splice(0);
    },
  };
}

afterEach(() => {
  mock.restore();
});

test("a silent peer is asked once, counts as silent, and is given up", () => {
  const { after, heartbeat } = begun();
  expect(after(500)).toEqual([]);
  expect(after(500)).toEqual(["ping"]);
  expect(after(500)).toEqual([]);
  expect(after(500)).toEqual(["silent"]);
  heartbeat.messageArrived();
  expect(after(500)).toEqual([]);
  const seen = new Set(Array.from({ length: 30 }, () => after(500)).flat());
  expect([...seen]).toEqual(["ping", "silent", "given up"]);
});

test("a tick that comes an hour late means that the page slept", () => {
  const { after } = begun();
  expect(after(3_600_000)).toEqual([]);
  expect(after(1_000)).toEqual(["ping"]);
});
