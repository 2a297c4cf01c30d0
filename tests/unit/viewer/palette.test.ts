/** The palette's suggestions for a line, the parsing of lines, and the retained part of them. */
import { describe, expect, test } from "bun:test";
import { defaultBindings } from "../../../src/keys/bindings.ts";
import { splitWords } from "../../../src/keys/line.ts";
import { viewOperationNames } from "../../../src/keys/view-operations.ts";
import { operations } from "../../../src/operations/table.ts";
import { byKeys } from "../../../src/protocol/caller.ts";
import { parsePaletteLine } from "../../../src/viewer/palette/calls.ts";
import { buildEntries, listParameters } from "../../../src/viewer/palette/entries.ts";
import { resultLines } from "../../../src/viewer/palette/result-text.ts";
import { storableLine } from "../../../src/viewer/palette/saved-lines.ts";
import { suggest } from "../../../src/viewer/palette/suggest.ts";

const known = buildEntries(defaultBindings, byKeys({ access: "admin", caller: {} }), {
  places: [],
  recent: ["pane.zoom", "window.close"],
});
const offered = (line: string, caret = line.length) => suggest(line, caret, known);
const labels = (line: string, caret?: number) => offered(line, caret).items.map(({ label }) => label);

describe("a line", () => {
  test("is words with quotation marks, and reports an open one", () => {
    expect(splitWords(`a "b c" d='e "f'g`).words.map(({ text }) => text)).toEqual(["a", "b c", `d=e "fg`]);
    expect(splitWords('a b="c d').open).toBe('"');
    expect(splitWords(`x=""`).words).toEqual([{ text: "x=", from: 0, to: 4 }]);
    expect(splitWords("  ").words).toEqual([]);
  });

  test("gives each parameter its values", () => {
    expect(parsePaletteLine("pane.split percent=40 title=2024 focus=false")).toMatchObject({
      ...{ operation: "pane.split", input: { percent: 40, title: "2024", focus: false } },
    });
    expect(parsePaletteLine("window.update name= session=@w3")).toMatchObject({
      ...{ operation: "window.update", input: { name: null }, target: "@w3" },
    });
    expect(parsePaletteLine("session.update add_tags=a,b").input).toEqual({ add_tags: ["a", "b"] });
    expect(parsePaletteLine("history.search session=dev").target).toBeUndefined();
    // What a person starts beside what they look at gets the focus; elsewhere it does not.
    expect(parsePaletteLine("pane.split").input).toEqual({ focus: true });
    expect(parsePaletteLine("pane.split session=dev").input).toEqual({});
  });
});

describe("suggestions", () => {
  test("at first the last lines, then every operation", () => {
    expect(labels("").slice(0, 2)).toEqual(["pane.zoom", "window.close"]);
    const all = new Set(labels(""));
    for (const name of [...operations.map((each) => each.name), ...viewOperationNames]) expect(all).toContain(name);
    expect(offered("").selectsFirst).toBe(false);
  });

  test("operations by letters, an exact name first, then those with the words in their description", () => {
    expect(labels("pz")[0]).toBe("pane.zoom");
    expect(labels("session.get")[0]).toBe("session.get");
    expect(labels("rename")).toContain("session.update");
    expect(labels("close window")[0]).toBe("window.close");
    expect(labels("qqqq")).toEqual([]);
    // A destructive operation is never selected by words that others have, too.
    expect(labels("history").slice(-2)).toContain("session.clear");
    expect(labels("clear")[0]).toBe("session.clear");
  });

  test("remaining parameters, the required ones first; values, wherever the caret is", () => {
    expect(labels("layout.preset ")[0]).toBe("preset=");
    expect(labels("pane.split direction=right ")).not.toContain("direction=");
    expect(labels("pane.split direction=")).toEqual(["right", "left", "down", "up"]);
    expect(labels("pane.split direction= percent=30", "pane.split direction=".length)).toContain("left");
    expect(labels("pane.zoom on=")).toEqual(["true", "false"]);
    expect(labels("input.send keys=Ctrl+C,Ent")[0]).toBe("Enter");
    expect(offered("input.send keys=Up,Ent").items[0]?.text).toBe("keys=Up,Enter");
    expect(labels("view.go ")).toEqual(["session="]);
    expect(offered("pane.nothing x=").note).toContain("no operation");
  });

  test("every parameter of every operation has a name that a line can use", () => {
    for (const { name } of operations)
      for (const each of listParameters(name) ?? []) expect(each.name).toMatch(/^\w+$/);
  });
});

test("only names, numbers and listed values are kept of a line", () => {
  const kept = (line: string) => storableLine(line, listParameters(line.split(" ")[0] ?? "") ?? []);
  expect(kept("input.send data=secret keys=a,b submit=true")).toBe("input.send data= keys= submit=true");
  expect(kept('pane.split command="mysql -psecret" env={"A":"b"} percent=30 title="my pane"')).toBe(
    'pane.split command= env= percent=30 title="my pane"',
  );
  expect(kept('exec command="curl -H token"')).toBe("exec command=");
  expect(kept("layout.preset preset=tiled session=dev")).toBe("layout.preset preset=tiled session=dev");
  expect(kept(`window.update name=${"x".repeat(600)}`)).toBe("window.update");
});

test("an answer has a field per line", () => {
  expect(resultLines({ a: 1, b: { c: "x\ny", d: [] }, e: [{ f: null }], g: ["h", "i"] })).toEqual([
    ...["a: 1", "b:", "  c:", "    x", "    y", "  d: none", "e:", "  - f: -", "g:", "  h", "  i"],
  ]);
});
