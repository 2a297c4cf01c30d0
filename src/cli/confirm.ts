/**
 * Questions to the person at the terminal: one at a time, from any caller; text typed before a question was shown does
 * not answer it. Without a terminal, the answer to a yes or no question is no.
 */
import { createInterface } from "node:readline/promises";
import { discardInput } from "../platform/raw-mode.ts";
import { complain } from "./print.ts";

let turn: Promise<unknown> = Promise.resolve();

/** Runs `ask`, which shows one question and reads its answer, once every earlier question has its answer. */
export function inTurn<T>(ask: () => Promise<T>): Promise<T> {
  const asked = turn.then(() => {
    discardInput(0);
    return ask();
  });
  turn = asked.catch(() => {});
  return asked;
}

export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    complain(`${question} Standard input is not a terminal: confirm with --yes.`);
    return false;
  }
  return inTurn(async () => {
    const lines = createInterface({ input: process.stdin, output: process.stderr });
    try {
      return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
    } finally {
      lines.close();
    }
  });
}
