/**
 * Commands in the form of every transport: the command line at a shell's prompt, its end, and its output. An unknown
 * value is null, never a guess: an exit code is given only when the shell or the kernel reported it.
 */
import * as v from "valibot";
import { WshError } from "./errors.ts";
import { described, optional } from "./fields.ts";
import { stepFilterFields } from "./output-filter.ts";
import { LineSchema } from "./screen.ts";
import { SessionStateSchema } from "./session.ts";

/** Default bytes of rendered output in a result. */
export const DEFAULT_OUTPUT_LIMIT = 32_768;
/** The same for a server that is ready: its caller mainly wants to know that, and can read the rest. */
export const READY_OUTPUT_LIMIT = 256;
/** Largest output of a result, in bytes: the maximum stored in one record. */
export const MAX_OUTPUT_LIMIT = 1_048_576;
export const MAX_STEPS = 100;
/** Maximum commands that one exec runs in parallel. */
export const MAX_PARALLEL = 10;
/** Longest command in UTF-8 bytes (docs/protocol.md, Limits). */
const MAX_COMMAND_BYTES = 1_048_576;

/**
 * Variables of terminals that are created for a command, unless the caller overrides them: nobody is there to
 * scroll a pager.
 */
export const NO_PAGERS = { PAGER: "cat", GIT_PAGER: "cat", SYSTEMD_PAGER: "cat", MANPAGER: "cat" } as const;

/** State of a command. `lost`: its end was not seen and will not be. `replaced`: another program replaced the shell. */
const CommandStateSchema = v.picklist(["running", "finished", "lost", "replaced"]);
export type CommandState = v.InferOutput<typeof CommandStateSchema>;

export const CommandRecordSchema = v.object({
  /** The command's number in its session, from 1. */
  id: v.number(),
  /** The command's text; null when it could not be known. */
  command: v.nullable(v.string()),
  cwd: v.nullable(v.string()),
  state: CommandStateSchema,
  /** Unix time in milliseconds. */
  started_at: v.number(),
  ended_at: v.nullable(v.number()),
  duration_ms: v.nullable(v.number()),
  exit_code: v.nullable(v.number()),
  /** The signal that ended it, such as SIGINT. */
  signal: v.nullable(v.string()),
  /** Whether the shell reported all of it in time by marks with the session's nonce, which forged marks lack. */
  verified: v.boolean(),
  /** The command that exec sent, if `command` is a different one that ran instead. */
  sent: v.optional(v.string()),
  /** Output cursors of its first byte and of the byte after its last. */
  output_start: v.number(),
  output_end: v.nullable(v.number()),
  /** Logical lines of its output: the first, and the last (null while it runs). */
  first_line_id: v.number(),
  last_line_id: v.nullable(v.number()),
  output_lines: v.number(),
  /** Reasons why its output may be incomplete. */
  warnings: v.optional(v.array(v.string())),
});
export type CommandRecord = v.InferOutput<typeof CommandRecordSchema>;

/** How one step of an exec ended. */
export const ExecStateSchema = v.picklist([
  "finished",
  "running",
  "interrupted",
  "killed",
  "skipped",
  "lost",
  "replaced",
]);
export type ExecState = v.InferOutput<typeof ExecStateSchema>;

/** Fields that come first in an answer that did not cover everything requested. */
const IncompleteFields = {
  /** Some of the requested output is no longer stored. */
  incomplete: v.optional(v.literal(true)),
  /** The lines that were available, such as `45161–60000 of 60000`. */
  searched: v.optional(v.string()),
  /** Why the others are unavailable. */
  reason: v.optional(v.string()),
};

export const StepResultSchema = v.object({
  ...IncompleteFields,
  name: v.optional(v.string()),
  /** The session of a step that ran in a session of its own. */
  session: v.optional(v.string()),
  /** The pane of a step that ran in a pane. */
  pane: v.optional(v.string()),
  state: ExecStateSchema,
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
  output: v.string(),
  /** Lines omitted between the head and the tail of the output. */
  omitted_lines: v.number(),
  /** With a pattern: the number of matching lines, displayed or not. */
  matches: v.optional(v.number()),
  /** Number of lines of the whole output, if not all are displayed. */
  total_lines: v.optional(v.number()),
  /** Time until which the session of an ended command can be read, in ISO format. */
  readable_until: v.optional(v.string()),
  duration_ms: v.nullable(v.number()),
  cwd: v.nullable(v.string()),
  command_id: v.nullable(v.number()),
  output_cursor: v.number(),
  /** The input for which a running command waits; prompt: it is a shell with a prompt of its own. */
  waits_for: v.optional(v.picklist(["waiting_for_input", "password", "fullscreen", "prompt"])),
  warnings: v.optional(v.array(v.string())),
  /** False when the record is not verified, or when another command may have run than the one sent. */
  verified: v.optional(v.boolean()),
  /** Whether the command was typed at a shell without integration: the typed line itself reports its end. */
  typed: v.optional(v.boolean()),
  /** The command that ran instead of the one sent: the exit code belongs to it. */
  ran: v.optional(v.string()),
});
export type StepResult = v.InferOutput<typeof StepResultSchema>;

/** One command's fields are at the top level; several are in `steps`, beside the last one's cursor. */
export const ExecResultSchema = v.object({
  session: v.string(),
  ...v.partial(v.omit(StepResultSchema, ["name", "session"])).entries,
  steps: v.optional(v.array(StepResultSchema)),
  /** With port: the one that the new session has, in PORT. */
  free_port: optional(v.number(), "the port on lease of a session that was made for it"),
  warnings: v.optional(v.array(v.string())),
});
export type ExecResult = v.InferOutput<typeof ExecResultSchema>;

/** Whether the result contains less than the command's whole output. */
export function isPartial({
  omitted_lines,
  total_lines = 0,
}: Pick<StepResult, "omitted_lines" | "total_lines">): boolean {
  return omitted_lines > 0 || total_lines > 0;
}

export const StepSchema = v.object({
  command: described(v.string(), "shell text; may have several lines"),
  name: optional(v.pipe(v.string(), v.maxLength(64)), "name of this step in the result"),
  ...stepFilterFields,
});
export type Step = v.InferOutput<typeof StepSchema>;

/**
 * Returns the commands of an exec. Checks each before any of them runs.
 * @throws WshError invalid_request (none or both given, empty, a NUL character), payload_too_large
 */
export function stepsOf(input: {
  readonly command?: string | undefined;
  readonly steps?: readonly Step[] | undefined;
}): readonly Step[] {
  const { command, steps } = input;
  if (command !== undefined && steps === undefined) {
    checkCommand(command, "command");
    return [{ command }];
  }
  if (command !== undefined || steps === undefined) {
    throw new WshError("invalid_request", "give either 'command' or 'steps'");
  }
  for (const [n, step] of steps.entries()) checkCommand(step.command, `steps.${n}.command`);
  return steps;
}

function checkCommand(command: string, field: string): void {
  if (command.trim() === "") throw new WshError("invalid_request", `'${field}' is empty`);
  if (command.includes("\0")) throw new WshError("invalid_request", `'${field}' holds a NUL character`);
  const bytes = new TextEncoder().encode(command).length;
  if (bytes <= MAX_COMMAND_BYTES) return;
  throw new WshError("payload_too_large", `'${field}' has ${bytes} bytes; ${MAX_COMMAND_BYTES} are allowed`);
}

export const OutputLimitSchema = v.pipe(
  v.number(),
  v.integer(),
  v.minValue(0),
  v.maxValue(MAX_OUTPUT_LIMIT, `at most ${MAX_OUTPUT_LIMIT} bytes (1 MiB), the most that one answer has`),
);

export const OnTimeoutSchema = v.picklist(["leave", "interrupt", "kill"]);
export type OnTimeout = v.InferOutput<typeof OnTimeoutSchema>;

export const OutputResultSchema = v.object({
  ...IncompleteFields,
  base64: optional(v.string(), "with raw: exactly what the command wrote"),
  text: v.optional(v.string()),
  /** Lines that replace the text in styled output. */
  lines: v.optional(v.array(LineSchema)),
  output_cursor: v.number(),
  omitted_bytes: v.number(),
  omitted_lines: v.optional(v.number()),
  /** Number of matching lines, displayed or not. */
  matches: v.optional(v.number()),
  /** Lines of the whole output. */
  total_lines: v.optional(v.number()),
  first_line_id: v.optional(v.nullable(v.number())),
  exit_code: v.optional(v.nullable(v.number())),
  /** Whether the alternate screen is shown: the newest lines are its rows, which do not count as output. */
  alternate_screen: v.optional(v.boolean()),
  /** For a command: reasons why its output may be incomplete. */
  warnings: v.optional(v.array(v.string())),
});
export type OutputResult = v.InferOutput<typeof OutputResultSchema>;

/** Source of a statement about the program: the kernel, the terminal's flags and silence, or shell marks. */
const DecidedFromSchema = v.picklist(["kernel", "flags", "marks", "process"]);
export type DecidedFrom = v.InferOutput<typeof DecidedFromSchema>;

const ForegroundSchema = v.object({
  pid: v.number(),
  name: v.string(),
  command_line: v.string(),
});

const ShellIntegrationSchema = v.object({
  active: v.boolean(),
  shell: v.nullable(v.string()),
  /** Why the value is missing. */
  reason: v.optional(v.string()),
});

export const StatusSchema = v.object({
  alive: v.boolean(),
  state: SessionStateSchema,
  /** Explanation of the state for people. */
  why: v.string(),
  decided_from: DecidedFromSchema,
  /**
   * Whether the program contains a terminal of its own (script, ssh, tmux); `why` explains how its state is determined.
   */
  relay: v.boolean(),
  foreground: v.nullable(ForegroundSchema),
  cwd: v.nullable(v.string()),
  title: v.string(),
  idle_ms: v.number(),
  last_command: v.nullable(CommandRecordSchema),
  /** A person at an attached terminal has typed in the last few seconds. */
  human_typing: v.boolean(),
  modes: v.record(v.string(), v.boolean()),
  /** Modes that make the terminal show text incorrectly although no full-screen program uses them; absent: none. */
  disorder: v.optional(v.array(v.string())),
  shell_integration: ShellIntegrationSchema,
  output_cursor: v.number(),
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
});
export type Status = v.InferOutput<typeof StatusSchema>;

export const RunResultSchema = v.object({
  state: SessionStateSchema,
  /** Rendered output after the input, without its echo and without the prompts around it. Absent unless included. */
  output: v.optional(v.string()),
  /** Lines omitted between the head and the tail of the output. */
  omitted_lines: v.optional(v.number()),
  /** The line before the cursor of a program that waits for input; absent: there is none, or it is a shell's prompt. */
  prompt: v.optional(v.string()),
  /** The cursor at which the output begins. */
  since: v.number(),
  output_cursor: v.number(),
  exit_code: v.optional(v.nullable(v.number())),
  signal: v.optional(v.nullable(v.string())),
  duration_ms: v.optional(v.nullable(v.number())),
  cwd: v.optional(v.nullable(v.string())),
  command_id: v.optional(v.number()),
  /** All commands that ended in the call, oldest first, if there are several. */
  commands: v.optional(
    v.array(
      v.object({
        command_id: v.number(),
        command: v.nullable(v.string()),
        exit_code: v.nullable(v.number()),
        signal: v.optional(v.string()),
      }),
    ),
  ),
  warnings: v.optional(v.array(v.string())),
});
export type RunResult = v.InferOutput<typeof RunResultSchema>;
