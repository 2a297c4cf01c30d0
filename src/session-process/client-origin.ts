/**
 * Determines whether a person's key started a client that runs in a pane, and at which terminal. Input from programs
 * and exec switches no terminal: if both gave input, the newer one counts.
 */
import type { Pane } from "../pane/pane.ts";
import { platform } from "../platform/platform.ts";
import { WshError } from "../protocol/errors.ts";
import type { Submission, SubmittedLines } from "../session/submitted-lines.ts";

/**
 * @returns null when the client does not run at the pane's own terminal, as in a tmux inside it
 * @throws WshError nested_session
 */
export function startedBy(pane: Pane, entered: SubmittedLines, pid: number): Submission | null {
  const { processes } = platform();
  const own = pane.pid === null ? null : processes.stat(pane.pid);
  const client = processes.stat(pid);
  if (own === null || client === null || own.tty === 0 || own.tty !== client.tty) return null;
  const newest = entered.lastSubmission(pane.id);
  const { log } = pane.commands;
  const running = log.runningCommand;
  const isSent = running !== null && log.origin(running.id)?.sent != null;
  if (
    newest === null ||
    pane.lastSentAt >= newest.submittedAt ||
    (isSent && running.started_at >= newest.submittedWallTime)
  ) {
    throw new WshError(
      "nested_session",
      "a program cannot switch a person's terminal: this was not started by a person's key",
      {
        hint: "Attach from a terminal, or start with --nested to show the session inside this one.",
      },
    );
  }
  return newest;
}
