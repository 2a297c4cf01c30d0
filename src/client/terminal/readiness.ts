/** Waits before and after typing: until a program reads, and until it has answered. */
import type { OperationInput, OperationOutput } from "../../operations/table.ts";
import { WshError } from "../../protocol/errors.ts";

/** Silence after which text is typed to a program that is not known to read, in ms, and the longest wait for that. */
const READY_IDLE_MS = 300;
const READY_WAIT_MS = 2_000;
/** Time for a program to answer a key, in ms; and additional time for one that has not read the key, or still draws. */
const ANSWER_MS = 350;
const LATE_ANSWER_MS = 1_500;
const reading = ["prompt", "waiting_for_input", "password", "fullscreen"] as const;

type Wait = (input: OperationInput<"wait">) => Promise<OperationOutput<"wait">>;

/** Waits until the program reads its input, as far as that is known. @returns whether it is a shell at its prompt */
export async function isReadyAtPrompt(wait: Wait): Promise<boolean> {
  const { decided_by } = await wait({
    any_of: [...reading, { type: "idle", ms: READY_IDLE_MS }],
    max_wait_ms: READY_WAIT_MS,
  });
  return decided_by === "prompt";
}

/**
 * Waits until the program has read its input, has drawn and reads again; a program that continues to work is not
 * awaited.
 */
export async function answered(wait: Wait): Promise<void> {
  try {
    const { decided_by, state } = await wait({ any_of: [...reading], max_wait_ms: ANSWER_MS });
    if (decided_by !== "timeout" || state === "running") return;
    await wait({ any_of: [...reading], max_wait_ms: LATE_ANSWER_MS });
  } catch (thrown) {
    // The input has ended the session: the next step reports that.
    if (!(thrown instanceof WshError)) throw thrown;
  }
}
