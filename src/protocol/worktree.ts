/** A git worktree in which a session runs, and the repository around a directory (docs/protocol.md, Sessions). */
import * as v from "valibot";

export const WorktreeSchema = v.object({
  branch: v.pipe(v.string(), v.description("the branch that was asked for")),
  path: v.pipe(v.string(), v.description("top directory of the worktree")),
  own: v.pipe(v.boolean(), v.description("made for the session; removed with it when nothing in it would be lost")),
});
export type Worktree = v.InferOutput<typeof WorktreeSchema>;

export const RepositorySchema = v.object({
  root: v.pipe(v.string(), v.description("its top directory")),
  branch: v.pipe(v.nullable(v.string()), v.description("null: none was checked out")),
});
export type Repository = v.InferOutput<typeof RepositorySchema>;
