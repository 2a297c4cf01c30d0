/** The sequences that the emulator supports: a table of sequences and their effects (like esctest2). */
import { describe, expect, test } from "bun:test";
import { quietTerminal } from "../streams/quiet-terminal.ts";
import type { Case } from "./case.ts";
import { cursorCases } from "./cursor.ts";
import { editingCases } from "./editing.ts";
import { expectedFailures } from "./expected-failures.ts";
import { modeCases } from "./modes.ts";
import { textCases } from "./text.ts";

const tables = { cursor: cursorCases, editing: editingCases, text: textCases, modes: modeCases };
const withEscapes = (text: string): string => text.replaceAll("␛", "\x1b");

/** State of the terminal after a case, in the fields that the case contains. */
async function seen(one: Case, pieces: readonly Uint8Array[]): Promise<Case> {
  const { name, input, rows = 5, cols = 10 } = one;
  using terminal = quietTerminal({ rows, cols });
  for (const piece of pieces) await terminal.write(piece);
  const { model } = terminal;
  const { cursor } = model.screen("plain");
  const style = model.cells(0)[0]?.style;
  const looks = Object.keys(one.style ?? {}) as (keyof NonNullable<Case["style"]>)[];
  return {
    name,
    input,
    ...(one.rows === undefined ? {} : { rows }),
    ...(one.cols === undefined ? {} : { cols }),
    ...(one.shows === undefined ? {} : { shows: upToBlank(terminal.lines()) }),
    ...(one.cursor === undefined ? {} : { cursor: [cursor.row + 1, cursor.col + 1] as const }),
    ...(one.reply === undefined ? {} : { reply: terminal.replies.replaceAll("\x1b", "␛") }),
    ...(one.style === undefined ? {} : { style: Object.fromEntries(looks.map((key) => [key, style?.[key]])) }),
    ...(one.visible === undefined ? {} : { visible: cursor.visible }),
    ...(one.alternate === undefined ? {} : { alternate: model.alternate }),
    ...(one.title === undefined ? {} : { title: model.title }),
  };
}

function upToBlank(lines: readonly string[]): readonly string[] {
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}

for (const [table, cases] of Object.entries(tables)) {
  describe(table, () => {
    for (const one of cases) {
      const wanted = { ...one, ...(one.shows === undefined ? {} : { shows: upToBlank(one.shows) }) };
      const input = Buffer.from(withEscapes(one.input));
      const reason = expectedFailures[one.name];
      if (reason === undefined) {
        test(one.name, async () => {
          expect(await seen(one, [input])).toEqual(wanted);
          // The same, a byte at a time.
          expect(
            await seen(
              one,
              [...input].map((byte) => Uint8Array.of(byte)),
            ),
          ).toEqual(wanted);
        });
      } else {
        test(`${one.name} (not met: ${reason})`, async () => {
          expect(await seen(one, [input])).not.toEqual(wanted);
        });
      }
    }
  });
}

test("names are unique, and every expected failure is a case", () => {
  const names = Object.values(tables).flatMap((cases) => cases.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
  expect(Object.keys(expectedFailures).filter((name) => !names.includes(name))).toEqual([]);
});
