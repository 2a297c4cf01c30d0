/** The tool that asks the person. */
import * as v from "valibot";
import { inputSchema } from "../../operations/table.ts";
import { questionKinds } from "../../protocol/asking.ts";
import { TargetField, tool } from "./tool.ts";

const { multiple, timeout_ms, wait_for_person, ...fields } = inputSchema("ask").entries;

export const askUser = tool({
  name: "wsh_ask_user",
  title: "Ask the person",
  description:
    "A choice, text, confirm, secret (typed to the program that reads a password; never returned), " +
    'hand_over (they take over). pending: wsh_wait [{"type":"answer","ask_id"}].',
  core: false,
  access: "operate",
  annotations: { readOnlyHint: false, destructiveHint: false, idempotentHint: false, openWorldHint: true },
  parameters: v.object({ session: v.optional(TargetField), ...fields, multiple, timeout_ms, wait_for_person }),
  schemaOverrides: {
    question: { type: "string" },
    default: { description: "preselected" },
    max_wait_ms: { type: "integer", default: 30_000 },
    detail: { type: "string", description: "shown below" },
    choices: { type: "array", items: { type: "string" } },
    multiple: { type: "boolean", description: "several choices" },
    kind: { enum: [...questionKinds], description: "default: text" },
  },
  unlisted: ["timeout_ms", "wait_for_person"],
  output: v.looseObject({ state: v.string() }),
  reportsProgress: true,
  run: async ({ session, ...question }, ask) => {
    const optional = Object.fromEntries(Object.entries(question).filter(([, value]) => value !== undefined));
    const input = { ...optional, question: question.question };
    return session === undefined ? ask("ask.any", input) : ask("ask", input, session);
  },
});
