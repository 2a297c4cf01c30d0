/** Operations on the history of commands (docs/protocol.md, History): of all running and ended sessions. */
import * as v from "valibot";
import { described, optional } from "../protocol/fields.ts";
import { operation } from "./define.ts";

/** Maximum commands of one page. */
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

/** Whether the date is valid: another machine may send any value. */
const isTime = (ms: number): boolean => !Number.isNaN(new Date(ms).getTime());

/** Filters of a search. */
const filters = {
  query: optional(v.pipe(v.string(), v.maxLength(1_024)), "word prefixes of the command line; all must occur"),
  session: optional(v.string(), "name of the session it ran in, also an ended one; machine/name asks that machine"),
  cwd: optional(v.pipe(v.string(), v.startsWith("/")), "absolute directory: in it or below"),
  failed: optional(flag, "only commands that failed or were ended by a signal"),
  exit_code: optional(count(255), "only commands with this exit code"),
  since: optional(MomentSchema, "not before: 90m, 2d (ago), a date, or Unix time in ms"),
  until: optional(MomentSchema, "before; as since"),
  min_duration: optional(v.pipe(v.string(), v.maxLength(16)), "at least this long: 10s, 2m"),
  by: optional(v.picklist(["person", "agent", "import"]), "who ran it"),
};

const HistoryCommandSchema = v.object({
  id: v.number(),
  command: described(v.string(), "truncated after 16384 characters"),
  cwd: v.nullable(v.string()),
  /** Unix time in ms; null if an imported history does not contain it. */
  started_at: v.nullable(v.pipe(v.number(), v.check(isTime))),
  duration_ms: v.nullable(v.number()),
  exit_code: v.nullable(v.number()),
  signal: v.nullable(v.string()),
  session: v.nullable(v.string()),
  session_id: described(v.nullable(v.string()), "id of the session it ran in"),
  pane_id: v.nullable(v.string()),
  shell: v.nullable(v.string()),
  by: described(v.picklist(["person", "agent", "import"]), "who ran it"),
  server: optional(v.string(), "its machine, if other machines were asked"),
  /** With output: the stored part of it; null when none was stored. */
  output: v.optional(v.nullable(v.string())),
});
export type HistoryCommand = v.InferOutput<typeof HistoryCommandSchema>;

export const HistorySearchSchema = v.object({
  ...filters,
  limit: optional(v.pipe(count(MAX_PAGE), v.minValue(1)), "most commands of this page", 20),
  before: optional(count(Number.MAX_SAFE_INTEGER), "id: only older commands; the next page"),
  output: optional(flag, "include their output, if kept", false),
  all_machines: optional(flag, "of this machine, the added ones and the fleet's, merged by time", false),
});
export type HistorySearchInput = v.InferOutput<typeof HistorySearchSchema>;

export const HistoryPageSchema = v.object({
  commands: described(v.array(HistoryCommandSchema), "newest first"),
  more: described(v.boolean(), "older commands match: ask again with before set to the last id of this page"),
  warnings: v.optional(v.array(v.string())),
  unanswered: optional(
    v.array(
      v.object({
        server: v.string(),
        code: described(v.string(), "of the error"),
        message: described(v.string(), "of the error"),
      }),
    ),
    "machines that did not answer, and why: their commands are missing",
  ),
});
export type HistoryPage = v.InferOutput<typeof HistoryPageSchema>;

export const HistoryDeleteSchema = v.object({
  ...filters,
  id: optional(count(Number.MAX_SAFE_INTEGER), "one command"),
  all: optional(flag, "everything", false),
});
export type HistoryDeleteInput = v.InferOutput<typeof HistoryDeleteSchema>;

export const historyOperations = [
  operation({
    name: "history.search",
    scope: "server",
    access: "observe",
    machineIn: "session",
    gives: "commands",
    summary: "Commands of all sessions, running and ended, newest first",
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
    ends: "data",
    machineIn: "session",
    showsAnswer: true,
    summary: "Delete commands and their output from the history",
    input: HistoryDeleteSchema,
    output: v.object({
      deleted: described(v.number(), "number of commands"),
      warnings: v.optional(v.array(v.string())),
    }),
    errors: ["history_unavailable", "unsafe_path"],
    http: [{ method: "DELETE", path: "/history" }],
    ws: ["delete_history"],
  }),
] as const;
