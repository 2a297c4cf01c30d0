/**
 * Brings a restored pane's program back, at the new shell's first prompt: its line stands there, unsent; lines that are
 * safe to run again are run. Where the shell cannot be given a line, a note says what ran.
 */

import type { Logger } from "../../log/log.ts";
import type { Pane } from "../../pane/pane.ts";
import { WshError } from "../../protocol/errors.ts";
import { type ResumedLine, resumedLine } from "../../shell/resumed-line.ts";
import type { Foreground } from "../files/record.ts";

/** Longest wait for the shell's first prompt, in ms: startup files may look things up over a network. */
const PROMPT_MS = 60_000;
const ENTER = Uint8Array.of(13);

/** What to do for what was in the foreground; null where there is nothing to bring back. */
export function toResume(foreground: Foreground | null, own: readonly string[]): ResumedLine | null {
  if (foreground === null || foreground.line.trim() === "") return null;
  const { line, program, agent, conversation } = foreground;
  const talk = agent === null || conversation === undefined ? null : { agent, id: conversation.id };
  return resumedLine(line, program, own, talk);
}

/** Resolves when the line stands at the prompt, or runs. Never fails: what keeps it from that is logged. */
export async function resume(pane: Pane, { line, runs }: ResumedLine, logger: Logger): Promise<void> {
  try {
    await firstPrompt(pane);
    await pane.commands.offer({ text: line, maxWaitMs: 0 });
    if (runs) await pane.send(ENTER);
  } catch (error) {
    const { code } = WshError.from(error);
    logger.info("the command line that was running could not be put at the prompt", { line, code });
  }
}

/** @throws WshError not_at_prompt, session_ended */
async function firstPrompt(pane: Pane): Promise<void> {
  if (pane.commands.log.phase === "prompt") return;
  const come = Promise.withResolvers<void>();
  const timer = setTimeout(
    () => come.reject(new WshError("not_at_prompt", "the shell did not show a prompt")),
    PROMPT_MS,
  );
  using _prompt = pane.commands.log.on({
    prompt: () => come.resolve(),
    exited: () => come.reject(new WshError("session_ended", "the shell has ended")),
  });
  try {
    await come.promise;
  } finally {
    clearTimeout(timer);
  }
}
