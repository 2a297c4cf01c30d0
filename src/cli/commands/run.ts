/** `wsh run`: types a line and prints its result, when that has an end. */
import type { Command } from "commander";
import { seconds } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson, printRendered } from "../print.ts";
import { SessionClient } from "../session/client.ts";

interface RunOptions {
  readonly keys?: readonly string[];
  readonly idle?: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("run <name> [text...]")
    .description(
      "Type a line into the program that runs, press Enter, wait until what it starts has ended or waits for input, " +
        "and print the new output. At a shell's prompt 'wsh exec' is more exact.",
    )
    .option("--keys <key...>", "press keys after the text, and no Enter")
    .option("--idle <seconds>", "silence that counts as the end where nothing else tells", seconds)
    .option("--timeout <seconds>", "give up waiting after this", seconds)
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, words: string[], options: RunOptions, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const result = await session.call("run", {
        input: words.join(" "),
        submit: options.keys === undefined,
        format: "plain",
        ...(options.keys === undefined ? {} : { keys: [...options.keys] }),
        ...(options.idle === undefined ? {} : { timeout_ms: options.idle }),
        ...(options.timeout === undefined ? {} : { max_wait_ms: options.timeout }),
      });
      for (const warning of result.warnings ?? []) complain(warning);
      if (options.json === true) return printJson(result);
      const { output = "", prompt = "" } = result;
      const lines = output === "" || output.endsWith("\n") ? output : `${output}\n`;
      return printRendered(prompt === "" ? lines : `${lines}${prompt}\n`);
    });
}
