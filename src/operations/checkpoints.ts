/** Operations on checkpoints of crashed sessions (docs/protocol.md, Crashed sessions). */
import * as v from "valibot";
import { described, optional } from "../protocol/fields.ts";
import { forgetRules, restoreRules } from "../protocol/option-rules.ts";
import { SessionInfoSchema } from "../protocol/session.ts";
import { RepositorySchema } from "../protocol/worktree.ts";
import { operation } from "./define.ts";

const TargetSchema = described(v.pipe(v.string(), v.minLength(1)), "name or id of a crashed session");
const flag = v.union([
  v.boolean(),
  v.pipe(
    v.picklist(["true", "false"]),
    v.transform((text) => text === "true"),
  ),
]);

const LabelSchema = described(v.string(), "label of a saved checkpoint");
const SessionSchema = described(v.pipe(v.string(), v.minLength(1)), "name or id of the session");

const FailureSchema = v.object({
  session: described(v.string(), "its name; its id if the name cannot be read"),
  label: optional(v.string(), "label of a saved checkpoint"),
  code: described(v.string(), "error code"),
  message: described(v.string(), "the error"),
});

const LeftOutSchema = v.object({
  session: described(v.string(), "name of the session, restored without it"),
  pane_id: described(v.string(), "as before"),
  message: described(v.string(), "why it was not restored"),
});

const NoteSchema = described(v.nullable(v.string()), "null: none");
const GitSchema = described(v.nullable(RepositorySchema), "repository around cwd when it was saved; null: none known");

const NamedSchema = v.object({
  session: described(v.string(), "name of the session when it was saved"),
  id: described(v.string(), "of the session"),
  label: LabelSchema,
  saved_at: described(v.number(), "Unix time in ms"),
  panes: described(v.number(), "number of them"),
  bytes: described(v.number(), "size on disk"),
  running: described(v.boolean(), "whether the session runs now"),
  note: NoteSchema,
  cwd: described(v.nullable(v.string()), "directory of its first pane"),
  git: GitSchema,
  command: described(v.string(), "program of its first pane"),
  agents: described(v.array(v.string()), "AI agents that ran in it"),
});

const MatchSchema = v.object({
  session: v.string(),
  id: described(v.string(), "of the session"),
  label: described(v.nullable(v.string()), "null: last saved state of a crashed session"),
  pane_id: described(v.nullable(v.string()), "null: not of one pane"),
  in: described(
    v.picklist(["name", "label", "note", "directory", "command", "line"]),
    "the matching part; command lines and text are the pane's",
  ),
  excerpt: described(v.string(), "text around the match, on one line"),
});

const ShownWindowSchema = v.object({
  id: v.string(),
  name: described(v.nullable(v.string()), "null: after its program"),
  active: v.boolean(),
  zoomed: v.boolean(),
  panes: described(v.array(v.string()), "ids, in order"),
  layout: described(v.string(), "rows and columns of panes, with their shares"),
});

const ShownPaneSchema = v.object({
  id: v.string(),
  title: v.string(),
  cwd: v.nullable(v.string()),
  git: GitSchema,
  agent: described(v.nullable(v.string()), "its AI agent"),
  rows: v.number(),
  cols: v.number(),
  program: described(v.string(), "its start command"),
  running: described(v.nullable(v.string()), "the running command line; null: at its prompt"),
  screen: described(v.array(v.string()), "lines, without styles"),
  lines_above: described(v.number(), "number of stored lines above the screen"),
});

const MomentSchema = v.object({
  label: described(v.nullable(v.string()), "null: the present or last saved state"),
  saved_at: described(v.number(), "Unix time in ms"),
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
      search: optional(
        v.string(),
        "only checkpoints with this text, in any case: name, label, note, directory, branch, commands, lines",
      ),
    }),
    output: v.object({
      crashed: described(v.array(SessionInfoSchema), "their last saved state"),
      named: described(v.array(NamedSchema), "by session, then by label"),
      matches: optional(v.array(MatchSchema), "with search: matches, newest checkpoint first, at most 5 of each"),
      incomplete: optional(v.boolean(), "with search: the search is incomplete (5 s, or removed meanwhile)"),
      unreadable: described(v.array(FailureSchema), "damaged ones, and those of a later version"),
    }),
    http: [{ method: "GET", path: "/checkpoints" }],
    ws: ["checkpoints"],
  }),
  operation({
    name: "checkpoint.restore",
    scope: "server",
    access: "operate",
    forAgents: "stored",
    showsAnswer: true,
    summary:
      "Restore a crashed session, all of them, or a labelled checkpoint: same name, ids, tags and layout; a new shell below the old screen, with " +
      "the command line that was running at its prompt",
    input: v.object({
      session: v.optional(TargetSchema),
      all: optional(flag, "every crashed session", false),
      as: optional(v.string(), "another name; with label: also beside the running session"),
      label: v.optional(LabelSchema),
    }),
    rules: restoreRules,
    output: v.object({
      restored: described(v.array(SessionInfoSchema), "the sessions, running again"),
      left_out: described(v.array(LeftOutSchema), "panes not restored with their session"),
      failed: described(v.array(FailureSchema), "with all: those that could not be restored"),
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
    forAgents: "stored",
    showsAnswer: true,
    summary: "Save the present state of a session under a label, until it is deleted",
    input: v.object({
      session: SessionSchema,
      label: optional(v.string(), "1 to 64 of A-Z a-z 0-9 . _ -; absent: date and time"),
      note: optional(v.string(), "1 to 500 visible characters, on one line"),
      replace: optional(flag, "an existing checkpoint with the label", false),
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
      label: optional(v.string(), "absent: the automatic one"),
    }),
    output: v.object({
      session: v.string(),
      id: v.string(),
      label: described(v.nullable(v.string()), "null: the automatic one"),
      saved_at: described(v.number(), "Unix time in ms"),
      note: NoteSchema,
      bytes: described(v.number(), "size on disk"),
      tags: v.array(v.string()),
      rows: v.number(),
      cols: v.number(),
      windows: v.array(ShownWindowSchema),
      panes: v.array(ShownPaneSchema),
      left_out: described(v.array(LeftOutSchema), "panes that cannot be read"),
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
      to: optional(v.string(), "another label; absent: the present state"),
    }),
    output: v.object({
      session: v.string(),
      id: v.string(),
      from: described(MomentSchema, "the checkpoint"),
      to: described(MomentSchema, "the other side"),
      changes: described(
        v.array(
          v.object({
            of: described(v.nullable(v.string()), "a window or pane; null: the session"),
            what: described(v.string(), "name, tags, size, layout, cwd, program …"),
            before: described(v.nullable(v.string()), "null: absent before"),
            after: described(v.nullable(v.string()), "null: absent now"),
          }),
        ),
        "of names, places and programs",
      ),
      lines: described(
        v.array(
          v.object({
            pane_id: v.string(),
            changed: described(v.array(v.string()), "lines with + or - before them"),
            more: described(v.number(), "omitted older changes"),
          }),
        ),
        "texts of panes",
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
    forAgents: "stored",
    showsAnswer: true,
    summary: "Delete a labelled checkpoint",
    input: v.object({ session: SessionSchema, label: LabelSchema }),
    output: v.object({
      session: v.string(),
      label: LabelSchema,
      bytes: described(v.number(), "size of the deleted files"),
    }),
    errors: notFound,
    http: [{ method: "DELETE", path: "/checkpoints/named" }],
    ws: ["delete_checkpoint"],
  }),
  operation({
    name: "checkpoint.forget",
    scope: "server",
    access: "admin",
    ends: "data",
    showsAnswer: true,
    summary: "Delete the checkpoints, labelled ones too, of a session that is not running, or of all such sessions",
    input: v.object({
      session: v.optional(TargetSchema),
      all: optional(flag, "every session that is not running", false),
    }),
    rules: forgetRules,
    output: v.object({
      forgotten: described(
        v.array(
          v.object({
            id: described(v.string(), "of the session"),
            name: described(v.nullable(v.string()), "null: unreadable"),
            bytes: described(v.number(), "size of the deleted files"),
            labels: described(v.array(v.string()), "of its named checkpoints"),
          }),
        ),
        "the sessions that can no longer be read or restored",
      ),
    }),
    errors: ["checkpoint_not_found"],
    http: [{ method: "DELETE", path: "/checkpoints" }],
    ws: ["forget"],
  }),
] as const;
