/**
 * Runs the command whose first line of output is a segment of the status line. It runs in a process group of its own,
 * and is killed with all its descendants, including daemons, when the line disappears, after COMMAND_MS, or after
 * OUTPUT_BYTES of output. A failure is part of the segment.
 */
import { actingFor } from "../../platform/child-limits.ts";
import { endMarked, STATUS_MARK } from "../../platform/marked-processes.ts";
import type { Settings } from "../../settings/table.ts";

/** Time in ms, and bytes of output, after which it is killed; then the characters to show. */
const COMMAND_MS = 5_000;
const OUTPUT_BYTES = 16 * 1024;
const COMMAND_CHARS = 100;
/** Time for the remaining output after the command's end, in ms: background processes may hold the pipe open. */
const REST_MS = 100;

/** The first line of its output, and how it failed; "": it did not. */
export interface CommandOutput {
  readonly text: string;
  readonly failed: string;
}

interface CommandRun {
  readonly child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  /** A mark in its environment, which all its descendants inherit. */
  readonly mark: string;
}

const nothing: CommandOutput = { text: "", failed: "" };

export class StatusCommand {
  /** The command that printed the current text: a changed command runs at once. */
  private command = "";
  private printed = nothing;
  private running: CommandRun | null = null;
  private timer: Timer | null = null;

  constructor(
    private readonly settings: Pick<Settings, "status_command" | "status_seconds">,
    private readonly session: { readonly name: string },
    /** Called after new output, or when it may run again. */
    private readonly changed: () => void,
    private readonly limitMs = COMMAND_MS,
  ) {}

  /** Its last output; runs it again when due. Call while the line is shown. */
  get output(): CommandOutput {
    const { status_command: command, status_seconds: seconds } = this.settings;
    if (command !== this.command) {
      this.stop();
      this.command = command;
      this.printed = nothing;
    }
    if (command === "") return nothing;
    if (this.timer === null && this.running === null) {
      void this.ask(command);
      this.timer = setTimeout(() => {
        this.timer = null;
        this.changed();
      }, seconds * 1000);
    }
    return this.printed;
  }

  /** Kills it, and forgets when it ran. */
  stop(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    const { running } = this;
    this.running = null;
    if (running !== null) end(running);
  }

  private async ask(command: string): Promise<void> {
    let run: CommandRun | null = null;
    let printed: CommandOutput;
    try {
      run = start(command, this.session.name);
      this.running = run;
      printed = await outputOf(run, this.limitMs);
    } catch {
      printed = { text: "", failed: "cannot start" };
    }
    if (this.running !== run) return;
    this.running = null;
    this.printed = printed;
    this.changed();
  }
}

function start(command: string, session: string): CommandRun {
  const value = crypto.randomUUID();
  const child = actingFor(process.env.WSH_AGENT, () =>
    Bun.spawn(["sh", "-c", command], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      detached: true,
      env: { ...process.env, WSH_SESSION: session, [STATUS_MARK]: value },
    }),
  );
  child.unref();
  return { child, mark: `${STATUS_MARK}=${value}` };
}

async function outputOf(run: CommandRun, limitMs: number): Promise<CommandOutput> {
  const { child } = run;
  let why: "late" | "flood" | "rest" | null = null;
  const reader = child.stdout.getReader();
  const stop = (reason: typeof why): void => {
    why ??= reason;
    end(run);
    void reader.cancel().catch(() => {});
  };
  const late = setTimeout(() => stop("late"), limitMs);
  late.unref();
  let rest: Timer | undefined;
  void child.exited.then(() => {
    rest = setTimeout(() => stop("rest"), REST_MS);
  });
  const decoder = new TextDecoder();
  let output = "";
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    bytes += value.length;
    if (output.length < OUTPUT_BYTES) output += decoder.decode(value.subarray(0, OUTPUT_BYTES), { stream: true });
    if (bytes >= OUTPUT_BYTES) stop("flood");
  }
  await child.exited;
  clearTimeout(late);
  clearTimeout(rest);
  const text = (output.split("\n", 1)[0] ?? "").slice(0, COMMAND_CHARS);
  if (why === "late") return { text, failed: `still ran after ${limitMs / 1000} s` };
  if (why === "flood" || child.exitCode === 0) return { text, failed: "" };
  return { text, failed: child.exitCode === null ? String(child.signalCode) : `exit ${child.exitCode}` };
}

function end({ child, mark }: CommandRun): void {
  endMarked(child.pid, [mark], "SIGKILL");
}
