/** `wsh wait`: waits for a condition and says which one held. */
import type { Command } from "commander";
import { type ConditionInput, simpleConditions } from "../../protocol/conditions.ts";
import { seconds, UsageError, wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson } from "../print.ts";
import { SessionClient } from "../session/client.ts";

/** Exit code when the time ran out first, as in timeout(1). */
const TIMED_OUT = 124;

interface WaitOptions {
  readonly text?: string;
  readonly regex?: string;
  readonly idle?: number;
  readonly commandId?: number;
  readonly since?: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("wait <name> [condition...]")
    .description(
      `Wait until one of the conditions holds and print which: ${simpleConditions.join(", ")}, ` +
        "or the options below. Without any: prompt, waiting_for_input, password or exited.\n" +
        `Exit code ${TIMED_OUT} when the time is over first.`,
    )
    .option("--text <text>", "until the session prints this text")
    .option("--regex <pattern>", "until it prints what matches (RE2 syntax)")
    .option("--idle <seconds>", "until the session has been silent for this long", seconds)
    .option("--command-id <id>", "with command_finished: that command", wholeNumber(1))
    .option("--since <cursor>", "count what came after this output cursor (default: now)", wholeNumber(0))
    .option("--timeout <seconds>", "longest wait (default: 30, at most 300)", seconds)
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, names: string[], options: WaitOptions, command: Command) => {
      const conditions = conditionsOf(names, options);
      using session = await SessionClient.open(instanceOf(command), name);
      const result = await session.call("wait", {
        any_of: conditions,
        ...(options.commandId === undefined ? {} : { command_id: options.commandId }),
        ...(options.since === undefined ? {} : { since: options.since }),
        ...(options.timeout === undefined ? {} : { max_wait_ms: options.timeout }),
      });
      if (result.decided_by === "timeout") process.exitCode = TIMED_OUT;
      return options.json === true ? printJson(result) : print(`${result.decided_by}\n`);
    });
}

/** @throws UsageError */
function conditionsOf(names: readonly string[], { text, regex, idle, commandId }: WaitOptions): ConditionInput[] {
  const named = names.map((name) => {
    const known = simpleConditions.find((condition) => condition === name);
    if (known === undefined) {
      throw new UsageError(`'${name}' is not a condition`, `Conditions are ${simpleConditions.join(", ")}.`);
    }
    return known;
  });
  const conditions: ConditionInput[] = [
    ...named,
    ...(text === undefined ? [] : [{ type: "text", text } as const]),
    ...(regex === undefined ? [] : [{ type: "regex", pattern: regex } as const]),
    ...(idle === undefined ? [] : [{ type: "idle", ms: idle } as const]),
  ];
  if (conditions.length > 0) return conditions;
  return commandId === undefined ? ["prompt", "waiting_for_input", "password", "exited"] : ["command_finished"];
}
