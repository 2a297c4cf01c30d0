/**
 * Waits for answers to questions alongside a wait's other conditions: the first one decides, and the rest is cancelled.
 */
import type { AskResult } from "../../protocol/ask-result.ts";
import type { Answers } from "./types.ts";

interface AnswerWait<T> {
  readonly ids: readonly string[];
  readonly maxWaitMs: number;
  readonly signal: AbortSignal;
  /** The session's name, for the answer. */
  readonly session: string;
  /** Waits for the other conditions; null: there are none. @returns null: none of them was met */
  readonly others: ((signal: AbortSignal) => Promise<T | null>) | null;
}

/**
 * @returns the ended question, or the other condition; null at the deadline
 * @throws WshError question_not_found, and errors of the other wait
 */
export async function waitForAnswer<T>(
  questions: Answers,
  { ids, maxWaitMs, signal, session, others }: AnswerWait<T>,
): Promise<{ readonly ask: AskResult } | { readonly other: T } | null> {
  const rest = new AbortController();
  const both = AbortSignal.any([signal, rest.signal]);
  try {
    const answers = ids.map(async (id) => {
      const result = await questions.answer(id, maxWaitMs, both);
      return result.state === "pending" ? null : { ask: { session, ...result } };
    });
    const other = others === null ? [] : [others(both).then((each) => (each === null ? null : { other: each }))];
    const all = [...answers, ...other];
    const first = Promise.withResolvers<{ ask: AskResult } | { other: T } | null>();
    for (const each of all) each.then((found) => found !== null && first.resolve(found), first.reject);
    Promise.all(all).then(() => first.resolve(null), first.reject);
    return await first.promise;
  } finally {
    rest.abort();
  }
}
