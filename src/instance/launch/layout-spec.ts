/** What a starter tells a new layout process, as JSON on its stdin. */
import * as v from "valibot";

const SizeSchema = v.object({ rows: v.number(), cols: v.number() });

/** The session that a pane's process hands over: everything that the layout process has from then on. */
export const HandedSessionSchema = v.object({
  session: v.number(),
  name: v.string(),
  tags: v.array(v.string()),
  private: v.boolean(),
  created_at: v.number(),
  ...SizeSchema.entries,
  window: v.number(),
  /** Number of the pane that the session had so far, and its socket. */
  pane: v.number(),
  /** Variables that it was started with, but for secrets. */
  pane_env: v.optional(v.record(v.string(), v.string())),
  /** Elements, screen mode, keyboard and open questions, as the session stores them. */
  drawing: v.unknown(),
  keyboard: v.unknown(),
  /** What was copied, newest first. */
  buffers: v.array(v.string()),
  questions: v.unknown(),
  /** Input of pages that was taken: name of the record, clients and their newest numbers. */
  taken: v.object({
    record: v.string(),
    newest: v.pipe(v.array(v.pipe(v.tuple([v.string(), v.number()]), v.readonly())), v.readonly()),
  }),
});
export type HandedSession = v.InferOutput<typeof HandedSessionSchema>;

export const LayoutSpecSchema = v.object({
  /** Path of the instance's HTTP socket, which names runtime directory and instance. */
  socket: v.string(),
  /** The environment of the session's programs, for those of new panes, and their soft limit of open descriptors. */
  env: v.record(v.string(), v.string()),
  nofile: v.nullable(v.number()),
  /** Null: the layout process of this session was lost, and its file says everything. */
  handed: v.nullable(HandedSessionSchema),
  session: v.number(),
  /** What that file would say, where the session comes back from a checkpoint. */
  tree: v.optional(v.unknown()),
});
export type LayoutSpec = v.InferOutput<typeof LayoutSpecSchema>;
