/**
 * Runs the commands whose first line of output is a segment of the status line: each once for the session,
 * regardless of the number of terminals and segments that show it. A run has a process group of its own, and is
 * killed with all its descendants, daemons included, when it ends, when the line disappears, after its time
 * limit, or after OUTPUT_BYTES of output. A failure is part of the segment, and is reported when its reason
 * changes.
 */
import { basename } from "node:path";
import { errorCode } from "../../base/errno.ts";
import { cleanText } from "../../compositor/graphemes.ts";
import { actingFor } from "../../platform/child-limits.ts";
import { startError } from "../../platform/executable.ts";
import { endMarked, endRemains, statusMark } from "../../platform/marked-processes.ts";

/** Bytes of output after which it is killed; then the characters to keep, with their control sequences. */
const OUTPUT_BYTES = 16 * 1024;
const MAX_TEXT_CHARS = 1_000;
/** Time for the remaining output after the command's end, in ms: background processes may hold the pipe open. */
const REST_MS = 100;
/** Maximum reports of a command's failures in REPORTS_MS: alternating reasons must not fill the log. */
const MAX_REPORTS = 5;
const REPORTS_MS = 60_000;
/** Characters of its name before a failure. */
const LABEL_CHARS = 20;

export interface CommandSpec {
  readonly argv: readonly string[];
  /** Its name for people. */
  readonly label: string;
  readonly seconds: number;
  readonly timeoutMs: number;
}

/** The first line of its output, and how it failed; "": it did not. */
export interface CommandOutput {
  readonly text: string;
  readonly failure: string;
}

export interface CommandPort {
  readonly session: { readonly name: string };
  /** Path of this process's socket: if it is killed, those who find that out end its commands. */
  readonly socket: string;
  /** Called after new output, or when it may run again. */
  changed(): void;
  /** The command fails for another reason than before. */
  failed(label: string, reason: string): void;
}

interface CommandRun {
  readonly child: Bun.Subprocess<"ignore", "pipe", "ignore">;
  /** A mark in its environment, which all its descendants inherit. */
  readonly mark: string;
}

export const noOutput: CommandOutput = { text: "", failure: "" };

/** The name of a command before its failure: its program's, or the first word of a shell's line. */
export function commandLabel(word: string): string {
  const name = cleanText(basename(word.trim().split(/\s/, 1)[0] ?? ""));
  return name === "" ? "command" : [...name].slice(0, LABEL_CHARS).join("");
}

/** All commands of the line. */
export class StatusCommands {
  private readonly commands = new Map<string, StatusCommand>();

  constructor(private readonly port: CommandPort) {}

  /** The last output; runs the command when due. Call while the line is shown. */
  outputOf(spec: CommandSpec): CommandOutput {
    const key = JSON.stringify(spec);
    const command = this.commands.get(key) ?? new StatusCommand(spec, this.port);
    this.commands.set(key, command);
    return command.output;
  }

  /** Ends and forgets all others. */
  retain(specs: readonly CommandSpec[]): void {
    const keys = new Set(specs.map((spec) => JSON.stringify(spec)));
    for (const [key, command] of this.commands) {
      if (keys.has(key)) continue;
      command.stop();
      this.commands.delete(key);
    }
  }

  /** Kills all; they run again when their output is next wanted. */
  stop(): void {
    for (const command of this.commands.values()) command.stop();
  }
}

export class StatusCommand {
  private lastOutput = noOutput;
  /** Start of the last complete run, in ms of performance.now. */
  private lastRunAt = Number.NEGATIVE_INFINITY;
  private currentRun: CommandRun | null = null;
  private timer: Timer | null = null;
  /** Times of the newest reports, in ms of performance.now. */
  private reports: readonly number[] = [];

  constructor(
    private readonly spec: CommandSpec,
    private readonly port: CommandPort,
  ) {}

  /** Its last output; runs it again when due. Call while the line is shown. */
  get output(): CommandOutput {
    if (this.timer !== null || this.currentRun !== null) return this.lastOutput;
    const now = performance.now();
    const period = this.spec.seconds * 1000;
    const isDue = now - this.lastRunAt >= period;
    this.timer = setTimeout(
      () => {
        this.timer = null;
        this.port.changed();
      },
      isDue ? period : this.lastRunAt + period - now,
    );
    if (isDue) void this.runCommand(now);
    return this.lastOutput;
  }

  stop(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    const { currentRun } = this;
    this.currentRun = null;
    if (currentRun !== null) killRun(currentRun);
  }

  private async runCommand(startedAt: number): Promise<void> {
    let run: CommandRun | null = null;
    let printed: CommandOutput;
    try {
      run = startRun(this.spec.argv, this.port);
      this.currentRun = run;
      printed = await readOutput(run, this.spec.timeoutMs);
    } catch (thrown) {
      printed = { text: "", failure: errorCode(thrown) === "ENOENT" ? "not found" : startError(thrown) };
    }
    if (this.currentRun !== run) return;
    this.currentRun = null;
    this.lastRunAt = startedAt;
    const { failure } = this.lastOutput;
    this.lastOutput = printed;
    if (printed.failure !== "" && printed.failure !== failure) this.report(printed.failure);
    this.port.changed();
  }

  private report(reason: string): void {
    const now = performance.now();
    const recent = this.reports.filter((at) => now - at < REPORTS_MS);
    if (recent.length >= MAX_REPORTS) return;
    this.reports = [...recent, now];
    this.port.failed(this.spec.label, reason);
  }
}

function startRun(argv: readonly string[], { session, socket }: Pick<CommandPort, "session" | "socket">): CommandRun {
  const { name, value } = statusMark(socket);
  const child = actingFor(process.env.WSH_AGENT, () =>
    Bun.spawn([...argv], {
      stdin: "ignore",
      stdout: "pipe",
      stderr: "ignore",
      detached: true,
      env: { ...process.env, WSH_SESSION: session.name, [name]: value },
    }),
  );
  child.unref();
  return { child, mark: `${name}=${value}` };
}

async function readOutput(run: CommandRun, limitMs: number): Promise<CommandOutput> {
  const { child } = run;
  let stopReason: "late" | "flood" | "rest" | null = null;
  const reader = child.stdout.getReader();
  const stop = (reason: typeof stopReason): void => {
    stopReason ??= reason;
    killRun(run);
    void reader.cancel().catch(() => {});
  };
  const timeout = setTimeout(() => stop("late"), limitMs);
  timeout.unref();
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
  clearTimeout(timeout);
  clearTimeout(rest);
  // What it has left in the background would pile up with every run.
  if (stopReason === null) endRemains(child.pid, run.mark);
  const text = (output.split("\n", 1)[0] ?? "").slice(0, MAX_TEXT_CHARS);
  if (stopReason === "late") return { text, failure: `still ran after ${limitMs / 1000} s` };
  if (stopReason === "flood") return { text, failure: `printed over ${OUTPUT_BYTES / 1024} kB` };
  if (child.exitCode === 0) return { text, failure: "" };
  return { text, failure: child.exitCode === null ? String(child.signalCode) : `exit ${child.exitCode}` };
}

function killRun({ child, mark }: CommandRun): void {
  endMarked(child.pid, [mark], "SIGKILL");
}
