/**
 * What programs copy (OSC 52), handed to the system's clipboard here: Apple's Terminal ignores the sequence. Only on
 * the machine at which the person sits, and only where the session process says that this client is the one in use.
 * One copy runs at a time, for a limited time; of those that come meanwhile the newest follows.
 */

/** Time after which a copy that does not end is given up, in ms. */
const COPY_MS = 5_000;
/** Longest copy, in bytes of text: what a session process reports of one. */
const MAX_COPY_BYTES = 768 * 1024;

export class Copier {
  private running = false;
  private next: Uint8Array | null = null;

  /** @param command path of a program that reads its standard input into the clipboard */
  constructor(
    private readonly command: string,
    private readonly limitMs = COPY_MS,
  ) {}

  /** Null where the terminal obeys OSC 52 itself, or where the clipboard belongs to another machine than the person's. */
  static for(env: Readonly<Record<string, string | undefined>>): Copier | null {
    if (env.TERM_PROGRAM !== "Apple_Terminal" || env.SSH_CONNECTION || env.SSH_TTY) return null;
    const command = Bun.which("pbcopy", { PATH: env.PATH ?? "/usr/bin:/bin" });
    return command === null ? null : new Copier(command);
  }

  /** Copies text given as base64; what is none, empty or too long is ignored, as terminals do. */
  copy(base64: string): void {
    let text: Uint8Array;
    try {
      text = Uint8Array.fromBase64(base64);
    } catch {
      return;
    }
    if (text.length === 0 || text.length > MAX_COPY_BYTES) return;
    this.next = text;
    if (!this.running) void this.run();
  }

  private async run(): Promise<void> {
    this.running = true;
    for (let text = this.next; text !== null; text = this.next) {
      this.next = null;
      try {
        const child = Bun.spawn([this.command], {
          stdin: text,
          stdout: "ignore",
          stderr: "ignore",
          // pbcopy takes its input for the locale's characters.
          env: { ...process.env, LC_CTYPE: "UTF-8" },
          timeout: this.limitMs,
          killSignal: "SIGKILL",
        });
        child.unref();
        await child.exited;
      } catch {
        // It is gone meanwhile: the copy is lost, as it was without it.
      }
    }
    this.running = false;
  }
}
