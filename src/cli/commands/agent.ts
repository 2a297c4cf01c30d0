/** `wsh agent`: starts an AI agent in a session, and gives one prompts that it provably took. */
import type { Command } from "commander";
import type { PromptResult } from "../../operations/agents.ts";
import { WshError } from "../../protocol/errors.ts";
import { visibleRendered } from "../../protocol/harmless-text.ts";
import { checkSessionName } from "../../protocol/names.ts";
import { shellText } from "../../shell/quoting.ts";
import { collect, seconds, UsageError, variables } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { startSession } from "../session/start.ts";
import { splitAtDashes } from "../shell-words.ts";
import { parseSize } from "./resize.ts";

/** Exit codes besides those of every command. */
const NOT_DELIVERED = 3;
const STILL_WORKING = 124;
/** Longest wait for an agent that starts, in ms. */
const START_MS = 60_000;
/** Default of --timeout, in ms: turns take minutes. */
const TURN_MS = 600_000;

interface StartOptions {
  readonly agent: string;
  readonly cwd?: string;
  readonly env?: readonly string[];
  readonly tag?: readonly string[];
  readonly size?: string;
  readonly json?: boolean;
}

interface PromptOptions {
  readonly wait?: boolean;
  readonly timeout?: number;
  readonly command?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  const agent = program.command("agent").description("Start an AI agent in a session and send it prompts.");
  agent
    .command("start <words...>")
    .usage("NAME --agent PROGRAM [options] [-- ARGUMENTS…]")
    .description("Start a session that runs an agent, wait until it is ready for a prompt, and print its state.")
    .requiredOption("--agent <program>", "agent program: claude, codex, gemini, …")
    .option("--cwd <dir>", "directory to start in (default: this one)")
    .option("--env <name=value>", "set an environment variable (repeatable)", collect)
    .option("--tag <tag>", "label the session (repeatable)", collect)
    .option("--size <colsxrows>", "size of its terminal (default: 120x40)")
    .option("--json", "print session and agent as JSON")
    .action(async (words: string[], options: StartOptions, command: Command) => {
      const { before, after } = splitAtDashes(words, process.argv);
      const [name, unexpected] = before;
      if (name === undefined || unexpected !== undefined)
        throw new UsageError(name === undefined ? "the session's name is missing" : `unexpected '${unexpected}'`);
      if (Bun.which(options.agent) === null) throw new UsageError(`'${options.agent}' is not on PATH`);
      const instance = instanceOf(command);
      const { info } = await startSession(
        instance,
        {
          name: checkSessionName(name),
          command: shellText([options.agent, ...(after ?? [])]),
          cwd: options.cwd ?? null,
          shell: null,
          tags: [...(options.tag ?? [])],
          env: options.env === undefined ? null : variables(options.env),
          ...(options.size === undefined ? { rows: 40, cols: 120 } : parseSize(options.size)),
        },
        "number",
      );
      using session = await SessionClient.open(instance, info.pane_id);
      const ready = await session.call("wait", {
        any_of: [
          ...(["idle", "done", "needs_input"] as const).map((state) => ({ type: "agent", state }) as const),
          "exited",
        ],
        max_wait_ms: START_MS,
      });
      const agent = ready.agent;
      if (options.json === true) await printJson({ session: info, agent: agent ?? null, decided_by: ready.decided_by });
      else await print(`${info.name}: ${agent === undefined ? ready.decided_by : `${agent.name} ${agent.state}`}\n`);
      if (agent === undefined) process.exitCode = ready.decided_by === "timeout" ? STILL_WORKING : 1;
    });
  agent
    .command("prompt <name> [text]")
    .description(
      "Send a prompt to the agent in a session: type it into the empty input box, submit it, and confirm delivery by " +
        "the agent's hook or by the screen. Prints hook, screen or not delivered; with --wait, the agent's last " +
        "message. Without TEXT, the prompt is read from standard input. " +
        `Exit code ${NOT_DELIVERED} if it was not delivered, ${STILL_WORKING} if the agent is still working.`,
    )
    .option("--wait", "wait until the agent's turn has ended")
    .option("--timeout <seconds>", "longest wait (default: 600)", seconds)
    .option("--command", "TEXT is a command of the agent's own, such as /compact")
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, given: string | undefined, options: PromptOptions, command: Command) => {
      const text = given ?? (await Bun.stdin.text());
      using session = await SessionClient.open(instanceOf(command), name);
      const result = await session.call("agent.prompt", {
        text,
        command: options.command ?? false,
        wait: options.wait ?? false,
        max_wait_ms: options.timeout ?? TURN_MS,
      });
      if (result.delivered === "not_delivered") process.exitCode = NOT_DELIVERED;
      else if (result.turn?.ended === "working") process.exitCode = STILL_WORKING;
      else if (result.turn?.ended === "exited") throw new WshError("session_ended", "the agent exited during its turn");
      if (options.json === true) return printJson(result);
      return printResult(result);
    });
}

async function printResult({ delivered, why, turn }: PromptResult): Promise<void> {
  if (delivered === "not_delivered") return complain(`not delivered: ${why}`);
  if (turn === undefined) return print(`${delivered}\n`);
  if (turn.ended !== "done") complain(`the agent: ${turn.ended.replace("_", " ")}`);
  if (turn.omitted !== undefined) complain(`the last ${turn.omitted} characters are omitted`);
  if (turn.message !== undefined) await print(`${visibleRendered(turn.message)}\n`);
}
