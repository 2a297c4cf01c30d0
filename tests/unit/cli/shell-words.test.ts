/** Arguments after `--` reach a command unchanged, whichever shell reads them. */
import { describe, expect } from "bun:test";
import { shellText } from "../../../src/shell/quoting.ts";
import { testWith } from "../../support/programs.ts";

const words = [
  ...["C:\\", "; echo not run #", "C:\\\\srv\\x", "\\", "\\\\", "'", "''", "'\\'", "\\'", "'a", "a'", "a'b\\c"],
  ...["=ls", "%self", "~", "~root", "$HOME", "$(echo x)", "(echo x)", "`echo x`", "{a,b}", "*", "?", "[a]", "a b"],
  ...[
    '"',
    '"a\\"',
    "!!",
    "!x",
    "#",
    "a#b",
    "&",
    "|",
    "<x",
    ">y",
    ";",
    "^a^b",
    "\t",
    "a\nb",
    "é",
    "",
    "-x",
    "--",
    "a=b",
  ],
];

const shells: Readonly<Record<string, readonly string[]>> = {
  sh: [],
  bash: ["--norc"],
  zsh: ["-f"],
  "zsh with rcquotes": ["-f", "-o", "rcquotes"],
  fish: ["--no-config"],
};

describe("several arguments stay separate", () => {
  for (const [name, options] of Object.entries(shells)) {
    const [shell = name] = name.split(" ");
    testWith(shell)(`in ${name}`, () => {
      for (const list of [words, words.map((word) => `${word}${word}`), words.toReversed()]) {
        const command = shellText(["printf", "%s\\0", ...list]);
        const { stdout } = Bun.spawnSync([shell, ...options, "-c", command]);
        expect(stdout.toString().split("\0").slice(0, -1)).toEqual(list);
      }
    });
  }
});
