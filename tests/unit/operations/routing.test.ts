/** Which pane, window or session an operation is for. */
import { expect, test } from "bun:test";
import { isForPane, subjectOf } from "../../../src/operations/routing.ts";

test("drawing at a pane belongs to the pane, at a session to the session", () => {
  for (const target of ["@7", "dev:1.0", "dev:logs.2"]) expect(isForPane("overlay.create", target)).toBe(true);
  for (const target of ["dev", "@s3", "@w5", "dev:1", "dev:"]) expect(isForPane("overlay.create", target)).toBe(false);
  for (const target of ["@7", "dev"]) expect(isForPane("session.kill", target)).toBe(false);
});

test("an operation of a hook acts on the event's target", () => {
  const event = { session_id: "@s3", window: "@w5", pane: "@7" };
  for (const [operation, subject] of [
    ["window.update", "@w5"],
    ["layout.preset", "@w5"],
    ["pane.split", "@7"],
    ["popup.open", "@7"],
    ["screen.get", "@7"],
    ["overlay.create", "@7"],
    ["session.update", "@s3"],
  ] as const)
    expect([operation, subjectOf(operation, event)]).toEqual([operation, subject]);
  expect(subjectOf("pane.split", { session_id: "@s3", window: "@w5" })).toBe("@w5");
  expect(subjectOf("window.update", { session_id: "@s3" })).toBe("@s3");
});
