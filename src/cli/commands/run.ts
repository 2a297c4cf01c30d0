/** `wsh run`: types a line and prints its result, when that has an end. */
import type { Command } from "commander";
import * as v from "valibot";
import { codeOf } from "../../attach/outcome.ts";
import { WshError } from "../../protocol/errors.ts";
import { seconds } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, printRendered } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { UNKNOWN } from "../session/exec-answers.ts";

interface RunOptions {
  readonly keys?: readonly string[];
  readonly enter: boolean;
  readonly idle?: number;
  readonly timeout?: number;
  readonly exitCode?: boolean;
  readonly json?: boolean;
}

const EndSchema = v.object({
  exit_code: v.optional(v.nullable(v.number())),
  signal: v.optional(v.nullable(v.string())),
});

/** The result so far in a timeout's error. */
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
    .option("--timeout <seconds>", "give up waiting after this", seconds)
    .option("--exit-code", "exit with the code of the shell command that ended; 125: none, or unknown")
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, words: string[], options: RunOptions, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const call = session.call("run", {
        input: words.join(" "),
        submit: options.keys === undefined && options.enter,
        format: "plain",
        ...(options.keys === undefined ? {} : { keys: [...options.keys] }),
        ...(options.idle === undefined ? {} : { timeout_ms: options.idle }),
        ...(options.timeout === undefined ? {} : { max_wait_ms: options.timeout }),
      });
      let late: WshError | null = null;
      const result = await call.catch((error: unknown) => {
        if (!(error instanceof WshError) || error.code !== "idle_timeout") throw error;
        late = error;
        const { hint, ...soFar } = error.details;
        return v.parse(SoFarSchema, soFar);
      });
      for (const warning of result.warnings ?? []) complain(warning);
      if (options.json === true) await printJson(result);
      else await printRendered(textOf(result));
      // Output printed so far, then the error.
      if (late !== null) throw late;
      if (options.exitCode === true) process.exitCode = codeOfRun(result);
    });
}

function textOf({ output = "", prompt = "" }: v.InferInput<typeof SoFarSchema>): string {
  const lines = output === "" || output.endsWith("\n") ? output : `${output}\n`;
  return prompt === "" ? lines : `${lines}${prompt}\n`;
}

function codeOfRun(result: object): number {
  const { exit_code = null, signal = null } = v.parse(EndSchema, result);
  return exit_code === null && signal === null ? UNKNOWN : codeOf(exit_code, signal);
}
