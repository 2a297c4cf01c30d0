/** Operations on the history of commands (docs/protocol.md, History): of all sessions, living and ended. */
import * as v from "valibot";
import { operation } from "./define.ts";

/** Most commands of one page. */
const MAX_PAGE = 1_000;
const MomentSchema = v.union([v.pipe(v.string(), v.maxLength(64)), v.number()]);
const flag = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
]);
const count = (most: number) =>
  v.pipe(
    v.union([v.number(), v.pipe(v.string(), v.regex(/^\d{1,16}$/), v.transform(Number))]),
    v.integer(),
    v.maxValue(most),
  );

/** Whether the date is valid: another machine may send anything. */
const isTime = (ms: number): boolean => !Number.isNaN(new Date(ms).getTime());

/** Filters of a search. */
const filters = {
  query: v.optional(
    v.pipe(v.string(), v.maxLength(1_024), v.description("word prefixes of the command line; all must occur")),
  ),
  session: v.optional(
    v.pipe(
      v.string(),
      v.description("name of the session it ran in, also an ended one; machine/name asks that machine"),
    ),
  ),
  cwd: v.optional(v.pipe(v.string(), v.startsWith("/"), v.description("absolute directory: in it or below"))),
  failed: v.optional(v.pipe(flag, v.description("only commands that failed or were ended by a signal"))),
  exit_code: v.optional(v.pipe(count(255), v.description("only commands with this exit code"))),
  since: v.optional(v.pipe(MomentSchema, v.description("not before: 90m, 2d (ago), a date, or Unix time in ms"))),
  until: v.optional(v.pipe(MomentSchema, v.description("before; as since"))),
  min_duration: v.optional(v.pipe(v.string(), v.maxLength(16), v.description("at least this long: 10s, 2m"))),
  by: v.optional(v.pipe(v.picklist(["person", "agent", "import"]), v.description("who ran it"))),
};

export const HistoryCommandSchema = v.object({
  id: v.number(),
  command: v.pipe(v.string(), v.description("of one longer than 16384 characters, its beginning")),
  cwd: v.nullable(v.string()),
  /** Unix time in ms; null where an imported history did not say. */
  started_at: v.nullable(v.pipe(v.number(), v.check(isTime))),
  duration_ms: v.nullable(v.number()),
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
  session: v.nullable(v.string()),
  session_id: v.pipe(v.nullable(v.string()), v.description("id of the session it ran in")),
  pane_id: v.nullable(v.string()),
  shell: v.nullable(v.string()),
  by: v.pipe(v.picklist(["person", "agent", "import"]), v.description("who ran it")),
  server: v.optional(v.pipe(v.string(), v.description("the machine it ran on, where other machines were asked"))),
  /** With output: the stored part of it; null when none was stored. */
  output: v.optional(v.nullable(v.string())),
});
export type HistoryCommand = v.InferOutput<typeof HistoryCommandSchema>;

export const HistorySearchSchema = v.object({
  ...filters,
  limit: v.optional(v.pipe(count(MAX_PAGE), v.minValue(1), v.description("most commands of this page")), 20),
  before: v.optional(v.pipe(count(Number.MAX_SAFE_INTEGER), v.description("id: only older commands; the next page"))),
  output: v.optional(v.pipe(flag, v.description("include their output, if kept")), false),
  all_machines: v.optional(
    v.pipe(flag, v.description("of this machine, the added ones and those of the fleet, merged by time")),
    false,
  ),
});
export type HistorySearchInput = v.InferOutput<typeof HistorySearchSchema>;

export const HistoryPageSchema = v.object({
  commands: v.pipe(v.array(HistoryCommandSchema), v.description("newest first")),
  more: v.pipe(
    v.boolean(),
    v.description("older commands match: ask again with before set to the last id of this page"),
  ),
  warnings: v.optional(v.array(v.string())),
  unanswered: v.optional(
    v.pipe(
      v.array(
        v.object({
          server: v.string(),
          code: v.pipe(v.string(), v.description("of the error")),
          message: v.pipe(v.string(), v.description("of the error")),
        }),
      ),
      v.description("machines that did not answer, and why: their commands are missing"),
    ),
  ),
});
export type HistoryPage = v.InferOutput<typeof HistoryPageSchema>;

export const HistoryDeleteSchema = v.object({
  ...filters,
  id: v.optional(v.pipe(count(Number.MAX_SAFE_INTEGER), v.description("one command"))),
  all: v.optional(v.pipe(flag, v.description("everything")), false),
});
export type HistoryDeleteInput = v.InferOutput<typeof HistoryDeleteSchema>;

export const historyOperations = [
  operation({
    name: "history.search",
    scope: "server",
    access: "observe",
    summary: "Commands of all sessions, living and ended, newest first",
    input: HistorySearchSchema,
    output: HistoryPageSchema,
    errors: ["history_unavailable", "unsafe_path"],
    http: [{ method: "GET", path: "/history" }],
    ws: ["history"],
  }),
  operation({
    name: "history.delete",
    scope: "server",
    access: "admin",
    summary: "Delete commands and their output from the history",
    input: HistoryDeleteSchema,
    output: v.object({
      deleted: v.pipe(v.number(), v.description("number of commands")),
      warnings: v.optional(v.array(v.string())),
    }),
    errors: ["history_unavailable", "unsafe_path"],
    http: [{ method: "DELETE", path: "/history" }],
    ws: ["delete_history"],
  }),
] as const;
