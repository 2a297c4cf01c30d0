/** A command that failed: its message is printed as tmux would, without a prefix, and the exit status is 1. */
export class TmuxError extends Error {
  override readonly name = "TmuxError";
}
