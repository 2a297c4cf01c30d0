/** Enter after a text is a separate key, also for programs that take a burst of input for a paste. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { Wsh } from "../support/wsh.ts";

/**
 * Reads keys as Codex and Gemini CLI do: Enter within 120 ms of the last key of a burst is a line of a paste. It
 * reads slowly, so that the time between two writes is not the time between two reads.
 */
const COMPOSER = `
process.stdin.setRawMode(true);
process.stdout.write("\\x1b[?2004hready\\r\\n");
let text = "";
let burst = 0;
const { readSync } = require("node:fs");
const buffer = Buffer.alloc(4096);
for (;;) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 300);
  const count = readSync(0, buffer);
  const input = buffer.toString("latin1", 0, count);
  const now = performance.now();
  const isEnter = input === "\\r" && now - burst > 120;
  if (input === "q") process.exit(0);
  if (isEnter) { process.stdout.write("submitted " + JSON.stringify(text) + "\\r\\n"); text = ""; }
  else { text += input; burst = now; }
}
`;

const wsh = new Wsh();
beforeAll(async () => {
  await Bun.write(join(wsh.dir, "composer.cjs"), COMPOSER);
  await wsh.ok("new", "dev", "--size", "100x24", "--", process.execPath, "composer.cjs");
  await wsh.shows("dev", "ready");
});
afterAll(() => wsh[Symbol.asyncDispose]());

test("a line, several lines as one paste, and two callers at a time", async () => {
  await wsh.enter("dev", "one line");
  await wsh.shows("dev", 'submitted "one line"');
  await wsh.ok("run", "dev", "--idle", "1", "ran");
  await wsh.shows("dev", 'submitted "ran"');
  await wsh.enter("dev", "first\nsecond");
  await wsh.shows("dev", 'submitted "\\u001b[200~first\\nsecond\\u001b[201~"');
  await Promise.all([wsh.enter("dev", "left"), wsh.enter("dev", "right")]);
  await wsh.shows("dev", 'submitted "left"');
  expect(await wsh.shows("dev", 'submitted "right"')).toContain("submitted");
});
