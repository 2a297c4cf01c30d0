/** What `wsh checkpoint diff` says of lines: it turns the one text into the other, also where lines repeat. */
import { expect, test } from "bun:test";
import { lineChanges } from "../../../src/checkpoints/named/compare.ts";

/** Texts of up to four lines, of two kinds: every overlap of equal beginnings and ends occurs. */
const texts: string[][] = [[]];
for (let i = 0; (texts[i]?.length ?? 4) < 4; i++) texts.push([...(texts[i] ?? []), "a"], [...(texts[i] ?? []), "b"]);

function countOf(lines: readonly string[], line: string): number {
  return lines.filter((each) => each === line).length;
}

test("added and removed lines account for every line of both texts, and no more than differ", () => {
  for (const before of texts) {
    for (const after of texts) {
      const changes = lineChanges(before, after, false);
      for (const line of ["a", "b"]) {
        const change = countOf(changes, `+${line}`) - countOf(changes, `-${line}`);
        expect({ before, after, line, change }).toEqual({
          before,
          after,
          line,
          change: countOf(after, line) - countOf(before, line),
        });
      }
      if (before.join() === after.join()) expect(changes).toEqual([]);
    }
  }
  expect(texts).toHaveLength(31);
  expect(lineChanges(["$", "$"], ["$", "$", "$"], false)).toEqual(["+$"]);
  expect(lineChanges(["old", "kept"], ["kept", "new"], true)).toEqual(["+new"]);
});
