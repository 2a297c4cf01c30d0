/** A git worktree in which a session runs, and the repository around a directory (docs/protocol.md, Sessions). */
import * as v from "valibot";
import { described } from "./fields.ts";

export const WorktreeSchema = v.object({
  branch: described(v.string(), "the branch that was asked for"),
  path: described(v.string(), "top directory of the worktree"),
  own: described(v.boolean(), "made for the session; removed with it when nothing in it would be lost"),
});
export type Worktree = v.InferOutput<typeof WorktreeSchema>;

export const RepositorySchema = v.object({
  root: described(v.string(), "its top directory"),
  branch: described(v.nullable(v.string()), "null: none was checked out"),
});
export type Repository = v.InferOutput<typeof RepositorySchema>;
