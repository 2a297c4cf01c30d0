/**
 * `wsh hook`: agents' hooks call it to report the agent's state to its pane. It is quick and gives up early, because
 * the agent waits for it.
 */
import type { Command } from "commander";
import { agentMessage, agentNamePattern, agentStates, type ReportedConversation } from "../../protocol/agent.ts";
import { defined } from "../../protocol/defined.ts";
import { jsonOrNull } from "../../protocol/json.ts";
import { UsageError } from "../arguments.ts";
import { agentState } from "../conditions.ts";
import { type HookReading, readHook } from "../hooks/events.ts";
import { recordHookRun } from "../hooks/last-run.ts";
import { printText } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { paneAround } from "../session/surrounding-session.ts";

/** Longest run, in ms: the agent waits a second at most. */
const PATIENCE_MS = 900;
/** Longest wait for the payload, in ms: agents write it at once, or not at all. */
const PAYLOAD_MS = 300;
/** Longest payload that is read, in characters: tools' inputs may be large, and are ignored. */
const MAX_PAYLOAD = 1_048_576;
const GAVE_UP = 1;

interface HookOptions {
  readonly state?: string;
  readonly message?: string;
}

export function register(program: Command): void {
  program
    .command("hook <agent> <event>")
    .description(
      "Report an AI agent's event from its hook: the agent's own event name, with its payload on standard input. " +
        "`wsh setup HOST --hooks` writes the hooks. Does nothing outside of a session (WSH_PANE).",
    )
    .option("--state <state>", `the state, for an agent unknown to wsh: ${agentStates.join(", ")}`)
    .option("--message <text>", "the agent's message")
    .action(async (agent: string, event: string, options: HookOptions) => {
      const state = options.state === undefined ? null : agentState(options.state);
      if (!agentNamePattern.test(agent)) throw new UsageError(`'${agent}' is not an agent name`);
      const surrounding = paneAround(process.env);
      if (surrounding === null) return;
      // Covers every hang: of a session process, or of standard input.
      setTimeout(() => process.exit(GAVE_UP), PATIENCE_MS).unref();
      const read = readHook(agent, event, await readPayload());
      const message = options.message ?? read.message;
      const { moment, prompt, reply } = read;
      const conversation = await withConversationStart(read.conversation, moment, prompt);
      using session = await SessionClient.open(surrounding.instance, surrounding.pane);
      const { accepted, reason } = await session.call("agent.report", {
        agent,
        event,
        state: state ?? read.state,
        ...(message === undefined ? {} : { message: message.slice(0, MAX_MESSAGE) }),
        ...defined({ conversation, moment, prompt, reply }),
        pid: process.ppid,
      });
      // A nested agent's hook proves nothing about this agent's setup.
      if (reason !== "nested") recordHookRun(surrounding.instance, agent, !accepted);
      if (!accepted) await printText(`ignored: ${reason}\n`);
    });
}

/** A conversation's title and age, from its transcript or its first prompt. */
async function withConversationStart(
  conversation: ReportedConversation | undefined,
  moment: HookReading["moment"],
  prompt: string | undefined,
): Promise<ReportedConversation | undefined> {
  if (conversation === undefined || moment === undefined) return conversation;
  const { beginningOf } = await import("../../pane/agent/transcript.ts");
  const begun = conversation.transcript === undefined ? null : beginningOf(conversation.transcript);
  const title = conversation.title ?? begun?.title ?? (prompt === undefined ? undefined : agentMessage(prompt));
  return { ...conversation, ...defined({ title, started_at: begun?.started_at }) };
}

/** Longest message that the operation takes, in characters. */
const MAX_MESSAGE = 4_096;

/** The JSON on standard input; null without any. */
async function readPayload(): Promise<unknown> {
  if (process.stdin.isTTY) return null;
  // Truncated, empty or in another format: the event alone counts.
  return jsonOrNull(await Promise.race([readAll(), Bun.sleep(PAYLOAD_MS).then(() => "")]));
}

async function readAll(): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const bytes of Bun.stdin.stream()) {
    text += decoder.decode(bytes, { stream: true });
    if (text.length > MAX_PAYLOAD) return "";
  }
  return text;
}
