/** The questions for a password that an agent's program reads: how many, and in which session. */
import { expect, test } from "bun:test";
import type { Pane } from "../../../src/pane/pane.ts";
import type { PaneQuestions } from "../../../src/session-process/events/pane-questions.ts";
import { PasswordPrompter } from "../../../src/session-process/events/password-prompter.ts";
import { until } from "../../support/until.ts";

function scene() {
  const asked: PromiseWithResolvers<string | null>[] = [];
  const questions: PaneQuestions = {
    ask() {
      const question = Promise.withResolvers<string | null>();
      asked.push(question);
      return question.promise;
    },
    secretQuestions: async () => [],
    cancel: async () => {},
    countPeople: async () => 1,
  };
  const pane = { id: "@1", writer: { source: "api" }, secrets: { prompt: () => null } } as unknown as Pane;
  return { asked, passwords: new PasswordPrompter({ pane, questions: () => questions }, "claude") };
}

test("moves of the pane are no wrong passwords: after any number of them three are asked for", async () => {
  const { asked, passwords } = scene();
  passwords.stateChecked("password");
  for (let moves = 1; moves <= 4; moves++) {
    await until("a question", () => asked.length === moves);
    passwords.paneMoved();
  }
  for (let tries = 0; tries < 3; tries++) {
    await until("a question", () => asked.length === 5 + tries);
    asked.at(-1)?.resolve("answered");
    await Bun.sleep(0);
    passwords.stateChecked("password");
  }
  await Bun.sleep(0);
  expect(asked).toHaveLength(7);
});
