/** The specification of a new session process, as JSON on its stdin: which session to make, for whom, and where. */
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

/** A pane of a crashed session, under the ids that it had. */
export const RestoredSchema = v.object({
  /** Folder of the session's checkpoint. */
  directory: v.string(),
  pane: v.number(),
  session: v.number(),
  window: v.number(),
  created_at: v.number(),
  owner: v.optional(OwnerSchema),
  worktree: v.optional(WorktreeSchema),
  /** How it crashed, in words, and when it was last saved. */
  why: v.string(),
  saved_at: v.number(),
  /** A shell is started below the earlier contents; else those stay readable for a while. */
  run: v.boolean(),
  /** The numbers that the pane has handed out, if higher than in its checkpoint. */
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
  /** Name of a session without one: a number, or `default` while that is free. */
  naming: v.picklist(["number", "default"]),
  /** The caller's environment and directory, for the program. */
  env: v.record(v.string(), v.string()),
  cwd: v.string(),
  /** The caller's soft limit of open descriptors, if known. */
  nofile: v.nullable(v.number()),
  /** The program's output waits until the starter follows it, provided that the starter lives and follows soon. */
  followed: v.optional(v.boolean(), false),
  /** A person opens it: without a command it runs that of the setting default_command. */
  opened: v.optional(v.boolean(), false),
  /** A file or pipe that the program gets as standard input; `create.stdin` goes before it. */
  stdin_path: v.optional(v.string()),
  /** A file that gets the program's standard output, besides the terminal. */
  stdout_path: v.optional(v.string()),
  /** Who makes it; absent: the person at the command line. */
  owner: v.optional(OwnerSchema),
  /** With `owner_bound`: the process that it ends with; absent: the server says when its maker is gone. */
  owner_process: v.optional(OwnerProcessSchema),
  /** Which process starts it; a server has logged the call already. */
  starter: v.optional(v.picklist(["server", "cli"]), "cli"),
  restored: v.optional(RestoredSchema),
  /** A crashed session with several panes: `restored` is its oldest one, and `create` is of the session. */
  split: v.optional(
    v.object({
      /** Id that its process had. */
      owner: v.number(),
      /** The layout of its windows and panes (checkpoints/tree.ts). */
      tree: v.unknown(),
      panes: v.array(PaneSpecSchema),
    }),
  ),
  /** The request that it is made for: another process that was started for the same one ends. */
  once: v.optional(RequestKeySchema),
  /** Unix time in ms after which nothing is made. */
  deadline: v.optional(v.number()),
  /** Replaces the setting, for a server started with its own limit. */
  max_sessions: v.optional(v.number()),
});
export type SessionSpec = v.InferOutput<typeof SessionSpecSchema>;
