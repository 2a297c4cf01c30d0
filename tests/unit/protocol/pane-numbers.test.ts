/** Numbers that panes assign: never the same for two panes, and never again after a restore. */
import { expect, test } from "bun:test";
import {
  firstNumbers,
  isForeignCommand,
  isForeignGeneration,
  nextCommandId,
} from "../../../src/protocol/pane-numbers.ts";

test("ids of commands differ between panes, however many there are of each", () => {
  const seen = new Map<number, string>();
  for (const pane of ["@1", "@2", "@3", "@999"]) {
    const { command } = firstNumbers(pane);
    let id = command;
    for (let n = 0; n < 3_500; n++) {
      id = nextCommandId(id);
      expect(seen.get(id)).toBeUndefined();
      seen.set(id, pane);
      expect(isForeignCommand(id, command)).toBe(false);
      expect(isForeignCommand(id, firstNumbers("@77").command)).toBe(true);
    }
  }
  expect(nextCommandId(firstNumbers("@7").command)).toBe(7001);
});

test("all numbers of the last pane of a round are exact", () => {
  for (const pane of ["@9000", "@18000", "@9999999999"]) {
    const { cursor, command, generation } = firstNumbers(pane);
    for (const number of [cursor + 1e12, command + 1e3, generation + 1e9]) {
      expect(Number.isSafeInteger(number)).toBe(true);
    }
  }
});

test("a restored pane continues past all numbers that it may have assigned", () => {
  const first = firstNumbers("@7");
  const before = { output_cursor: first.cursor + 5_000_000, command_id: first.command + 12 };
  const again = firstNumbers("@7", before);
  expect(again.cursor).toBeGreaterThan(before.output_cursor + 100_000_000);
  expect(again.command).toBeGreaterThan(first.command + 1_000);
  expect(isForeignCommand(nextCommandId(again.command), first.command)).toBe(false);
  // A record of a version whose numbers began at 0.
  expect(firstNumbers("@7", { output_cursor: 512, command_id: 3 }).cursor).toBeGreaterThan(first.cursor);
});

test("a generation that no pane assigns belongs to none", () => {
  const { generation: first } = firstNumbers("@7");
  expect(isForeignGeneration(first + 5, first, first + 9)).toBe(false);
  expect(isForeignGeneration(first + 50, first, first + 9)).toBe(false);
  expect(isForeignGeneration(3, first, first + 9)).toBe(false);
  expect(isForeignGeneration(1e20, first, first + 9)).toBe(false);
  expect(isForeignGeneration(firstNumbers("@8").generation + 5, first, first + 9)).toBe(true);
});
