/** Operations on what is kept of lost sessions (docs/protocol.md, Lost sessions). */
import * as v from "valibot";
import { SessionInfoSchema } from "../protocol/session.ts";
import { operation } from "./define.ts";

const TargetSchema = v.pipe(v.string(), v.minLength(1), v.description("name or id of a lost session"));
const flag = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
]);

const FailureSchema = v.object({
  session: v.pipe(v.string(), v.description("its name, or its id where the name cannot be read")),
  code: v.pipe(v.string(), v.description("error code")),
  message: v.pipe(v.string(), v.description("what was wrong")),
});

const LeftOutSchema = v.object({
  session: v.pipe(v.string(), v.description("name of the session, which runs without it")),
  pane_id: v.pipe(v.string(), v.description("as it had it")),
  message: v.pipe(v.string(), v.description("why it did not come back")),
});

export const checkpointOperations = [
  operation({
    name: "checkpoint.list",
    scope: "server",
    access: "observe",
    summary: "Sessions whose process is gone and that can be restored, oldest first",
    input: v.object({}),
    output: v.object({
      lost: v.pipe(v.array(SessionInfoSchema), v.description("as they were when they were last saved")),
      unreadable: v.pipe(v.array(FailureSchema), v.description("damaged ones, and those of a later version")),
    }),
    errors: [],
    http: [{ method: "GET", path: "/checkpoints" }],
    ws: ["checkpoints"],
  }),
  operation({
    name: "checkpoint.restore",
    scope: "server",
    access: "operate",
    summary:
      "Make a lost session, or all, run again: same name, ids, tags and layout; a new shell below what was there, with " +
      "the line of what ran at its prompt",
    input: v.object({
      session: v.optional(TargetSchema),
      all: v.optional(v.pipe(flag, v.description("every lost session")), false),
      as: v.optional(v.pipe(v.string(), v.description("another name than it had"))),
    }),
    output: v.object({
      restored: v.pipe(v.array(SessionInfoSchema), v.description("the sessions, running again")),
      left_out: v.pipe(v.array(LeftOutSchema), v.description("panes that did not come back with their session")),
      failed: v.pipe(v.array(FailureSchema), v.description("with all: those that could not be restored")),
    }),
    errors: [
      "checkpoint_not_found",
      "checkpoint_damaged",
      "checkpoint_too_new",
      "session_running",
      "session_name_conflict",
      "invalid_session_name",
      "max_sessions_reached",
      "session_create_failed",
    ],
    http: [{ method: "POST", path: "/checkpoints/restore" }],
    ws: ["restore"],
  }),
  operation({
    name: "checkpoint.forget",
    scope: "server",
    access: "admin",
    summary: "Delete what is kept of a lost session, or of all",
    input: v.object({
      session: v.optional(TargetSchema),
      all: v.optional(v.pipe(flag, v.description("every lost session")), false),
    }),
    output: v.object({
      forgotten: v.pipe(
        v.array(
          v.object({
            id: v.pipe(v.string(), v.description("of the session")),
            name: v.pipe(v.nullable(v.string()), v.description("null where it cannot be read")),
            bytes: v.pipe(v.number(), v.description("size of what was deleted")),
          }),
        ),
        v.description("the sessions that can be neither read nor restored any more"),
      ),
    }),
    errors: ["checkpoint_not_found"],
    http: [{ method: "DELETE", path: "/checkpoints" }],
    ws: ["forget"],
  }),
] as const;
