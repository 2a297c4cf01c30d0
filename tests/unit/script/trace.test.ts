/** The memory of a trace is bounded. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import type { Terminal } from "../../../src/client/terminal/language.ts";
import { Trace } from "../../../src/script/trace.ts";

test("a recording is limited with its markers", async () => {
  const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-trace-"));
  try {
    const screen = { rows: ["$"], size: { rows: 1, cols: 80 }, cursor: { row: 0, col: 0 }, styles: [], text: "$" };
    const terminal = { name: "t", screen: async () => screen } as unknown as Terminal;
    const trace = new Trace(async () => ({ [Symbol.asyncDispose]: async () => {} }));
    const text = "x".repeat(1024 * 1024);
    for (let step = 0; step < 20; step++) await (await trace.watch(terminal, { text, stack: "" }))(null);
    const [, cast = ""] = await trace.save(join(directory, "trace"), null);
    expect(fs.readFileSync(cast, "utf8").split("\n").length).toBeGreaterThan(5);
    expect(fs.statSync(cast).size).toBeLessThan(10 * 1024 * 1024);
  } finally {
    fs.rmSync(directory, { recursive: true });
  }
});
