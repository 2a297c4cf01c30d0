/** Lines of a followed output are searched whole, however they arrive. */
import { expect, test } from "bun:test";
import { MatchingLines } from "../../../src/cli/session/filtered-output.ts";

test("a line that arrives in parts is found once, at its end, with its newline", () => {
  const lines = new MatchingLines((line) => line.includes("hit"));
  const parts = ["hit 1\nno\n", "a hi", "t 2 end\nhit 3", " ends\n", "", "no\nhit 4"];
  expect(parts.map((part) => lines.add(part))).toEqual(["hit 1\n", "", "a hit 2 end\n", "hit 3 ends\n", "", ""]);
  expect([lines.end(), lines.end()]).toEqual(["hit 4\n", ""]);
});
