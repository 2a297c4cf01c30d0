/** The tool that finds earlier commands of all sessions. */
import * as v from "valibot";
import { HistoryPageSchema, HistorySearchSchema } from "../../operations/history.ts";
import { defined } from "../../protocol/defined.ts";
import { withoutNull } from "./results.ts";
import { reads, tool } from "./tool.ts";

const { query, session, cwd, failed, since, limit, before, output, all_machines } = HistorySearchSchema.entries;

export const history = tool({
  name: "wsh_history",
  title: "Find commands that ran",
  description: "Commands that ran in any session, also ended ones, newest first: how something is built or fixed here.",
  core: false,
  ...reads,
  parameters: v.object({ query, session, cwd, failed, since, limit, before, output, all_machines }),
  // The instructions mention all_machines if there are other machines.
  unlisted: ["all_machines", "before"],
  schemaOverrides: {
    query: { type: "string", description: "word prefixes, all of them" },
    session: { type: "string" },
    cwd: { type: "string", description: "in it or below" },
    failed: { type: "boolean", description: "only those" },
    since: { type: "string", description: "90m, 2d (ago), or a date" },
    limit: { type: "integer", default: 20 },
    before: { type: "integer", description: "id; for older ones" },
    output: { type: "boolean", description: "include it, if kept" },
  },
  output: v.object({
    commands: v.array(v.looseObject({ id: v.number(), command: v.string() })),
    more: v.boolean(),
    warnings: HistoryPageSchema.entries.warnings,
    unanswered: HistoryPageSchema.entries.unanswered,
  }),
  run: async (parameters, ask) => {
    const { commands, ...page } = await ask("history.search", parameters);
    return { commands: commands.map(compactCommand), ...page };
  },
});

/** A command without uninformative fields: most are a person's, end with 0, and are identified by session and time. */
function compactCommand(historyCommand: HistoryCommand): object {
  const { id, command, cwd, started_at, duration_ms, exit_code, signal, session, by, server, output } = historyCommand;
  const row = {
    id,
    command,
    server,
    cwd,
    exit_code,
    signal,
    session,
    at: started_at === null ? null : new Date(started_at).toISOString().replace(/\.\d+/, ""),
    duration_ms: duration_ms === null || duration_ms < 1_000 ? null : duration_ms,
    by: by === "person" ? null : by,
  };
  return { ...withoutNull(row), ...defined({ output }) };
}

type HistoryCommand = v.InferOutput<typeof HistoryPageSchema>["commands"][number];
