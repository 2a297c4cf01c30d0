/** What a call types is its caller's, whichever call came last. */
import { expect, test } from "bun:test";
import { PaneWriter } from "../../../src/pane/writer.ts";
import type { Owner } from "../../../src/protocol/owner.ts";
import { manualClock } from "../../support/manual-clock.ts";

const person: Owner = { kind: "person", name: "ann" };
const agent: Owner = { kind: "agent", name: "claude" };

test("a call that waits for the prompt while another types", async () => {
  const writer = new PaneWriter(manualClock(), person);
  const prompt = Promise.withResolvers<void>();
  const waits = writer.typesAs(agent, async () => {
    await prompt.promise;
    writer.noteSent();
  });
  expect(writer.current).toEqual(person);
  writer.typesAs(person, () => {
    writer.noteSent();
    prompt.resolve();
  });
  expect(writer.current).toEqual(person);
  await waits;
  expect(writer.current).toEqual(agent);
});

test("a focus report makes nobody the writer: a call that selects the pane causes it, and a person who leaves", () => {
  const writer = new PaneWriter(manualClock(), person);
  writer.noteSent(agent);
  for (const report of ["\x1b[I", "\x1b[O"]) writer.noteTyped(Buffer.from(report), false);
  expect([writer.current, writer.source, writer.typedWithin(1_000)]).toEqual([agent, "api", false]);
  writer.noteTyped(Buffer.from("\x1b[A"), false);
  expect([writer.source, writer.typedWithin(1_000)]).toEqual(["person", true]);
});
