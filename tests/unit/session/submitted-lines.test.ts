/** The caller or person that submitted the last line of a pane. */
import { expect, test } from "bun:test";
import { SubmittedLines } from "../../../src/session/submitted-lines.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("only Enter counts, in every form that terminals send it; each pane has its own", () => {
  const lines = new SubmittedLines();
  const at = (viewer: number) => ({ viewer, submittedAt: viewer, submittedWallTime: viewer });
  for (const other of ["ls", "\x1b[A", "\x1b[97u", "\x1b[13;1:3u", "\x1b[113u", "é"])
    lines.noteInput("@1", bytes(other), at(1));
  expect(lines.lastSubmission("@1")).toBeNull();
  for (const [index, enter] of ["ls\r", "a\n", "\x1b[13u", "\x1b[13;5u", "\x1b[13;1:1u"].entries()) {
    lines.noteInput("@1", bytes(enter), at(index));
    expect(lines.lastSubmission("@1")?.viewer).toBe(index);
  }
  lines.noteInput("@2", bytes("\r"), at(9));
  expect([lines.lastSubmission("@1")?.viewer, lines.lastSubmission("@2")?.viewer]).toEqual([4, 9]);
});

test("a bounded number of panes is remembered, those that were used last", () => {
  const lines = new SubmittedLines();
  for (let pane = 0; pane < 300; pane++)
    lines.noteInput(`@${pane}`, bytes("\r"), { viewer: pane, submittedAt: 0, submittedWallTime: 0 });
  expect(lines.lastSubmission("@0")).toBeNull();
  expect(lines.lastSubmission("@299")?.viewer).toBe(299);
});
