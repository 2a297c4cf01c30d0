/** The specification of a new session process, as JSON on its stdin: the session, its owner and its environment. */
import * as v from "valibot";
import { HooksSchema } from "../protocol/hooks.ts";
import { OwnerProcessSchema, OwnerSchema } from "../protocol/owner.ts";
import { RequestKeySchema } from "../protocol/requests.ts";
import { CreateSessionSchema } from "../protocol/session.ts";
import { WorktreeSchema } from "../protocol/worktree.ts";

const CreateSpec = v.object({
  ...v.omit(CreateSessionSchema, ["if_exists", "server"]).entries,
  on: v.optional(HooksSchema),
});

/** A pane of a crashed session, with its former ids. */
const RestoredSchema = v.object({
  /** Folder of the session's checkpoint. */
  directory: v.string(),
  pane: v.number(),
  session: v.number(),
  window: v.number(),
  created_at: v.number(),
  owner: v.optional(OwnerSchema),
  /** The pane's owner, if the checkpoint has it; otherwise the session's owner is the pane's. */
  pane_owner: v.optional(OwnerSchema),
  worktree: v.optional(WorktreeSchema),
  /** How the session crashed, as text, and when it was last saved. */
  why: v.string(),
  saved_at: v.number(),
  /** Whether a shell is started below the earlier contents; otherwise those stay readable for a while. */
  run: v.boolean(),
  /** The pane's counters, if higher than in its checkpoint. */
  numbers: v.optional(v.object({ output_cursor: v.number(), command_id: v.number() })),
  /** Notes for the person, below the rule. */
  notes: v.array(v.string()),
});
export type RestoredSpec = v.InferOutput<typeof RestoredSchema>;

/** One of several restored panes. */
const PaneSpecSchema = v.object({
  create: CreateSpec,
  env: v.record(v.string(), v.string()),
  cwd: v.string(),
  nofile: v.nullable(v.number()),
  restored: RestoredSchema,
});

export const SessionSpecSchema = v.object({
  /** Path of the instance's HTTP socket, which names runtime directory and instance. */
  socket: v.string(),
  create: CreateSpec,
  /** How a session without a name is named: by a number, or `default` if that is free. */
  naming: v.picklist(["number", "default"]),
  /** The caller's environment and directory, for the program. */
  env: v.record(v.string(), v.string()),
  cwd: v.string(),
  /** The caller's soft limit of open descriptors, if known. */
  nofile: v.nullable(v.number()),
  /** The program's output waits until the starter follows it, provided that the starter lives and follows soon. */
  followed: v.optional(v.boolean(), false),
  /** A person opens the session: without a command it runs the one of the setting default_command. */
  opened: v.optional(v.boolean(), false),
  /** A file or pipe that the program gets as standard input; `create.stdin` takes precedence. */
  stdin_path: v.optional(v.string()),
  /** A file that gets the program's standard output in addition to the terminal. */
  stdout_path: v.optional(v.string()),
  /** Owner of the session; absent: the person at the command line. */
  owner: v.optional(OwnerSchema),
  /** With `owner_bound`: the process with which the session ends; absent: the server reports that its owner is gone. */
  owner_process: v.optional(OwnerProcessSchema),
  /** The process that starts the session; a server has logged the call already. */
  starter: v.optional(v.picklist(["server", "cli"]), "cli"),
  restored: v.optional(RestoredSchema),
  /** A crashed session with several panes: `restored` is its oldest one, and `create` describes the session. */
  split: v.optional(
    v.object({
      /** Id of its process before the crash. */
      owner: v.number(),
      /** The layout of its windows and panes (checkpoints/tree.ts). */
      tree: v.unknown(),
      panes: v.array(PaneSpecSchema),
    }),
  ),
  /** The request for which the session is made: another process that was started for the same request exits. */
  once: v.optional(RequestKeySchema),
  /** Unix time in ms after which no session is made. */
  deadline: v.optional(v.number()),
  /** Replaces the setting, for a server started with its own limit. */
  max_sessions: v.optional(v.number()),
});
export type SessionSpec = v.InferOutput<typeof SessionSpecSchema>;
