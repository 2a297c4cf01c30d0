/** What a process that is kept ready for a pane does beforehand. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { rehearse } from "../../../src/host/rehearsal.ts";
import { isStillSpare, takeSpareSign, withSpareSign } from "../../../src/instance/launch/spare.ts";

test("a rehearsal reaches its end and leaves no id, socket or lock", async () => {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-r-"));
  const before = { ...process.env };
  const places = { XDG_RUNTIME_DIR: "run", XDG_STATE_HOME: "state", XDG_CONFIG_HOME: "config", HOME: "home" };
  for (const [name, place] of Object.entries(places)) {
    process.env[name] = join(dir, place);
    fs.mkdirSync(join(dir, place), { mode: 0o700 });
  }
  try {
    await rehearse();
    const left = fs
      .readdirSync(dir, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ name }) => name);
    expect(left.filter((name) => /\.(sock|lock)$|counters|^key/.test(name))).toEqual([]);
  } finally {
    for (const name of Object.keys(places)) process.env[name] = before[name];
    fs.rmSync(dir, { recursive: true, force: true });
  }
});

test("the sign of a process that is kept ready is taken away once", () => {
  const before = process.env;
  process.env = withSpareSign(before) as typeof process.env;
  try {
    expect(takeSpareSign()).toBe(true);
    expect(takeSpareSign()).toBe(false);
  } finally {
    process.env = before;
  }
});

test("a process that is needed at once does not rehearse", async () => {
  expect(await isStillSpare(Promise.resolve("a spec"))).toBe(false);
  expect(await isStillSpare(new Promise(() => {}))).toBe(true);
});
