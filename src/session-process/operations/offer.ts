/**
 * `prompt.offer`: inserts a line at the shell's prompt without running it. If that waits for the end of the requesting
 * command, the answer comes first: a later failure is shown to the people at the pane.
 */
import { lineNotOfferedNotice } from "../../compositor/notices.ts";
import type { HandlerContext } from "../../endpoint/operations/context.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { type ErrorCode, WshError } from "../../protocol/errors.ts";
import { agentOfCaller, ownerOf } from "../../protocol/owner.ts";
import { cleanLine } from "../../protocol/typed-texts.ts";
import { witnessOf } from "../receipts.ts";

/** Longest wait for the end of the command that asked for a line at the next prompt, in ms. */
const MAX_OFFER_WAIT_MS = 10_000;
/** Shorter texts of errors for a notice. */
const shortReasons: Partial<Record<ErrorCode, string>> = {
  not_at_prompt: "a program is running",
  prompt_not_empty: "the prompt is not empty",
};

export async function offerLine(
  pane: Pane,
  { text, after_command }: ParsedInput<"prompt.offer">,
  { notice, caller }: Pick<HandlerContext, "notice" | "caller">,
): Promise<OperationOutput<"prompt.offer">> {
  pane.requireRunning();
  const line = cleanLine(text);
  const waits = after_command && pane.commands.log.phase === "running";
  const insertion = pane.commands.offerLine({ text: line, maxWaitMs: waits ? MAX_OFFER_WAIT_MS : 0 });
  if (agentOfCaller(caller) !== null)
    void insertion.then(() => witnessOf(pane)?.noteOfferedLine(line, ownerOf(caller))).catch(() => {});
  if (!waits) await insertion;
  else {
    // The requesting command ends before it can get the result.
    void insertion.catch((thrown) => {
      const { code, message } = WshError.from(thrown);
      notice.show(lineNotOfferedNotice(line, shortReasons[code] ?? message));
    });
  }
  return { state: waits ? "pending" : "offered", output_cursor: pane.outputCursor };
}
