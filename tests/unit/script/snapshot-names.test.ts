/** Names of snapshots and traces: no two tests share a file. */
import { expect, test } from "bun:test";
import { slug } from "../../../src/script/matchers.ts";

test("names keep their letters, and long ones their end, as a hash", () => {
  expect(slug("asks, then 日本語!-1-80x24 xterm")).toBe("asks-then-日本語-1-80x24-xterm");
  const long = "much text ".repeat(20);
  const names = [`${long}80x24`, `${long}40x10`, `${"漢".repeat(99)}80x24`].map(slug);
  expect(new Set(names).size).toBe(3);
  for (const name of names) expect(Buffer.byteLength(name)).toBeLessThan(100);
});
