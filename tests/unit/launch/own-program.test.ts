/** The file that wsh starts as itself after an upgrade has removed its own. */
import { describe, expect, test } from "bun:test";
import { programFile } from "../../../src/launch/own-program.ts";

const cellar = "/opt/homebrew/Cellar/wsh/0.1.0/bin/wsh";

function choose(files: readonly string[], facts: { own?: string; called?: string; path?: string } = {}) {
  return programFile({
    running: facts.own ?? cellar,
    called: facts.called ?? "wsh",
    isThere: (path) => files.includes(path),
    inPath: (name) => (name === "wsh" ? (facts.path ?? null) : null),
  });
}

describe("the started program", () => {
  test("is this one while it exists, or the kernel has it", () => {
    expect(choose([cellar, "/opt/homebrew/bin/wsh"])).toEqual({ path: cellar, isOther: false });
    expect(choose(["/proc/self/exe", "/opt/homebrew/bin/wsh"])).toEqual({ path: "/proc/self/exe", isOther: false });
  });

  test("is otherwise the target of Homebrew's link, of the name it was called by, or of PATH", () => {
    const link = "/opt/homebrew/bin/wsh";
    expect(choose([link], { path: "/usr/bin/wsh" })).toEqual({ path: link, isOther: true });
    const own = "/usr/lib/wsh/wsh";
    expect(choose(["/usr/bin/wsh2"], { own, called: "/usr/bin/wsh2" })).toEqual({
      path: "/usr/bin/wsh2",
      isOther: true,
    });
    expect(choose([], { own, path: "/usr/bin/wsh" })).toEqual({ path: "/usr/bin/wsh", isOther: true });
  });

  test("is this one's path when there is none, so that the error names it", () => {
    expect(choose([])).toEqual({ path: cellar, isOther: false });
  });
});
