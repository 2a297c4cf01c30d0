/** Operations on checkpoints of crashed sessions (docs/protocol.md, Crashed sessions). */
import * as v from "valibot";
import { SessionInfoSchema } from "../protocol/session.ts";
import { RepositorySchema } from "../protocol/worktree.ts";
import { operation } from "./define.ts";

const TargetSchema = v.pipe(v.string(), v.minLength(1), v.description("name or id of a crashed session"));
const flag = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
]);

const LabelSchema = v.pipe(v.string(), v.description("label of a saved checkpoint"));
const SessionSchema = v.pipe(v.string(), v.minLength(1), v.description("name or id of the session"));

const FailureSchema = v.object({
  session: v.pipe(v.string(), v.description("its name, or its id where the name cannot be read")),
  label: v.optional(v.pipe(v.string(), v.description("label of a saved checkpoint"))),
  code: v.pipe(v.string(), v.description("error code")),
  message: v.pipe(v.string(), v.description("what was wrong")),
});

const LeftOutSchema = v.object({
  session: v.pipe(v.string(), v.description("name of the session, which runs without it")),
  pane_id: v.pipe(v.string(), v.description("as it had it")),
  message: v.pipe(v.string(), v.description("why it was not restored")),
});

const NoteSchema = v.pipe(v.nullable(v.string()), v.description("null: none"));
const GitSchema = v.pipe(
  v.nullable(RepositorySchema),
  v.description("repository around cwd when it was saved; null: none known"),
);

const NamedSchema = v.object({
  session: v.pipe(v.string(), v.description("name of the session when it was saved")),
  id: v.pipe(v.string(), v.description("of the session")),
  label: LabelSchema,
  saved_at: v.pipe(v.number(), v.description("Unix time in ms")),
  panes: v.pipe(v.number(), v.description("number of them")),
  bytes: v.pipe(v.number(), v.description("size on disk")),
  running: v.pipe(v.boolean(), v.description("whether the session runs now")),
  note: NoteSchema,
  cwd: v.pipe(v.nullable(v.string()), v.description("directory of its first pane")),
  git: GitSchema,
  command: v.pipe(v.string(), v.description("what its first pane ran")),
  agents: v.pipe(v.array(v.string()), v.description("AI agents that ran in it")),
});

const MatchSchema = v.object({
  session: v.string(),
  id: v.pipe(v.string(), v.description("of the session")),
  label: v.pipe(v.nullable(v.string()), v.description("null: last saved state of a crashed session")),
  pane_id: v.pipe(v.nullable(v.string()), v.description("null: not of one pane")),
  in: v.pipe(
    v.picklist(["name", "label", "note", "directory", "command", "line"]),
    v.description("what has it; a command line or a line of text is of the pane"),
  ),
  excerpt: v.pipe(v.string(), v.description("text around the match, on one line")),
});

const ShownWindowSchema = v.object({
  id: v.string(),
  name: v.pipe(v.nullable(v.string()), v.description("null: after its program")),
  active: v.boolean(),
  zoomed: v.boolean(),
  panes: v.pipe(v.array(v.string()), v.description("ids, in order")),
  layout: v.pipe(v.string(), v.description("rows and columns of panes, with their shares")),
});

const ShownPaneSchema = v.object({
  id: v.string(),
  title: v.string(),
  cwd: v.nullable(v.string()),
  git: GitSchema,
  agent: v.pipe(v.nullable(v.string()), v.description("AI agent that ran in it")),
  rows: v.number(),
  cols: v.number(),
  program: v.pipe(v.string(), v.description("what the pane was started with")),
  running: v.pipe(v.nullable(v.string()), v.description("the running command line; null: at its prompt")),
  screen: v.pipe(v.array(v.string()), v.description("lines, without styles")),
  lines_above: v.pipe(v.number(), v.description("how many lines above the screen are kept")),
});

const MomentSchema = v.object({
  label: v.pipe(v.nullable(v.string()), v.description("null: the present or last saved state")),
  saved_at: v.pipe(v.number(), v.description("Unix time in ms")),
});

const notFound = ["checkpoint_not_found", "checkpoint_damaged", "checkpoint_too_new", "invalid_label"] as const;

export const checkpointOperations = [
  operation({
    name: "checkpoint.list",
    scope: "server",
    access: "observe",
    summary: "Crashed sessions, oldest first, and labelled checkpoints",
    input: v.object({
      session: v.optional(SessionSchema),
      search: v.optional(
        v.pipe(
          v.string(),
          v.description(
            "only checkpoints with this text, in any case: name, label, note, directory, branch, commands, lines",
          ),
        ),
      ),
    }),
    output: v.object({
      crashed: v.pipe(v.array(SessionInfoSchema), v.description("their last saved state")),
      named: v.pipe(v.array(NamedSchema), v.description("by session, then by label")),
      matches: v.optional(
        v.pipe(v.array(MatchSchema), v.description("with search: where, newest checkpoint first, at most 5 of each")),
      ),
      incomplete: v.optional(
        v.pipe(v.boolean(), v.description("with search: not everything was searched (5 s, or removed meanwhile)")),
      ),
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
      "Restore a crashed session, all of them, or a labelled checkpoint: same name, ids, tags and layout; a new shell below the old screen, with " +
      "the command line that was running at its prompt",
    input: v.object({
      session: v.optional(TargetSchema),
      all: v.optional(v.pipe(flag, v.description("every crashed session")), false),
      as: v.optional(v.pipe(v.string(), v.description("another name; with label: also beside the running session"))),
      label: v.optional(LabelSchema),
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
      "invalid_label",
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
    name: "checkpoint.save",
    scope: "server",
    access: "operate",
    summary: "Save the present state of a session under a label, until it is deleted",
    input: v.object({
      session: SessionSchema,
      label: v.optional(v.pipe(v.string(), v.description("1 to 64 of A-Z a-z 0-9 . _ -; absent: date and time"))),
      note: v.optional(v.pipe(v.string(), v.description("1 to 500 visible characters, on one line"))),
      replace: v.optional(v.pipe(flag, v.description("an existing checkpoint with the label")), false),
    }),
    output: NamedSchema,
    errors: [
      "session_not_found",
      "invalid_label",
      "checkpoint_exists",
      "checkpoint_refused",
      "resource_limit_reached",
      "session_unavailable",
    ],
    http: [{ method: "POST", path: "/checkpoints" }],
    ws: ["save_checkpoint"],
  }),
  operation({
    name: "checkpoint.show",
    scope: "server",
    access: "observe",
    summary: "Content of a checkpoint: windows, and the directory, program and screen of each pane",
    input: v.object({
      session: SessionSchema,
      label: v.optional(v.pipe(v.string(), v.description("absent: what is kept all the time"))),
    }),
    output: v.object({
      session: v.string(),
      id: v.string(),
      label: v.pipe(v.nullable(v.string()), v.description("null: what is kept all the time")),
      saved_at: v.pipe(v.number(), v.description("Unix time in ms")),
      note: NoteSchema,
      bytes: v.pipe(v.number(), v.description("size on disk")),
      tags: v.array(v.string()),
      rows: v.number(),
      cols: v.number(),
      windows: v.array(ShownWindowSchema),
      panes: v.array(ShownPaneSchema),
      left_out: v.pipe(v.array(LeftOutSchema), v.description("panes that cannot be read")),
    }),
    errors: notFound,
    http: [{ method: "GET", path: "/checkpoints/show" }],
    ws: ["show_checkpoint"],
  }),
  operation({
    name: "checkpoint.diff",
    scope: "server",
    access: "observe",
    summary: "Difference between a labelled checkpoint and the session now, or another checkpoint",
    input: v.object({
      session: SessionSchema,
      label: LabelSchema,
      to: v.optional(v.pipe(v.string(), v.description("another label; absent: the present state"))),
    }),
    output: v.object({
      session: v.string(),
      id: v.string(),
      from: v.pipe(MomentSchema, v.description("what was compared")),
      to: v.pipe(MomentSchema, v.description("with what it was compared")),
      changes: v.pipe(
        v.array(
          v.object({
            of: v.pipe(v.nullable(v.string()), v.description("a window or pane; null: the session")),
            what: v.pipe(v.string(), v.description("name, tags, size, layout, cwd, program and the like")),
            before: v.pipe(v.nullable(v.string()), v.description("null: it was not there")),
            after: v.pipe(v.nullable(v.string()), v.description("null: it is not there any more")),
          }),
        ),
        v.description("of names, places and programs"),
      ),
      lines: v.pipe(
        v.array(
          v.object({
            pane_id: v.string(),
            changed: v.pipe(v.array(v.string()), v.description("lines with + or - before them")),
            more: v.pipe(v.number(), v.description("omitted older changes")),
          }),
        ),
        v.description("what panes show"),
      ),
    }),
    errors: [...notFound, "checkpoint_refused"],
    http: [{ method: "GET", path: "/checkpoints/diff" }],
    ws: ["diff_checkpoint"],
  }),
  operation({
    name: "checkpoint.delete",
    scope: "server",
    access: "operate",
    summary: "Delete a labelled checkpoint",
    input: v.object({ session: SessionSchema, label: LabelSchema }),
    output: v.object({
      session: v.string(),
      label: LabelSchema,
      bytes: v.pipe(v.number(), v.description("size of what was deleted")),
    }),
    errors: notFound,
    http: [{ method: "DELETE", path: "/checkpoints/named" }],
    ws: ["delete_checkpoint"],
  }),
  operation({
    name: "checkpoint.forget",
    scope: "server",
    access: "admin",
    summary: "Delete the checkpoints, labelled ones too, of a session that is not running, or of all such sessions",
    input: v.object({
      session: v.optional(TargetSchema),
      all: v.optional(v.pipe(flag, v.description("every session that is not running")), false),
    }),
    output: v.object({
      forgotten: v.pipe(
        v.array(
          v.object({
            id: v.pipe(v.string(), v.description("of the session")),
            name: v.pipe(v.nullable(v.string()), v.description("null where it cannot be read")),
            bytes: v.pipe(v.number(), v.description("size of what was deleted")),
            labels: v.pipe(v.array(v.string()), v.description("of its named checkpoints")),
          }),
        ),
        v.description("the sessions that can no longer be read or restored"),
      ),
    }),
    errors: ["checkpoint_not_found"],
    http: [{ method: "DELETE", path: "/checkpoints" }],
    ws: ["forget"],
  }),
] as const;
