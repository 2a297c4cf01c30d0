/** A question for a secret ends with the program that would have read it, unless the secret is being typed. */
import { expect, test } from "bun:test";
import type { Ask } from "../../../../src/protocol/asking.ts";
import { Questions } from "../../../../src/session/questions/questions.ts";
import { manualClock } from "../../../support/manual-clock.ts";

const ask: Ask = {
  question: "Key?",
  kind: "secret",
  multiple: false,
  timeout_ms: 600_000,
  max_wait_ms: 600_000,
  wait_for_person: true,
};

function scene() {
  const clock = manualClock();
  const typing = Promise.withResolvers<boolean>();
  const questions = new Questions({
    clock,
    newId: () => crypto.randomUUID(),
    countPeople: () => 1,
    hasNotice: () => false,
    secrets: {
      prompt: () => ({ group: 7, pid: 7, program: "sudo", commandLine: "sudo true" }),
      type: () => typing.promise,
    },
    programState: () => "exited",
    takenOver: () => {},
    changed: () => {},
    waiting: () => {},
    happened: () => {},
  });
  const asked = questions.ask(ask, { id: null, label: "a test" }, "@2", new AbortController().signal);
  return { clock, typing, questions, asked };
}

test("the program of another pane has no effect; that of its pane ends it", async () => {
  const { questions, asked } = scene();
  await Bun.sleep(0);
  questions.handleProgramEnd("@1");
  expect(questions.list()).toHaveLength(1);
  questions.handleProgramEnd("@2");
  expect(await asked).toMatchObject({ state: "closed", decided_by: "secret_not_taken" });
  questions.dispose();
});

test("a secret that its program has received before its end is answered", async () => {
  const { clock, typing, questions, asked } = scene();
  await Bun.sleep(0);
  await Bun.sleep(0);
  clock.pass(1_000);
  questions.type(1, Buffer.from("pw\r"), { rows: 24, cols: 80 });
  questions.handleProgramEnd("@2");
  typing.resolve(true);
  expect(await asked).toMatchObject({ state: "answered", decided_by: "answered", answered_by: "terminal" });
  questions.dispose();
});
