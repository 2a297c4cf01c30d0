/**
 * The record of a pane and of its session in a checkpoint, besides lines of text: schemas and types. A record of a
 * later version is refused, not read in part.
 */
import * as v from "valibot";
import { ConversationSchema } from "../../protocol/agent.ts";
import { WshError } from "../../protocol/errors.ts";
import { integerBetween, integerFrom } from "../../protocol/fields.ts";
import { HooksSchema } from "../../protocol/hooks.ts";
import { jsonOrNull } from "../../protocol/json.ts";
import { OwnerSchema } from "../../protocol/owner.ts";
import { WorktreeSchema } from "../../protocol/worktree.ts";

export const CHECKPOINT_VERSION = 1;

const id = integerFrom(1);
const side = integerBetween(1, 1_000);
const line = integerFrom(0);

/** The session, in the record of its only pane or of its layout. */
const SessionPartSchema = v.object({
  id,
  window: id,
  name: v.string(),
  tags: v.array(v.string()),
  created_at: v.number(),
  owner: v.optional(OwnerSchema),
  worktree: v.optional(WorktreeSchema),
  idle_limit: v.optional(v.string()),
  /** Hooks given at the session's creation. */
  on: v.optional(HooksSchema),
  rows: side,
  cols: side,
});
export type SessionPart = v.InferOutput<typeof SessionPartSchema>;

/** When, where and by which version it was written. */
const origin = {
  version: v.literal(CHECKPOINT_VERSION),
  /** Unix time in ms. */
  saved_at: v.number(),
  /** The boot of the machine: a process still alive there has not crashed. */
  boot: v.string(),
  machine: v.string(),
  /** The signal that ended the process, if it could still report it. */
  ended_by: v.nullable(v.string()),
};

/** The command line that started the pane's foreground program, and its directory; it can be run again. */
const ForegroundSchema = v.object({
  line: v.string(),
  cwd: v.nullable(v.string()),
  /** Name of the program that held the terminal; null when unknown. */
  program: v.nullable(v.string()),
  agent: v.nullable(v.string()),
  /** The agent's conversation; an unreadable one is omitted. */
  conversation: v.optional(v.fallback(v.optional(ConversationSchema), undefined)),
});
export type Foreground = v.InferOutput<typeof ForegroundSchema>;

/** The newest output cursor and command id that a pane has issued. */
export const PaneNumbersSchema = v.object({ output_cursor: line, command_id: line });
export type PaneNumbers = v.InferOutput<typeof PaneNumbersSchema>;

export const PaneRecordSchema = v.object({
  ...origin,
  pane: id,
  session: SessionPartSchema,
  /** The pane's owner. Absent: unknown, or in records of earlier versions. */
  owner: v.optional(OwnerSchema),
  /** Whether another process serves the pane's session: then the layout's record describes the session. */
  is_member: v.boolean(),
  rows: side,
  cols: side,
  title: v.string(),
  cwd: v.nullable(v.string()),
  /** As requested: a command, a shell, or neither. */
  program: v.object({
    command: v.nullable(v.string()),
    shell: v.nullable(v.string()),
    display: v.string(),
    /** Variables given to it at its start, from those in `env`. */
    env: v.optional(v.record(v.string(), v.string())),
  }),
  env: v.record(v.string(), v.string()),
  nofile: v.nullable(v.number()),
  foreground: v.nullable(ForegroundSchema),
  /** How its program had ended, if it had. */
  exit: v.nullable(v.object({ code: v.nullable(v.number()), signal: v.nullable(v.string()) })),
  /** Lines above the screen: the generation of their file, and the range that belongs to this state. */
  history: v.nullable(v.object({ generation: id, first: line, end: line })),
  /** Number of the first line of the screen. */
  screen_line: line,
  /** Position on the displayed screen, from its upper left corner. Absent in records of earlier versions. */
  cursor: v.optional(v.object({ row: line, col: line, visible: v.boolean() })),
  /** The numbers that it had issued: a restored pane continues above them. Absent in records of earlier versions. */
  numbers: v.optional(PaneNumbersSchema),
  /** Positions of some of its output cursors: offset, line, cell. Absent in records of earlier versions. */
  places: v.optional(v.array(v.tuple([line, line, line]))),
  /**
   * Persistent overlays and panels, if the pane is the only one of its session
   * (session/drawing/persistent-elements.ts).
   */
  elements: v.optional(v.unknown()),
});
export type PaneRecord = v.InferOutput<typeof PaneRecordSchema>;

export const LayoutRecordSchema = v.object({
  ...origin,
  session: SessionPartSchema,
  /** Numbers of the panes that have a process, and of all windows. */
  panes: v.array(id),
  windows: v.array(id),
  /** The tree, as the session process keeps it (tree.ts). */
  tree: v.unknown(),
});
export type LayoutRecord = v.InferOutput<typeof LayoutRecordSchema>;

/** @returns null for an invalid record @throws WshError checkpoint_too_new */
export function parseRecord<S extends typeof PaneRecordSchema | typeof LayoutRecordSchema>(
  schema: S,
  text: string,
): v.InferOutput<S> | null {
  const value = jsonOrNull(text);
  if (typeof value === "object" && value !== null && "version" in value && Number(value.version) > CHECKPOINT_VERSION) {
    const message = `the checkpoint has version ${Number(value.version)}; this wsh reads version ${CHECKPOINT_VERSION}`;
    throw new WshError("checkpoint_too_new", message);
  }
  const parsed = v.safeParse(schema, value);
  return parsed.success ? parsed.output : null;
}
