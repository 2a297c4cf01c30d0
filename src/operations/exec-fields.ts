/** Parameters shared by all ways to run commands. */
import * as v from "valibot";
import {
  DEFAULT_OUTPUT_LIMIT,
  MAX_STEPS,
  OnTimeoutSchema,
  OutputLimitSchema,
  READY_OUTPUT_LIMIT,
  StepSchema,
} from "../protocol/commands.ts";
import { AnyOfSchema } from "../protocol/conditions.ts";
import { optional } from "../protocol/fields.ts";
import { filterFields, OutputModeField } from "../protocol/output-filter.ts";
import { DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/wait-times.ts";

/** Fields that select the shown part of a command's output. */
export const shownFields = {
  ...filterFields,
  output: OutputModeField,
  output_limit: optional(
    OutputLimitSchema,
    `bytes of output per command, at most 1048576 (default ${DEFAULT_OUTPUT_LIMIT}; for a command that \`until\` leaves ` +
      `running, its last ${READY_OUTPUT_LIMIT}); past it head and tail remain`,
  ),
};

export const execFields = {
  command: optional(v.string(), "shell text to run; may have several lines"),
  steps: optional(
    v.pipe(v.array(StepSchema), v.minLength(1), v.maxLength(MAX_STEPS)),
    "several commands, instead of command",
  ),
  stop_on_error: optional(v.boolean(), "skip the remaining steps after a failure", true),
  max_wait_ms: optional(
    WaitMsSchema,
    "longest wait for all steps together, in ms; the commands then keep running",
    DEFAULT_WAIT_MS,
  ),
  background: optional(v.boolean(), "answer at once with the command's id, to wait for", false),
  until: optional(AnyOfSchema, "background: answer when the first of these holds, or the command ends"),
  asking_ms: optional(
    WaitMsSchema,
    "answer, as at the end of the wait, when the command has waited this long for input, in ms",
  ),
  on_timeout: optional(OnTimeoutSchema, "action on the command when the wait ends", "leave"),
  ...shownFields,
};
