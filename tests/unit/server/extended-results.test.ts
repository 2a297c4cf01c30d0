import { expect, test } from "bun:test";
import { ExtendedResults } from "../../../src/server/operations/exec/extended.ts";

test("32 sessions are kept longer at a time; an expired one admits another", () => {
  const extended = new ExtendedResults();
  const sessions = Array.from({ length: 33 }, (_, n) => `@s${n}`);
  expect(sessions.map((session) => extended.reserve(session))).toEqual([...Array(32).fill(true), false]);
  extended.settle("@s0", undefined);
  expect(extended.reserve("@s40")).toBe(true);
  expect(extended.reserve("@s41")).toBe(false);
  extended.settle("@s1", new Date(Date.now() - 1).toISOString());
  expect(extended.reserve("@s41")).toBe(true);
  extended.settle("@s2", new Date(Date.now() + 60_000).toISOString());
  expect(extended.reserve("@s42")).toBe(false);
});
