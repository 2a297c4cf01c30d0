import { describe, expect, test } from "bun:test";
import {
  checkInstanceName,
  checkNewName,
  checkSessionName,
  checkTag,
  decodeName,
  encodeName,
  formatTarget,
  nextNumericName,
  normalizeTags,
  numericName,
  parseTarget,
} from "../../../src/protocol/names.ts";

function code(name: string) {
  return expect.objectContaining({ code: name });
}

test("names are 1 to 64 visible characters, in one form; tags are ASCII", () => {
  for (const name of ["0", "dev", "A.b_c-9", "...", ".a", "x".repeat(64)]) {
    expect(checkSessionName(name)).toBe(name);
    expect(checkTag(name)).toBe(name);
  }
  for (const name of ["a b", "é", "日本", "%2E", "me@box", "$(id) 'x' \"y\"", "👩‍💻 ✈️", "ñ".repeat(64), "-", "*"]) {
    expect(checkSessionName(name)).toBe(name);
    if (name !== "-") expect(() => checkTag(name)).toThrow(code("invalid_tag"));
  }
  expect(checkSessionName("cafe\u0301")).toBe("café");
  expect(parseTarget("cafe\u0301:log\u0301s.1")).toEqual(parseTarget("café:loǵs.1"));
  for (const name of [
    "",
    ".",
    "..",
    "x".repeat(65),
    " a",
    "a ",
    "a/b",
    "a:b",
    "@7",
    "a~1",
    "a\n",
    "a\0b",
    "a\u202eb",
    "a\u200bb",
    "a\u00a0b",
    "a\u2028b",
    "\ud800",
    "\ue000",
    "日".repeat(67),
  ]) {
    expect(() => checkSessionName(name)).toThrow(code("invalid_session_name"));
    expect(() => checkTag(name)).toThrow(code("invalid_tag"));
  }
});

test("a refused name is repeated, but not at any length and not raw", () => {
  expect(() => checkSessionName("a\x1b[31m")).toThrow('"a\\u001b[31m" is not a session name');
  expect(() => checkSessionName("x".repeat(100_000))).toThrow(/^"x{80}…" is not a session name$/);
});

test("instance names are 1 to 32 of A-Z a-z 0-9 _ -", () => {
  expect(checkInstanceName("work_2-B")).toBe("work_2-B");
  for (const name of ["", "a.b", "x".repeat(33), "a/b", ".."]) {
    expect(() => checkInstanceName(name)).toThrow(code("invalid_instance_name"));
  }
});

test("tags are sorted by bytes and not repeated", () => {
  expect(normalizeTags(["b", "a", "B", "a", "10", "9"])).toEqual(["10", "9", "B", "a", "b"]);
  expect(() => normalizeTags(["ok", ""])).toThrow(code("invalid_tag"));
});

describe("targets", () => {
  test("name a session, a window or a pane, each also by its id", () => {
    expect(parseTarget("dev")).toEqual({ kind: "session", name: "dev" });
    expect(parseTarget("v1.2")).toEqual({ kind: "session", name: "v1.2" });
    expect(parseTarget("v1.2:0")).toEqual({ kind: "session", name: "v1.2", window: "0" });
    expect(parseTarget("dev:logs.1")).toEqual({ kind: "session", name: "dev", window: "logs", pane: 1 });
    expect(parseTarget("@7")).toEqual({ kind: "pane", id: 7 });
    expect(parseTarget("@w5")).toEqual({ kind: "window_id", id: 5 });
    expect(parseTarget("@s3")).toEqual({ kind: "session_id", id: 3 });
    for (const text of ["dev", "dev:0", "dev:logs.1", "@7", "@w5", "@s3", "dev:"])
      expect(formatTarget(parseTarget(text))).toBe(text);
  });

  test("with an unknown name are not found, never another session", () => {
    const wrong = ["", "@", "@-1", "@07", "@1x", "@99999999999", ":0", "dev:0.", "dev:.0", "dev:0.x", " a"];
    const ids = ["@s", "@w", "@x3", "@s07", "@S3", "@s-1", "@s3.w5", "@sw3", "@s99999999999", "@s3:0", "@w5.0"];
    for (const text of [...ids, ...wrong, "dev:0:1", "dev:0.-1", "../x", "dev~7", "dev\n"]) {
      expect(() => parseTarget(text)).toThrow(code("session_not_found"));
    }
  });
});

test("an automatic number is the smallest free one from the stored one on", () => {
  const used = new Set(["0", "3", "4"]);
  expect([0, 1, 3, 9].map((next) => nextNumericName(next, (name) => used.has(name)))).toEqual([1, 1, 5, 9]);
  expect(["0", "12", "012", "1a", "", "1.5"].map(numericName)).toEqual([0, 12, null, null, null, null]);
});

test("every name is one file name, and every file name at most one name", () => {
  const names = ["...", ".a", "a.", "dev", "Dev", "DEV", "E2", "2E", "-", "_", "a.B.c", "Z".repeat(64)];
  names.push("%2E", "%", "a b", "Éa", "éa", "ſ", "日本", "👩‍💻", "%{C9}a", "Ñ".repeat(30), "日".repeat(64));
  for (const foldsCase of [false, true]) {
    const files = names.map((name) => encodeName(name, foldsCase));
    expect(files.map(decodeName)).toEqual(names);
    const compared = files.map((file) => (foldsCase ? file.toUpperCase().toLowerCase() : file));
    expect(new Set(compared).size).toBe(names.length);
    for (const file of files) {
      expect(file).not.toStartWith(".");
      expect(Buffer.byteLength(file)).toBeLessThanOrEqual(240);
    }
  }
  for (const file of [" a", "%00", "%2F", "%", "%zz", "%{2F}", "%{110000}", "x".repeat(65), "dev~7"])
    expect(decodeName(file)).toBeNull();
});

test("a new session has no name that tmux's commands read as a target; an existing one may", () => {
  for (const name of ["%1", "$3", "=a"]) {
    expect(checkSessionName(name)).toBe(name);
    expect(() => checkNewName(name)).toThrow("tmux's commands read it as a target");
  }
  expect(checkNewName("-x")).toBe("-x");
});
