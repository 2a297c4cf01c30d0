/** A failed command. Its message is printed as tmux prints it, without a prefix; the exit status is 1. */
export class TmuxError extends Error {
  override readonly name = "TmuxError";
}
