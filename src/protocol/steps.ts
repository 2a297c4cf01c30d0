/** Steps of an exec, as far as no schema is needed. */
import type { StepResult } from "./commands.ts";
import { defined } from "./defined.ts";

/** Most bytes that a step of a pipeline passes on to the next: what one file may take of a disk. */
export const MAX_PIPED_BYTES = 1_073_741_824;

/** The result of a step that was not run. @param output_cursor where the step before it ended */
export function skippedStep({ name }: Pick<StepResult, "name">, output_cursor: number) {
  return {
    ...defined({ name }),
    state: "skipped",
    exit_code: null,
    signal: null,
    output: "",
    omitted_lines: 0,
    duration_ms: null,
    cwd: null,
    command_id: null,
    output_cursor,
  } as const satisfies StepResult;
}
