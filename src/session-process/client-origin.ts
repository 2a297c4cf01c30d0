/**
 * Determines whether a person's key started a client that runs in a pane, and at which terminal. Only a person's
 * key may switch the terminal. If a program or exec sent input as well, the newer input counts.
 */
import type { Pane } from "../pane/pane.ts";
import { platform } from "../platform/platform.ts";
import { WshError } from "../protocol/errors.ts";
import type { Submission, SubmittedLines } from "../session/submitted-lines.ts";

/**
 * @returns null when the client does not run at the pane's own terminal, as in a tmux inside it
 * @throws WshError nested_session
 */
export function findStartingSubmission(pane: Pane, submittedLines: SubmittedLines, pid: number): Submission | null {
  const { processes } = platform();
  const paneProcess = pane.pid === null ? null : processes.stat(pane.pid);
  const clientProcess = processes.stat(pid);
  if (paneProcess === null || clientProcess === null || paneProcess.tty === 0 || paneProcess.tty !== clientProcess.tty)
    return null;
  const newestSubmission = submittedLines.lastSubmission(pane.id);
  const { log } = pane.commands;
  const running = log.runningCommand;
  const isRunningSentCommand = running !== null && log.origin(running.id)?.sent != null;
  if (
    newestSubmission === null ||
    pane.writer.sentAt >= newestSubmission.submittedAt ||
    (isRunningSentCommand && running.started_at >= newestSubmission.submittedWallTime)
  ) {
    throw new WshError(
      "nested_session",
      "a program cannot switch a person's terminal: this was not started by a person's key",
      {
        hint: "Attach from a terminal, or start with --nested to show the session inside this one.",
      },
    );
  }
  return newestSubmission;
}
