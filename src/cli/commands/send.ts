/** `wsh send`: types into a session, from arguments or from standard input. */
import type { Command } from "commander";
import { UsageError } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, printJson } from "../print.ts";
import { SessionClient } from "../session/client.ts";

interface SendOptions {
  readonly keys?: readonly string[];
  readonly enter?: boolean;
  readonly submit?: boolean;
  readonly paste?: boolean;
  readonly base64?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("send <name> [text...]")
    .description(
      "Type text into a session unchanged, words joined by spaces; '-' types standard input.\n" +
        "No newline is added; --enter presses Enter afterwards.",
    )
    .option("--keys <key...>", "press keys after the text: Ctrl+C Up F5 Alt+x")
    .option("--enter", "press Enter at the end")
    .option("--submit", "same as --enter")
    .option("--paste", "send the text as a paste if the program supports it")
    .option("--base64", "the text is base64 of the bytes to type")
    .option("--json", "print what was sent as JSON")
    .action(async (name: string, words: string[], options: SendOptions, command: Command) => {
      const instance = instanceOf(command);
      const submit = options.enter === true || options.submit === true;
      if (words.length === 0 && options.keys === undefined && !submit) {
        throw new UsageError("nothing to type", "Give text, --keys or --enter; '-' types standard input.");
      }
      const given = await typed(words, options.base64 === true);
      using session = await SessionClient.open(instance, name);
      const result = await session.call("input.send", {
        ...given,
        ...(options.keys === undefined ? {} : { keys: [...options.keys] }),
        submit,
        paste: options.paste === true,
      });
      for (const warning of result.warnings ?? []) complain(warning);
      if (options.json === true) await printJson(result);
    });
}

type InputData = { data?: string; encoding?: "utf8" | "base64" };

/** Standard input may hold any bytes, so they are sent as base64. */
async function typed(words: readonly string[], isBase64: boolean): Promise<InputData> {
  if (words.length === 1 && words[0] === "-") {
    if (isBase64) return { data: (await Bun.stdin.text()).replace(/\s+/g, ""), encoding: "base64" };
    return { data: (await Bun.stdin.bytes()).toBase64(), encoding: "base64" };
  }
  if (words.length === 0) return {};
  return { data: words.join(" "), encoding: isBase64 ? "base64" : "utf8" };
}
