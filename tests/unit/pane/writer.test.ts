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
