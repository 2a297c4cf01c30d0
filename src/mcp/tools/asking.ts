/** The tool that asks the person. */
import * as v from "valibot";
import { inputSchema } from "../../operations/table.ts";
import { questionKinds } from "../../protocol/asking.ts";
import { SessionField, tool } from "./tool.ts";

const { multiple, timeout_ms, wait_for_person, ...fields } = inputSchema("ask").entries;

export const askUser = tool({
  name: "wsh_ask_user",
  title: "Ask the person",
  description:
    "Ask the person: a choice, text, confirm (yes or no), secret (for the program that reads a password; never returned), " +
    'hand_over (they take over, then give back). pending: wsh_wait [{"type":"answer","ask_id"}].',
  core: false,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  parameters: v.object({ session: v.optional(SessionField), ...fields, multiple, timeout_ms, wait_for_person }),
  described: {
    default: { description: "preselected answer" },
    max_wait_ms: { type: "integer", default: 30_000, description: "of this call" },
    detail: { type: "string", description: "shown below" },
    choices: { type: "array", items: { type: "string" }, description: "for choice" },
    multiple: { type: "boolean", description: "for choice" },
    kind: { enum: [...questionKinds], description: "default: text" },
    wait_for_person: { type: "boolean", description: "if none attached" },
    timeout_ms: { type: "integer", default: 600_000, description: "its lifetime" },
  },
  output: v.looseObject({ state: v.string() }),
  waits: true,
  run: async ({ session, ...question }, ask) => {
    const optional = Object.fromEntries(Object.entries(question).filter(([, value]) => value !== undefined));
    const input = { ...optional, question: question.question };
    return session === undefined ? ask("ask.any", input) : ask("ask", input, session);
  },
});
