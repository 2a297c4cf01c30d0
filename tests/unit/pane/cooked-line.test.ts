/** The longest line that callers may type into a program that reads lines, on each system. */
import { expect, test } from "bun:test";
import { CookedLine } from "../../../src/pane/cooked-line.ts";
import { linuxPlatform } from "../../../src/platform/linux/platform.ts";
import { usePlatform } from "../../../src/platform/platform.ts";
import { fakeDarwin } from "../../support/fake-darwin/platform.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const x = (count: number) => "x".repeat(count);

test.each([
  ["Linux", linuxPlatform, 4_072],
  ["macOS", fakeDarwin, 1_000],
])("%s", (_name, platform, most) => {
  using _ = usePlatform(platform);
  let canonical = true;
  const line = new CookedLine(() => ({ canonical, echo: true }));
  const fits = (text: string): boolean => {
    try {
      line.requireFits(bytes(text));
      return true;
    } catch (error) {
      expect(error).toMatchObject({ code: "payload_too_large" });
      return false;
    }
  };
  expect(fits(x(most))).toBe(true);
  expect(fits(x(most + 1))).toBe(false);
  // Each line counts separately, wherever the long one is.
  expect(fits(`${x(most)}\n`.repeat(5))).toBe(true);
  expect(fits(`a\n${x(most + 1)}\nb\n`)).toBe(false);
  // Earlier input belongs to the line, until its end or until it is discarded.
  for (const end of ["\r", "\n", "\x04", "\x03", "\x15"]) {
    line.noteSent(bytes(`done\n${x(most - 1)}`));
    expect(fits("xx")).toBe(false);
    expect(fits("x")).toBe(true);
    line.noteSent(bytes(end));
    expect(fits(x(most))).toBe(true);
  }
  // Uncounted keys end it as well, and their sequence adds nothing.
  for (const end of ["\r", "\x15", "of a person\r"]) {
    line.noteSent(bytes(x(most)));
    line.noteUncounted(bytes("of a person"));
    expect(fits("x")).toBe(false);
    line.noteUncounted(bytes(end));
    expect(fits(x(most))).toBe(true);
  }
  // A program that reads keys gets everything.
  line.noteSent(bytes(x(most)));
  canonical = false;
  expect(fits(x(100_000))).toBe(true);
  line.noteSent(bytes(x(100_000)));
  canonical = true;
  expect(fits(x(most))).toBe(true);
});

test("where the terminal's mode is unknown nothing is refused", () => {
  const line = new CookedLine(() => null);
  line.requireFits(bytes(x(100_000)));
});
