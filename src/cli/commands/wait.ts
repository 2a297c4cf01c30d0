/** `wsh wait`: waits for conditions and reports the first that holds. */
import type { Command } from "commander";
import { type AgentState, agentStates } from "../../protocol/agent.ts";
import { simpleConditions, type WaitConditionInput } from "../../protocol/conditions.ts";
import { defined } from "../../protocol/defined.ts";
import { requireOptions, seconds, wholeNumber } from "../arguments.ts";
import { agentState, conditionOf } from "../conditions.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson } from "../print.ts";
import { exitCodeOf, printAnswer } from "../session/ask-result.ts";
import { SessionClient } from "../session/client.ts";

/** Exit code on timeout, as in timeout(1). */
const TIMED_OUT = 124;
/** Exit code when the condition can never hold, or cannot be known. */
const NEVER = 1;

interface WaitOptions {
  readonly text?: string;
  readonly regex?: string;
  readonly idle?: number;
  readonly agent?: AgentState;
  readonly port?: number;
  readonly anyOwner?: boolean;
  readonly answer?: string;
  readonly commandId?: number;
  readonly since?: number;
  readonly timeout?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("wait <name> [condition...]")
    .description(
      `Wait until one of the conditions holds and print it: ${simpleConditions.join(", ")}, ` +
        "or the options below. Without any: prompt, waiting_for_input, password or exited.\n" +
        `Exit code ${TIMED_OUT} on timeout, ${NEVER} if another process holds the port.`,
    )
    .option("--text <text>", "until the session prints this text")
    .option("--regex <pattern>", "until it prints a match (RE2 syntax)")
    .option("--idle <seconds>", "until the session has been silent for this long", seconds)
    .option("--agent <state>", `until its AI agent is ${agentStates.join(", ")}`, agentState)
    .option(
      "--port <port>",
      "until a process of the command, or of the session, listens on this TCP port",
      wholeNumber(1),
    )
    .option("--any-owner", "with --port: accept any listener, such as docker")
    .option("--answer <ask-id>", "until that question is answered or closed")
    .option("--command-id <id>", "with command_finished and --port: this command", wholeNumber(1))
    .option("--since <cursor>", "count output after this cursor (default: now)", wholeNumber(0))
    .option("--timeout <seconds>", "longest wait (default: 30, at most 300)", seconds)
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, names: string[], options: WaitOptions, command: Command) => {
      const conditions = conditionsOf(names, options);
      using session = await SessionClient.open(instanceOf(command), name);
      const result = await session.call("wait", {
        any_of: conditions,
        ...defined({ command_id: options.commandId, since: options.since, max_wait_ms: options.timeout }),
      });
      if (result.decided_by === "timeout") process.exitCode = TIMED_OUT;
      if (result.decided_by === "port_in_use" || result.decided_by === "unsupported") process.exitCode = NEVER;
      if (result.reason !== undefined) complain(result.reason);
      for (const warning of [...(result.warnings ?? []), ...(result.command?.warnings ?? [])]) complain(warning);
      if (result.ask !== undefined && options.json !== true) return printAnswer(result.ask);
      if (result.ask !== undefined) process.exitCode = exitCodeOf(result.ask);
      return options.json === true ? printJson(result) : print(`${result.decided_by}\n`);
    });
}

/** @throws UsageError */
function conditionsOf(words: readonly string[], options: WaitOptions): WaitConditionInput[] {
  const { answer, text, regex, idle, agent, port, anyOwner, commandId } = options;
  requireOptions([{ option: "anyOwner", needs: "port" }], options);
  const conditions: WaitConditionInput[] = [
    ...(answer === undefined ? [] : [{ type: "answer", ask_id: answer } as const]),
    ...words.map(conditionOf),
    ...(text === undefined ? [] : [{ type: "text", text } as const]),
    ...(regex === undefined ? [] : [{ type: "regex", pattern: regex } as const]),
    ...(idle === undefined ? [] : [{ type: "idle", ms: idle } as const]),
    ...(agent === undefined ? [] : [{ type: "agent", state: agent } as const]),
    ...(port === undefined ? [] : [{ type: "port", port, any_owner: anyOwner ?? false } as const]),
  ];
  if (conditions.length > 0) return conditions;
  return commandId === undefined ? ["prompt", "waiting_for_input", "password", "exited"] : ["command_finished"];
}
