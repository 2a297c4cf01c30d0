/** The parts of an exec's steps that need no schema. */
import type { StepResult } from "./commands.ts";
import { defined } from "./defined.ts";

/** Maximum bytes that a step of a pipeline passes to the next: the limit of one file on a disk. */
export const MAX_PIPED_BYTES = 1_073_741_824;

/** The result of a step that was not run. @param output_cursor cursor at the end of the previous step */
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
