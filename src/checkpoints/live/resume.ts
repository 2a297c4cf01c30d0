/**
 * Resumes a restored pane's program at the new shell's first prompt: its command line is inserted, unsent; lines that
 * are safe to run again are run. If the shell accepts no line, a note names the command.
 */

import type { Logger } from "../../log/log.ts";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";
import { type ResumedLine, resumedLine } from "../../shell/resumed-line.ts";
import type { Foreground } from "../files/record.ts";

/** Longest wait for the shell's first prompt, in ms: startup files may look things up over a network. */
const PROMPT_MS = 60_000;
const ENTER = Uint8Array.of(13);

/** The line to resume for the former foreground program; null: there is none. */
export function planResume(foreground: Foreground | null, own: readonly string[]): ResumedLine | null {
  if (foreground === null || foreground.line.trim() === "") return null;
  const { line, program, agent, conversation } = foreground;
  const agentConversation = agent === null || conversation === undefined ? null : { agent, id: conversation.id };
  return resumedLine(line, program, own, agentConversation);
}

/** Resolves when the line is at the prompt, or runs. Never rejects: a failure is logged. */
export async function resume(pane: Pane, { line, runs }: ResumedLine, logger: Logger): Promise<void> {
  try {
    await waitForPrompt(pane);
    await pane.commands.offerLine({ text: line, maxWaitMs: 0 });
    if (runs) await pane.send(ENTER);
  } catch (error) {
    const { code } = WshError.from(error);
    logger.info("the command line that was running could not be put at the prompt", { line, code });
  }
}

/** @throws WshError not_at_prompt, session_ended */
async function waitForPrompt(pane: Pane): Promise<void> {
  if (pane.commands.log.phase === "prompt") return;
  const prompted = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => prompted.reject(new WshError("not_at_prompt", "the shell did not show a prompt")),
    PROMPT_MS,
  );
  using _prompt = pane.commands.log.on({
    prompt: () => prompted.resolve(),
    exited: () => prompted.reject(new WshError("session_ended", "the shell has ended")),
  });
  try {
    await prompted.promise;
  } finally {
    clearTimeout(timer);
  }
}
