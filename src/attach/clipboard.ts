/**
 * Passes texts that programs copy (OSC 52) to the system's clipboard: Apple's Terminal ignores the sequence. Only on
 * the person's own machine, and only when the session process reports that this client is the active one. One copy runs
 * at a time, for a limited time; the newest of those that arrive meanwhile follows.
 */

/** Time after which a copy that does not end is given up, in ms. */
const COPY_MS = 5_000;
/** Longest copy, in bytes of text: the session process's own limit. */
const MAX_COPY_BYTES = 768 * 1024;

export class ClipboardCopier {
  private isRunning = false;
  private pendingText: Uint8Array | null = null;

  /** @param command path of a program that reads its standard input into the clipboard */
  constructor(private readonly command: string) {}

  /** Null when the terminal itself supports OSC 52, or the clipboard belongs to another machine than the person's. */
  static forEnvironment(env: Readonly<Record<string, string | undefined>>): ClipboardCopier | null {
    if (env.TERM_PROGRAM !== "Apple_Terminal" || env.SSH_CONNECTION || env.SSH_TTY) return null;
    const command = Bun.which("pbcopy", { PATH: env.PATH ?? "/usr/bin:/bin" });
    return command === null ? null : new ClipboardCopier(command);
  }

  /** Copies text given as base64; invalid, empty or overlong text is ignored, as terminals do. */
  copy(base64: string): void {
    let text: Uint8Array;
    try {
      text = Uint8Array.fromBase64(base64);
    } catch {
      return;
    }
    if (text.length === 0 || text.length > MAX_COPY_BYTES) return;
    this.pendingText = text;
    if (!this.isRunning) void this.run();
  }

  private async run(): Promise<void> {
    this.isRunning = true;
    for (let text = this.pendingText; text !== null; text = this.pendingText) {
      this.pendingText = null;
      try {
        const child = Bun.spawn([this.command], {
          stdin: text,
          stdout: "ignore",
          stderr: "ignore",
          // pbcopy takes its input for the locale's characters.
          env: { ...process.env, LC_CTYPE: "UTF-8" },
          timeout: COPY_MS,
          killSignal: "SIGKILL",
        });
        child.unref();
        await child.exited;
      } catch {
        // The program is gone: the copy is lost.
      }
    }
    this.isRunning = false;
  }
}
