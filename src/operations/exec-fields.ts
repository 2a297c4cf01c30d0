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
import { AnyOfSchema, DEFAULT_WAIT_MS, WaitMsSchema } from "../protocol/conditions.ts";
import { filterFields, OutputModeField } from "../protocol/output-filter.ts";

/** The shown part of a command's output. */
export const shownFields = {
  ...filterFields,
  output: OutputModeField,
  output_limit: v.optional(
    v.pipe(
      OutputLimitSchema,
      v.description(
        `bytes of output per command, at most 1048576 (default ${DEFAULT_OUTPUT_LIMIT}; of one that \`until\` leaves running ` +
          `${READY_OUTPUT_LIMIT}, from its end); past it head and tail are kept`,
      ),
    ),
  ),
};

export const execFields = {
  command: v.optional(v.pipe(v.string(), v.description("shell text to run; may have several lines"))),
  steps: v.optional(
    v.pipe(
      v.array(StepSchema),
      v.minLength(1),
      v.maxLength(MAX_STEPS),
      v.description("several commands, instead of command"),
    ),
  ),
  stop_on_error: v.optional(v.pipe(v.boolean(), v.description("skip the steps after one that failed")), true),
  max_wait_ms: v.optional(
    v.pipe(WaitMsSchema, v.description("longest wait for all steps together, in ms; the commands then keep running")),
    DEFAULT_WAIT_MS,
  ),
  background: v.optional(
    v.pipe(v.boolean(), v.description("answer at once with the command's id, to wait for")),
    false,
  ),
  until: v.optional(
    v.pipe(AnyOfSchema, v.description("background: answer when the first of these holds, or the command ends")),
  ),
  asking_ms: v.optional(
    v.pipe(
      WaitMsSchema,
      v.description("answer, as at the end of the wait, when the command has waited for input for so long, in ms"),
    ),
  ),
  on_timeout: v.optional(v.pipe(OnTimeoutSchema, v.description("action on the command when the wait ends")), "leave"),
  ...shownFields,
};
