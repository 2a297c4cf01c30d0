/** Operations on commands: running them, waiting, reading their output (docs/protocol.md, Commands). */

import * as v from "valibot";
import { requireTypable } from "../keys/input-parser.ts";
import {
  CommandRecordSchema,
  DEFAULT_OUTPUT_LIMIT,
  ExecResultSchema,
  OutputLimitSchema,
  OutputResultSchema,
  RunResultSchema,
  StatusSchema,
  StepResultSchema,
  stepsOf,
} from "../protocol/commands.ts";
import {
  AnyOfSchema,
  decisionFields,
  OutputCursorSchema,
  WaitResultSchema,
  WaitSchema,
} from "../protocol/conditions.ts";
import { RunStepsSchema } from "../protocol/dialog.ts";
import { described, integerFrom, optional } from "../protocol/fields.ts";
import { outputRules } from "../protocol/option-rules.ts";
import { filterFields, LineNumbersField, RangeField } from "../protocol/output-filter.ts";
import { LineSchema, ScreenSchema } from "../protocol/screen.ts";
import { FreePortField } from "../protocol/session.ts";
import { cleanLine } from "../protocol/typed-texts.ts";
import { DEFAULT_IDLE_MS, DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/wait-times.ts";
import { drivesPane, operation, readsPane } from "./define.ts";
import { execFields, shownFields } from "./exec-fields.ts";
import { NothingSchema, TagFilterSchema } from "./sessions.ts";
import { FormatField, TailField } from "./terminal.ts";

export const CommandIdSchema = described(integerFrom(1), "id of a command of the pane");
const RawField = optional(
  v.boolean(),
  "of a command that exec or run started, instead of text: its bytes, as base64; at most 1 MiB",
);
const MaxBytesField = optional(
  OutputLimitSchema,
  "longest output, at most 1048576; past it head and tail remain",
  DEFAULT_OUTPUT_LIMIT,
);

/** Creates a session for the call if it does not exist. */
const creationFields = {
  port: FreePortField,
  create: optional(v.boolean(), "create the session, with a shell, if it does not exist", false),
  cwd: optional(v.string(), "with create: directory of the new session"),
  env: optional(v.record(v.string(), v.string()), "with create: variables of the new session"),
};

/** The result of a background command's wait (`until`). */
const untilFields = v.partial(v.object(decisionFields)).entries;
const ExecOutputSchema = v.object({ ...ExecResultSchema.entries, ...untilFields });

export const commandOperations = [
  operation({
    name: "prompt.offer",
    scope: "pane",
    access: "operate",
    summary: "Put a line at the shell's prompt without running it",
    input: v.object({
      text: described(v.string(), "the line, without Enter"),
      after_command: optional(v.boolean(), "answer at once, and put it there after the running command", false),
    }),
    check: ({ text }) => void cleanLine(text),
    output: v.object({
      state: described(
        v.picklist(["offered", "pending"]),
        "pending: it appears at the next prompt; if that fails within 10 s, viewers are notified",
      ),
      output_cursor: v.number(),
    }),
    errors: ["not_at_prompt", "prompt_not_empty", "no_shell_integration", "session_ended", "input_send_failed"],
    http: [{ method: "POST", path: "/sessions/:name/offer" }],
    ws: ["offer_line"],
  }),
  operation({
    name: "run",
    ...drivesPane,
    lasts: "program",
    types: true,
    showsAnswer: true,
    summary: "Type into the running program and answer when the result is complete",
    input: v.object({
      input: optional(v.string(), "text to type; no newline is added", ""),
      keys: optional(v.array(v.string()), "named keys pressed after the input"),
      submit: optional(v.boolean(), "press Enter afterwards", false),
      timeout_ms: optional(
        WaitMsSchema,
        `silence that ends the wait, even while the program is working (default: ${DEFAULT_IDLE_MS}, once it is idle)`,
      ),
      max_wait_ms: optional(WaitMsSchema, "maximum wait", DEFAULT_WAIT_MS),
      until: optional(
        AnyOfSchema,
        "after the last input: answer when the first of these holds, or the command ends; after max_wait_ms it " +
          "still runs, which is not an error",
      ),
      output_limit: optional(
        OutputLimitSchema,
        "bytes of output, at most 1048576; past it head and tail remain",
        DEFAULT_OUTPUT_LIMIT,
      ),
      since: optional(OutputCursorSchema, "an output_cursor: return all later output, including echo"),
      steps: optional(
        RunStepsSchema,
        "a dialog {expect?: text or condition, input?, keys?, submit?}: each is typed when its expect appears",
      ),
      include: optional(v.pipe(v.array(v.picklist(["output", "screen"])), v.minLength(1)), "contents of the result", [
        "output",
        "screen",
      ]),
      format: FormatField,
      tail: TailField,
      ...creationFields,
    }),
    check: ({ input: data, keys, steps = [] }) => {
      for (const typed of [{ data, keys }, ...steps.map((step) => ({ data: step.input, keys: step.keys }))])
        requireTypable({ ...typed, encoding: "utf8" });
    },
    output: v.object({
      created: v.optional(v.boolean()),
      ...untilFields,
      screen: v.optional(ScreenSchema),
      generation: v.number(),
      decided_by: v.string(),
      ...RunResultSchema.entries,
    }),
    errors: [
      "idle_timeout",
      "expect_not_met",
      "invalid_cursor",
      "session_ended",
      "input_send_failed",
      "payload_too_large",
      "unknown_key",
      "cwd_not_found",
    ],
    http: [{ method: "POST", path: "/sessions/:name/run" }],
    ws: ["run"],
  }),
  operation({
    name: "exec",
    ...drivesPane,
    lasts: "program",
    types: true,
    inScripts: true,
    showsAnswer: true,
    summary: "Run shell commands at the session's prompt; exit code, own output, duration",
    input: v.object({
      ...execFields,
      clear_line: optional(v.boolean(), "discard the text at the prompt instead of refusing", false),
      typed: optional(
        v.picklist(["sh", "fish"]),
        "type at a shell without integration (nested sh, ssh, container) of this syntax",
      ),
      integrate: optional(
        v.picklist(["bash", "zsh", "fish"]),
        "give the nested shell of this kind the integration first: exact and verified",
      ),
      ...creationFields,
    }),
    check: (input) => void stepsOf(input),
    output: v.object({ ...ExecOutputSchema.entries, created: v.optional(v.boolean()) }),
    errors: [
      "not_at_prompt",
      "prompt_not_empty",
      "not_echoed",
      "no_shell_integration",
      "session_ended",
      "payload_too_large",
      "cwd_not_found",
    ],
    http: [{ method: "POST", path: "/sessions/:name/exec" }],
    ws: ["exec"],
  }),
  operation({
    name: "exec.fresh",
    scope: "server",
    access: "operate",
    forAgents: "own",
    lasts: "program",
    makesSessions: true,
    showsAnswer: true,
    summary: "Run shell commands, each in a new session; the exit code is that of the process",
    input: v.object({
      ...execFields,
      mode: optional(
        v.picklist(["sequence", "parallel", "pipeline"]),
        "in sequence; up to 10 at once; or in sequence, each reading the previous command's output on " +
          "its standard output",
        "sequence",
      ),
      show: optional(
        v.boolean(),
        "in panes beside the most recently active person, whose focus stays; parallel, or a single command",
        false,
      ),
      beside: optional(v.string(), "with show: open beside this pane or session"),
      keep: optional(
        v.picklist(["none", "failed", "all"]),
        "with show: panes to keep after their command has ended",
        "none",
      ),
      port: FreePortField,
      cwd: optional(v.string(), "directory to run in"),
      env: optional(v.record(v.string(), v.string()), "environment variables set over the default ones"),
      stdin: optional(v.string(), "text that the command reads as its standard input"),
    }),
    // Parallel commands have no common session.
    output: v.object({ ...ExecOutputSchema.entries, session: v.optional(v.string()) }),
    errors: ["cwd_not_found", "max_sessions_reached", "session_create_failed", "payload_too_large"],
    http: [{ method: "POST", path: "/exec" }],
    ws: ["exec_fresh"],
  }),
  operation({
    name: "process.wait",
    ...drivesPane,
    showsAnswer: true,
    summary: "Wait for the end of the session's own program and read its output",
    input: v.object({
      max_wait_ms: execFields.max_wait_ms,
      asking_ms: execFields.asking_ms,
      on_timeout: execFields.on_timeout,
      until: execFields.until,
      ...shownFields,
      extend: optional(v.boolean(), "keep the ended session longer if the answer omits output", true),
    }),
    output: v.object({ ...StepResultSchema.entries, ...untilFields, warnings: ExecResultSchema.entries.warnings }),
  }),
  operation({
    name: "commands.result",
    ...readsPane,
    isStable: true,
    summary: "The result of one command, as exec returns it to a caller that waits",
    // `stopped`: how the caller stopped it at its deadline.
    input: v.object({
      id: CommandIdSchema,
      stopped: v.optional(v.picklist(["interrupted", "killed"])),
      ...shownFields,
    }),
    output: v.object({ ...StepResultSchema.entries, session: v.string() }),
    errors: ["command_not_found", "invalid_cursor", "regex_too_slow"],
  }),
  operation({
    name: "commands.stop",
    ...drivesPane,
    showsAnswer: true,
    summary: "Interrupt or kill one command if it is still running, and wait briefly for its end",
    input: v.object({ id: CommandIdSchema, how: v.picklist(["interrupt", "kill"]) }),
    // `stopped`: what ended it, or was tried if it still runs; absent: it had ended by itself.
    output: v.object({ ...CommandRecordSchema.entries, stopped: v.optional(v.picklist(["interrupted", "killed"])) }),
    errors: ["command_not_found", "invalid_cursor"],
  }),
  operation({
    name: "wait",
    ...readsPane,
    lasts: "wait",
    inScripts: true,
    summary: "Wait for a condition: a command's end, a prompt, text, silence, exit",
    input: WaitSchema,
    output: WaitResultSchema,
    errors: ["invalid_cursor", "command_not_found", "regex_too_slow", "resource_limit_reached"],
    http: [{ method: "POST", path: "/sessions/:name/wait" }],
    ws: ["wait"],
  }),
  operation({
    name: "wait.any",
    scope: "server",
    access: "observe",
    lasts: "wait",
    summary: "Wait for a condition in any of several sessions",
    input: v.object({
      ...WaitSchema.entries,
      sessions: optional(v.array(v.string()), "names or pane ids"),
      tag: TagFilterSchema,
    }),
    output: WaitResultSchema,
    errors: ["no_sessions", "session_not_found", "invalid_cursor", "regex_too_slow", "resource_limit_reached"],
    http: [{ method: "POST", path: "/wait" }],
    ws: ["wait_any"],
  }),
  operation({
    name: "output.get",
    ...readsPane,
    lasts: "program",
    inScripts: true,
    summary: "Output since a cursor, of a command, or the newest lines",
    input: v.object({
      since: optional(OutputCursorSchema, "an output_cursor: only later output"),
      command_id: v.optional(CommandIdSchema),
      lines: optional(integerFrom(0), "newest lines, not with since (default: 100; with grep or command_id: all)"),
      ...filterFields,
      range: RangeField,
      line_numbers: LineNumbersField,
      raw: RawField,
      max_bytes: MaxBytesField,
      format: optional(v.picklist(["plain", "styled"]), "plain text, or spans with colours", "plain"),
      wait_ms: optional(WaitMsSchema, "with since: wait this long for output", 0),
    }),
    rules: outputRules,
    output: OutputResultSchema,
    errors: ["invalid_cursor", "command_not_found", "invalid_format", "regex_too_slow"],
    http: [{ method: "GET", path: "/sessions/:name/output" }],
    ws: ["get_output"],
  }),
  operation({
    name: "status.get",
    ...readsPane,
    inScripts: true,
    summary: "State of the session's program, and the evidence for it",
    input: NothingSchema,
    output: StatusSchema,
    http: [{ method: "GET", path: "/sessions/:name/status" }],
    ws: ["get_status"],
  }),
  operation({
    name: "commands.list",
    ...readsPane,
    inScripts: true,
    summary: "Commands that ran at the session's prompt, oldest first",
    input: v.object({
      limit: optional(integerFrom(0), "the newest N", 100),
    }),
    output: v.array(CommandRecordSchema),
    http: [{ method: "GET", path: "/sessions/:name/commands" }],
    ws: ["list_commands"],
  }),
  operation({
    name: "commands.get",
    ...readsPane,
    inScripts: true,
    isStable: true,
    summary: "One command's record",
    input: v.object({ id: CommandIdSchema }),
    output: CommandRecordSchema,
    errors: ["command_not_found", "invalid_cursor"],
    http: [{ method: "GET", path: "/sessions/:name/commands/:id" }],
    ws: ["get_command"],
  }),
  operation({
    name: "commands.output",
    ...readsPane,
    isStable: true,
    summary: "Output of one command",
    input: v.object({
      id: CommandIdSchema,
      format: optional(v.picklist(["plain", "styled"]), "plain text, or spans with colours", "plain"),
      ...filterFields,
      range: RangeField,
      line_numbers: LineNumbersField,
      raw: RawField,
      max_bytes: MaxBytesField,
    }),
    output: v.object({ ...OutputResultSchema.entries, lines: v.optional(v.array(LineSchema)) }),
    errors: ["command_not_found", "invalid_cursor", "invalid_format", "regex_too_slow"],
    http: [{ method: "GET", path: "/sessions/:name/commands/:id/output" }],
    ws: ["get_command_output"],
  }),
] as const;
