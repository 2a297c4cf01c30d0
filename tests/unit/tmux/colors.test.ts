/** `#{c:NAME}`: xterm's 256 colours, as their formula gives them. */
import { expect, test } from "bun:test";
import { colorHex } from "../../../src/tmux/formats/colors.ts";

test("colours by name and number", () => {
  for (const [name, hex] of [
    ["red", "800000"],
    ["brightred", "ff0000"],
    ["91", "ff0000"],
    ["3", "808000"],
    ["#ABCDEF", "abcdef"],
    ["colour16", "000000"],
    ["color196", "ff0000"],
    ["colour231", "ffffff"],
    ["colour232", "080808"],
    ["colour255", "eeeeee"],
    ["colour256", ""],
    ["default", ""],
    ["8", ""],
  ] as const) {
    expect([name, colorHex(name)]).toEqual([name, hex]);
  }
});
