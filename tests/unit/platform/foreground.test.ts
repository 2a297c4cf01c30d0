/** Whether a process waits for its terminal's input. */
import { expect, test } from "bun:test";
import { readTerminalReader } from "../../../src/platform/foreground.ts";

test("a process that has ended reads nothing: it gets no key", async () => {
  const { pid, exited } = Bun.spawn(["true"]);
  await exited;
  expect(readTerminalReader(pid)).toEqual({ reading: false, unread: null });
});
