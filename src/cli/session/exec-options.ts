/** The options of `wsh exec` as given. Types only. */
import type { StepResult } from "../../protocol/commands.ts";
import type { ConditionInput } from "../../protocol/conditions.ts";
import type { FilterOptions } from "./filtered-output.ts";
import type { CreationOptions } from "./open-or-create.ts";

/** The result of a step, as JSON. */
export type PipelineStep = Omit<StepResult, "name">;

export interface ExecOptions extends FilterOptions {
  readonly port?: "free";
  /** Whether the output is printed at the end, filtered. */
  readonly isFiltered?: boolean;
  readonly timeout?: number;
  readonly onTimeout: "leave" | "interrupt" | "kill";
  readonly background?: boolean;
  readonly until?: readonly ConditionInput[];
  readonly create?: boolean;
  readonly typed?: "sh" | "fish";
  readonly integrate?: "bash" | "zsh" | "fish";
  readonly clearLine?: boolean;
  /** Id of a command, or of a request whose outcome is unknown. */
  readonly resume?: string;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly stdin?: boolean;
  /** Path of the command's standard input, if this process does not read it. */
  readonly stdinPath?: string | undefined;
  /** Path for the command's standard output, instead of its terminal. */
  readonly stdoutPath?: string | undefined;
  readonly pipeline?: boolean;
  readonly show?: boolean;
  readonly keep?: "none" | "failed" | "all";
  readonly json?: boolean;
  /** Receives the result in place of standard output. */
  readonly report?: (result: PipelineStep) => void;
  readonly place?: CreationOptions;
}
