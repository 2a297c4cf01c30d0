/** Prints the result of a question to a person, and sets the exit code accordingly. */
import type { AskResult } from "../../protocol/ask-result.ts";
import { complain, printText } from "../print.ts";

/** The answer is no, or the question was dismissed. */
const NO = 1;
/** The timeout came first, as in timeout(1). */
const TIMED_OUT = 124;

const endReasons: Readonly<Record<NonNullable<AskResult["decided_by"]>, string>> = {
  answered: "answered",
  dismissed: "the person dismissed the question",
  timeout: "the question timed out",
  cancelled: "the question was cancelled",
  nobody_attached:
    "no terminal is attached, and no [[notify]] table takes its questions; --session NAME --wait-for-person asks anyway",
  secret_not_taken: "the secret was not typed",
  session_ended: "the session has ended",
};

/** Prints the answer on standard output, everything else on standard error. */
export async function printAnswer(result: AskResult): Promise<void> {
  process.exitCode = exitCodeOf(result);
  const { state, decided_by, ask_id, answer, reason, program_state } = result;
  if (state === "pending") {
    complain(`not answered yet; wait with: wsh wait ${result.session ?? "NAME"} --answer ${ask_id}`);
    return;
  }
  if (decided_by !== "answered") {
    complain(`${endReasons[decided_by ?? "cancelled"]}${reason === undefined ? "" : `: ${reason}`}`);
    return;
  }
  if (typeof answer === "boolean") await printText(answer ? "yes\n" : "no\n");
  else if (answer !== undefined)
    await printText(
      [answer]
        .flat()
        .map((line) => `${line}\n`)
        .join(""),
    );
  else if (program_state !== undefined) await printText(`${program_state}\n`);
}

export function exitCodeOf({ state, decided_by, answer }: AskResult): number {
  if (state === "pending" || decided_by === "timeout") return TIMED_OUT;
  return decided_by !== "answered" || answer === false ? NO : 0;
}
