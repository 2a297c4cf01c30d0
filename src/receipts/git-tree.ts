/**
 * The tree that git would commit for all files of a repository that it does not ignore. The repository's
 * index and objects stay unchanged: temporary ones are used instead.
 */
import fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type GitPlace, git } from "../platform/git.ts";

/** Longest run of git, in ms, since a command waits for it. A larger repository gets a reason instead of a tree. */
const MAX_MS = 10_000;

export type Tree = { readonly tree: string; readonly at: string } | { readonly missing: string };

/** Never throws: a tree that cannot be computed has a reason. @param agent the pane's owner, if that is an agent */
export async function gitTree(cwd: string | null, agent?: string): Promise<Tree> {
  if (cwd === null) return { missing: "the directory is unknown" };
  const signal = AbortSignal.timeout(MAX_MS);
  const place = { cwd, env: cleanEnvironment(), agent, signal };
  const root = await git(place, "rev-parse", "--show-toplevel").catch(() => null);
  if (root === null) return { missing: "the directory is in no git repository" };
  const temporary = fs.mkdtempSync(join(tmpdir(), "wsh-tree-"));
  try {
    return { tree: await write({ ...place, cwd: root }, temporary), at: new Date().toISOString() };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { missing: signal.aborted ? `git took longer than ${MAX_MS / 1000} s` : `git failed: ${why}` };
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
}

async function write(place: GitPlace, temporary: string): Promise<string> {
  const paths = ["--git-path", "index", "--git-path", "objects"];
  const [index = "", objects = ""] = (await git(place, "rev-parse", "--path-format=absolute", ...paths)).split("\n");
  const own = { index: join(temporary, "index"), objects: join(temporary, "objects") };
  // The copied index lets git skip unchanged files.
  if (fs.existsSync(index)) fs.copyFileSync(index, own.index);
  fs.mkdirSync(own.objects);
  const env = {
    ...place.env,
    GIT_INDEX_FILE: own.index,
    GIT_OBJECT_DIRECTORY: own.objects,
    GIT_ALTERNATE_OBJECT_DIRECTORIES: objects,
  };
  await git({ ...place, env }, "-c", "core.fsmonitor=false", "add", "--all");
  return git({ ...place, env }, "write-tree");
}

/** The environment without the variables that would lead git to another repository. */
function cleanEnvironment(): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_")));
}
