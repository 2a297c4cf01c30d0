/** From any mouse modes to any others: the terminal has those of the program, whatever it had before. */
import { expect, test } from "bun:test";
import { capsFromEnvironment, switchModes } from "../../../src/attach/render/modes.ts";
import { type FrameModes, initialFrameModes } from "../../../src/protocol/frame.ts";

const TRACKING = [0, 9, 1000, 1002, 1003] as const;
const ENCODINGS = [0, 1005, 1006, 1015, 1016] as const;

interface Mouse {
  readonly mouse: number;
  readonly mouseEncoding: number;
}

/** As most terminals do: each group has one value, and a reset of any mode of a group clears it. */
function afterBytes(bytes: string, { mouse, mouseEncoding }: Mouse): Mouse {
  for (const [, list = "", end] of bytes.matchAll(/\x1b\[\?([\d;]+)([hl])/g)) {
    for (const mode of list.split(";").map(Number)) {
      if (TRACKING.some((each) => each === mode)) mouse = end === "h" ? mode : 0;
      if (ENCODINGS.some((each) => each === mode)) mouseEncoding = end === "h" ? mode : 0;
    }
  }
  return { mouse, mouseEncoding };
}

const all = TRACKING.flatMap((mouse) => ENCODINGS.map((mouseEncoding) => ({ mouse, mouseEncoding })));
const caps = capsFromEnvironment({ TERM: "xterm-256color" });
const modesOf = (mouse: Mouse): FrameModes => ({ ...initialFrameModes, ...mouse }) as FrameModes;

test("the program's mouse modes follow from the terminal's, and from unknown ones", () => {
  for (const before of all) {
    for (const after of all) {
      expect(afterBytes(switchModes(modesOf(before), modesOf(after), caps), before)).toEqual(after);
      expect(afterBytes(switchModes(null, modesOf(after), caps), before)).toEqual(after);
    }
  }
});
