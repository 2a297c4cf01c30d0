/**
 * The command whose first line of output is a segment of the status line. It runs in a separate process group, which is
 * killed with it, with the line, and after COMMAND_MS: none of its children remain.
 */
import type { Settings } from "../../settings/table.ts";

/** Time after which it is killed, in ms, and characters of its output. */
const COMMAND_MS = 5_000;
const COMMAND_CHARS = 100;

export class StatusCommand {
  private printed = "";
  private running: Bun.Subprocess | null = null;
  private timer: Timer | null = null;

  constructor(
    private readonly settings: Pick<Settings, "status_command" | "status_seconds">,
    private readonly session: { readonly name: string },
    /** It has printed something, or may run again. */
    private readonly changed: () => void,
  ) {}

  /** Its last output; runs it again when due. Call while the line is shown. */
  get output(): string {
    const { status_command: command, status_seconds: seconds } = this.settings;
    if (command === "") return "";
    if (this.timer === null && this.running === null) {
      void this.ask(command);
      this.timer = setTimeout(() => {
        this.timer = null;
        this.changed();
      }, seconds * 1000);
    }
    return this.printed;
  }

  /** Ends it, and forgets when it ran. */
  stop(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    kill(this.running);
    this.running = null;
  }

  private async ask(command: string): Promise<void> {
    let child: Bun.Subprocess<"ignore", "pipe", "ignore"> | null = null;
    let printed = "";
    let late: Timer | undefined;
    try {
      child = Bun.spawn(["sh", "-c", command], {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "ignore",
        detached: true,
        env: { ...process.env, WSH_SESSION: this.session.name },
      });
      child.unref();
      this.running = child;
      late = setTimeout(() => kill(child), COMMAND_MS);
      late.unref();
      printed = (await new Response(child.stdout).text()).split("\n", 1)[0] ?? "";
    } catch {
      // It cannot be started: the segment is empty.
    }
    clearTimeout(late);
    if (child?.exitCode === null) kill(child);
    if (this.running !== child) return;
    this.running = null;
    this.printed = printed.slice(0, COMMAND_CHARS);
    this.changed();
  }
}

/** Ends a command with all that it has started. */
function kill(child: Bun.Subprocess | null): void {
  if (child === null) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // The whole group has ended.
  }
}
