/** Answers to queries inside a command: their receiver, and their time. */
import { expect, test } from "bun:test";
import type { Clock } from "../../../src/base/clock.ts";
import { QueryAnswers } from "../../../src/pane/query-answers.ts";
import type { ProgramState } from "../../../src/pane/state/classify.ts";

/** Answers to a program that the test controls; `looks` lets so many checks happen. */
function asked(doing: ProgramState["doing"], settled: boolean) {
  let now = 0;
  let next: (() => void) | null = null;
  const sent: string[] = [];
  const state = { doing, settled };
  const clock: Clock = {
    now: () => now,
    wall: () => now,
    after: (_, call) => {
      next = call;
      const cancel = (): void => {
        next = null;
      };
      return { [Symbol.dispose]: cancel };
    },
  };
  const answers = new QueryAnswers({
    clock,
    send: (bytes) => void sent.push(Buffer.from(bytes).toString()),
    expectsReportedEnd: () => true,
    state: () => state,
    wouldEcho: () => false,
  });
  answers.add(Buffer.from("answer"));
  const looks = (count: number): void => {
    for (let n = 0; n < count; n++) {
      now += 3;
      const call = next;
      next = null;
      call?.();
    }
  };
  return { answers, looks, sent, state };
}

test("a program that reads has its answer within a few checks", () => {
  const { looks, sent } = asked("ready", true);
  looks(3);
  expect(sent).toEqual(["answer"]);
});

test("a shell that reads at its next prompt gets none, though it is seen there before its prompt is read", () => {
  const { answers, looks, sent } = asked("ready", true);
  looks(2);
  // The prompt: the end of the command is in it.
  answers.noteOutput();
  answers.drop();
  looks(200);
  expect(sent).toEqual([]);
});

test("a working program gets none once it may wait unseen; both get them in the end", () => {
  const unseen = asked("unknown", false);
  const working = asked("working", false);
  for (const { looks } of [unseen, working]) looks(20);
  expect([unseen.sent, working.sent]).toEqual([["answer"], []]);
  working.looks(200);
  expect(working.sent).toEqual(["answer"]);
});
