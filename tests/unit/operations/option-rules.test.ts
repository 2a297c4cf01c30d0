/** Options that exclude or require others are refused before any effect, with their names. */
import { expect, test } from "bun:test";
import { parseInput } from "../../../src/operations/call.ts";
import { getOperation } from "../../../src/operations/table.ts";

test.each([
  ["checkpoint.restore", {}, "'session' or 'all' is needed"],
  ["checkpoint.restore", { session: "dev", all: true }, "'session' cannot be used with 'all'"],
  ["checkpoint.restore", { all: "true", label: "good" }, "'all' cannot be used with 'label'"],
  ["checkpoint.restore", { all: true, as: "other" }, "'all' cannot be used with 'as'"],
  ["checkpoint.forget", {}, "'session' or 'all' is needed"],
] as const)("%s refuses %j", (name, input, message) => {
  const operation = getOperation(name);
  expect(() => parseInput(operation, input)).toThrow(message);
});

test("one of two required options is enough", () => {
  expect(parseInput(getOperation("checkpoint.restore"), { session: "dev", as: "b", label: "good" })).toMatchObject({
    all: false,
  });
  expect(parseInput(getOperation("checkpoint.forget"), { all: true })).toEqual({ all: true });
});
