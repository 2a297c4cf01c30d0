/** `prompt.offer`: puts a line at the shell's prompt without running it. */
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { cleanLine } from "../../pane/commands/line-offer.ts";
import type { Pane } from "../../pane/pane.ts";

/** Longest wait for the end of the command that asked for a line at the next prompt, in ms. */
const OFFER_MS = 10_000;

export async function offer(
  pane: Pane,
  { text, after_command }: ParsedInput<"prompt.offer">,
): Promise<OperationOutput<"prompt.offer">> {
  pane.requireRunning();
  const line = cleanLine(text);
  const waits = after_command && pane.commands.log.phase === "running";
  const offered = pane.commands.offer({ text: line, maxWaitMs: waits ? OFFER_MS : 0 });
  // The command that asks ends before it could be told; what stands at the prompt then shows whether it came.
  if (waits) void offered.catch(() => {});
  else await offered;
  return { state: waits ? "pending" : "offered", output_cursor: pane.outputCursor };
}
