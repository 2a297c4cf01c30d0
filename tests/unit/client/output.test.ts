/** `output()` of a script's terminal returns a text, so what the text lacks is a doubt. */
import { expect, test } from "bun:test";
import { type Call, Terminal } from "../../../src/client/terminal/terminal.ts";

const answer = {
  incomplete: true,
  searched: "45161–60000 of 60000",
  reason: "older lines have left the history",
  text: "x",
};

test("output() reports that a part is missing, but not the number of lines that the program asked for", async () => {
  const doubts: string[] = [];
  const call = (async () => answer) as unknown as Call;
  const terminal = new Terminal(call, "a", "@1", 0, false, undefined, undefined, (text) => doubts.push(text));
  expect(await terminal.output({ lines: 5, grep: "x" })).toBe("x");
  expect(doubts).toEqual([]);
  expect(await terminal.output({ command: 1 })).toBe("x");
  expect(doubts).toEqual(["output(): only 45161–60000 of 60000 is there: older lines have left the history"]);
});
