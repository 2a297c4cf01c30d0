/** The tool that starts AI agents and gives them prompts. */
import * as v from "valibot";
import { inputSchema, type OperationOutput, outputSchema } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { optional } from "../../protocol/fields.ts";
import { drives, requireField, TargetField, tool } from "./tool.ts";

const { text, command: isCommand, wait, max_wait_ms } = inputSchema("agent.prompt").entries;

/** Longest wait for an agent that starts, in ms, and the size of its terminal. */
const START_MS = 30_000;
const SIZE = { rows: 40, cols: 120 } as const;
/** Default wait for a turn, in ms: hosts rarely let a call run longer. */
const TURN_MS = 50_000;

export const agent = tool({
  name: "wsh_agent",
  title: "Prompt an AI agent",
  description:
    "Give an agent a prompt, with proof (delivered: hook, screen, not_delivered). Refused while it asks, or text stands in its input box.",
  core: false,
  ...drives,
  parameters: v.object({
    session: TargetField,
    text: v.optional(text),
    wait,
    max_wait_ms: v.optional(max_wait_ms.wrapped, TURN_MS),
    start: optional(v.string(), "line that starts the agent in a new session of this name"),
    cwd: optional(v.string(), "with start: directory"),
    command: isCommand,
  }),
  schemaOverrides: {
    text: { type: "string" },
    wait: { type: "boolean", description: "for its answer" },
    max_wait_ms: { type: "integer", default: TURN_MS },
    start: { type: "string", description: "first start this line, in a new session" },
    cwd: { type: "string" },
  },
  unlisted: ["command"],
  output: v.looseObject({ ...v.partial(outputSchema("agent.prompt")).entries }),
  reportsProgress: true,
  run: async ({ session, start, cwd, text, ...rest }, ask) => {
    if (start === undefined)
      return ask("agent.prompt", { ...rest, text: requireField(text, "wsh_agent", "text") }, session);
    const line = { name: session, command: start, ...SIZE, ...defined({ cwd }) };
    const { name, pane_id } = await ask("sessions.create", line);
    const ready: OperationOutput<"wait"> = await ask(
      "wait",
      {
        any_of: [{ type: "agent", state: "idle" }, { type: "agent", state: "needs_input" }, "exited"],
        max_wait_ms: START_MS,
      },
      pane_id,
    );
    if (ready.agent === undefined)
      throw new WshError("no_agent", `no AI agent is ready in '${name}': ${ready.decided_by}`, { session: name });
    if (text === undefined) return { session: name, agent: ready.agent };
    return { session: name, ...(await ask("agent.prompt", { ...rest, text }, pane_id)) };
  },
});
