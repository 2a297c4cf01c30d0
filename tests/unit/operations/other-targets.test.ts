/** The other panes, windows and sessions that a layout operation names, which may need another permission. */
import { expect, test } from "bun:test";
import { othersIn } from "../../../src/operations/rights.ts";
import { findOperation } from "../../../src/operations/table.ts";

const named = (operation: string, input: unknown): string[] => {
  const found = findOperation(operation);
  if (found === undefined) throw new Error(`no operation ${operation}`);
  return othersIn(found, input);
};

test("a window's number and its neighbours are in the session, a session of such a name is not", () => {
  expect(named("window.swap", { with: "next" })).toEqual([]);
  expect(named("window.swap", { with: "theirs:1" })).toEqual(["theirs:1"]);
  expect(named("window.move", { to: "2" })).toEqual([]);
  expect(named("window.move", { to: "theirs:2" })).toEqual(["theirs:2"]);
  expect(named("pane.move", { to: "last" })).toEqual(["last"]);
  expect(named("pane.swap", { with: "@7" })).toEqual([]);
  expect(named("window.create", { view: "next" })).toEqual(["next"]);
});

test("a layout names the panes that it would show", () => {
  const tree = { type: "row", children: [{ view: "theirs" }, { env: { view: "no" }, view: "@7" }] };
  expect(named("layout.set", { tree })).toEqual(["theirs", "@7"]);
  expect(named("screen.get", { view: "theirs" })).toEqual([]);
});
