/** How an action ended, for its audit record. */
import { WshError } from "../../protocol/errors.ts";

export interface Outcome {
  /** `ok`, or the error's code. */
  readonly result: string;
  /** Its duration. */
  readonly ms: number;
}

/** Performs an action, and calls `write` at its end. @throws the action's error, unchanged */
export async function withOutcome<T>(act: () => Promise<T>, write: (outcome: Outcome) => void): Promise<T> {
  const began = performance.now();
  let result = "ok";
  try {
    return await act();
  } catch (thrown) {
    result = WshError.from(thrown).code;
    throw thrown;
  } finally {
    write({ result, ms: performance.now() - began });
  }
}
