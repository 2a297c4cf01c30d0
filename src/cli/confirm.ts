/** A question that is answered with y or n, on a terminal; without one the answer is no. */
import { createInterface } from "node:readline/promises";
import { complain } from "./print.ts";

export async function confirmed(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) {
    complain(`${question} Nobody can be asked here: give --yes.`);
    return false;
  }
  const lines = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await lines.question(`${question} [y/N] `)).trim());
  } finally {
    lines.close();
  }
}
