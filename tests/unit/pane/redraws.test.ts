/** Where output of a pane that a caller follows is cut, so that each picture is seen. */
import { expect, test } from "bun:test";
import { cutAtRedraws } from "../../../src/pane/output/redraws.ts";

test("output is cut where a program draws over its own, and nowhere else", () => {
  const cases: readonly (readonly string[])[] = [
    ["plain\r\nlines\r\n\x1b[1mbold\x1b[0m\r\n"],
    ["\r10 %", "\r20 %", "\r30 %\r\n"],
    ["\x1b[H\x1b[2Jone", "\x1b[H\x1b[2Jtwo", "\x1b[Jthree"],
    // Rows from top to bottom are one picture.
    ["\x1b[1;1Ha\x1b[2;1Hb\x1b[9dc", "\x1b[2;5Hd"],
    ["a: 1\r\nb: 1\r\n", "\x1b[2Aa: 2\r\nb: 2\r\n"],
    ["|", "\b/", "\b-"],
    ["shell", "\x1b[?1049h\x1b[Hfull", "\x1b[?1049lshell"],
    ["x", "\x1b[?2026h\x1b[H\x1b[2Ja\rb\x1b[Hc\x1b[?2026l", "\rd"],
    // A title is not printed text.
    ["\x1b]0;title\x07\r\x1b[K é"],
    [""],
  ];
  for (const pieces of cases) {
    const bytes = new TextEncoder().encode(pieces.join(""));
    expect(cutAtRedraws(bytes).map((piece) => new TextDecoder().decode(piece))).toEqual([...pieces]);
  }
});
