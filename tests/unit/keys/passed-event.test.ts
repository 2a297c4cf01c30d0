/** A paste that closes copy mode or a dialog reaches the program in the form that the program has requested. */
import { expect, test } from "bun:test";
import { decodeKeys, initialKeyState } from "../../../src/keys/decode.ts";
import { bytesForProgram } from "../../../src/keys/passed-event.ts";
import { initialFrameModes } from "../../../src/protocol/frame.ts";
import { PaneCopyMode } from "../../../src/viewer/terminal/copy-mode.ts";

const MARKED = "\x1b[200~a \x1b[201~ b\u00e9\x1b[201~";

test.each([
  ["\x1b[200~two\rlines\x1b[201~", "two\rlines"],
  ["\x1b[200~\x1b[201~", ""],
  ["\x1b[A", "\x1b[A"],
  ["x", "x"],
])("%j", (typed, plain) => {
  const [event] = decodeKeys(initialKeyState, Buffer.from(typed)).events;
  if (event === undefined) throw new Error("no event");
  expect(Buffer.from(bytesForProgram(event, true)).toString()).toBe(typed);
  expect(Buffer.from(bytesForProgram(event, false)).toString()).toBe(plain);
});

test("parts of a paste lose only the marks at their edges", () => {
  const plain = (raw: string) =>
    Buffer.from(bytesForProgram({ raw: Buffer.from(raw), kind: "paste", parsed: null }, false)).toString();
  expect(plain("\x1b[200~begin")).toBe("begin");
  expect(plain("end\x1b[201~")).toBe("end");
  expect(plain("\x1b[201~")).toBe("");
  expect(plain(MARKED)).toBe("a \x1b[201~ b\u00e9");
});

test.each([true, false])(
  "after a selection by mouse, a paste leaves copy mode; the program takes marks: %p",
  async (bracketedPaste) => {
    const typed: string[] = [];
    const content = { modes: { ...initialFrameModes, bracketedPaste } };
    const port = { changed: () => {}, sendInput: (bytes: Uint8Array) => typed.push(Buffer.from(bytes).toString()) };
    const copyMode: PaneCopyMode = Reflect.construct(PaneCopyMode, [content, 1, port]);
    const passing = { handleInput: () => false, close: () => {} };
    Reflect.set(copyMode, "mode", passing);
    copyMode.push(Buffer.from("\x1b[200~secret\x1b[201~"));
    expect(typed).toEqual([bracketedPaste ? "\x1b[200~secret\x1b[201~" : "secret"]);
  },
);
