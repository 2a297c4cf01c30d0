/** `wsh run`: types a line and prints its result, if the result has an end. */
import type { Command } from "commander";
import * as v from "valibot";
import { exitCode } from "../../attach/outcome.ts";
import type { ConditionInput } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { seconds } from "../arguments.ts";
import { collectCondition } from "../conditions.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, printRendered } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { TIMED_OUT, UNKNOWN } from "../session/exec-end.ts";

interface RunOptions {
  readonly keys?: readonly string[];
  readonly enter: boolean;
  readonly idle?: number;
  readonly until?: readonly ConditionInput[];
  readonly timeout?: number;
  readonly exitCode?: boolean;
  readonly json?: boolean;
}

const EndSchema = v.object({
  exit_code: v.optional(v.nullable(v.number())),
  signal: v.optional(v.nullable(v.string())),
  decided_by: v.optional(v.string()),
});

/** The result so far, in the error of a timeout. */
const SoFarSchema = v.looseObject({
  output: v.optional(v.string()),
  prompt: v.optional(v.string()),
  warnings: v.optional(v.array(v.string())),
});

export function register(program: Command): void {
  program
    .command("run <name> [text...]")
    .description(
      "Type a line into the running program, press Enter, wait until its result is complete or it waits for input, " +
        "and print the new output. At a shell's prompt, 'wsh exec' is more exact.",
    )
    .option("--keys <key...>", "press keys after the text, without Enter")
    .option("--no-enter", "type the text alone")
    .option("--idle <seconds>", "quiet time that counts as the end, without better evidence", seconds)
    .option("--until <condition>", "wait until text=ready, port=3000, …, or the command's end", collectCondition)
    .option("--timeout <seconds>", "give up waiting after this", seconds)
    .option("--exit-code", `exit with the command's code; ${TIMED_OUT}: time-out; ${UNKNOWN}: none, or unknown`)
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, words: string[], options: RunOptions, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const call = session.call("run", {
        input: words.join(" "),
        submit: options.keys === undefined && options.enter,
        format: "plain",
        ...(options.keys === undefined ? {} : { keys: [...options.keys] }),
        ...defined({ timeout_ms: options.idle }),
        ...(options.until === undefined ? {} : { until: [...options.until] }),
        ...defined({ max_wait_ms: options.timeout }),
      });
      let timeoutError: WshError | null = null;
      const result = await call.catch((error: unknown) => {
        if (!(error instanceof WshError) || error.code !== "idle_timeout") throw error;
        timeoutError = error;
        const { hint, ...soFar } = error.details;
        return v.parse(SoFarSchema, soFar);
      });
      for (const warning of result.warnings ?? []) complain(warning);
      if (options.json === true) await printJson(result);
      else await printRendered(textOf(result));
      if (options.exitCode === true) process.exitCode = codeOfRun(result);
      // Prints the output so far, then the error.
      if (timeoutError !== null && options.exitCode !== true) throw timeoutError;
    });
}

function textOf({ output = "", prompt = "" }: v.InferInput<typeof SoFarSchema>): string {
  const lines = output === "" || output.endsWith("\n") ? output : `${output}\n`;
  return prompt === "" ? lines : `${lines}${prompt}\n`;
}

function codeOfRun(result: object): number {
  const { exit_code = null, signal = null, decided_by } = v.parse(EndSchema, result);
  if (decided_by === "timeout") return TIMED_OUT;
  return exit_code === null && signal === null ? UNKNOWN : exitCode(exit_code, signal);
}
