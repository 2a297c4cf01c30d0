/**
 * The git worktree of a session that was made with a branch: beside its repository, named REPOSITORY.BRANCH. An
 * existing worktree of the branch is used and left alone. One that was made for the session is removed with it, unless
 * git would lose data (changed or untracked files) or a process still works there; the branch is kept in any case.
 */
import fs from "node:fs";
import { basename, dirname, join } from "node:path";
import { type GitPlace, git } from "../platform/git.ts";
import { platform } from "../platform/platform.ts";
import { WshError } from "../protocol/errors.ts";
import type { Worktree } from "../protocol/worktree.ts";

interface PreparedWorktree {
  readonly worktree: Worktree;
  /** The caller's directory, in the worktree. */
  readonly cwd: string;
  /** Call if the session could not be made: removes the new worktree. */
  discard(): Promise<void>;
}

/** @throws WshError invalid_request: no repository, an invalid branch name, or git's own refusal */
export async function prepareWorktree(branch: string, place: GitPlace): Promise<PreparedWorktree> {
  const root = await git(place, "rev-parse", "--show-toplevel").catch((thrown) => {
    throw worktreeError(
      `'${place.cwd}' is not in a git repository with files`,
      thrown,
      "Start it in a directory of one, or with cwd.",
    );
  });
  // git reads a text that begins with a dash as an option.
  await git(place, "check-ref-format", "--branch", branch.startsWith("-") ? "" : branch).catch((thrown) => {
    throw worktreeError(`'${branch}' cannot be the name of a branch`, thrown, "Use a name such as feature/login.");
  });
  const relativeCwd = fs.realpathSync(place.cwd).slice(fs.realpathSync(root).length + 1);
  const cwdIn = (path: string): string => {
    const inner = join(path, relativeCwd);
    return fs.existsSync(inner) ? inner : path;
  };
  const existingWorktree = await findWorktree(place, branch);
  if (existingWorktree !== null)
    return {
      worktree: { branch, path: existingWorktree, own: false },
      cwd: cwdIn(existingWorktree),
      discard: async () => {},
    };
  // The main worktree's name, even if the caller is in another one.
  const mainWorktree = dirname(await git(place, "rev-parse", "--path-format=absolute", "--git-common-dir"));
  const path = join(dirname(mainWorktree), `${basename(mainWorktree)}.${branch.replaceAll("/", "-")}`);
  const branchExists = await git(place, "rev-parse", "--verify", "--quiet", `refs/heads/${branch}`).then(
    () => true,
    () => false,
  );
  const addArguments = branchExists ? ["--", path, branch] : ["-b", branch, "--", path];
  await git(place, "worktree", "add", ...addArguments).catch((thrown) => {
    throw worktreeError(`git cannot create the worktree '${path}'`, thrown, "Nothing was created.");
  });
  const worktree = { branch, path, own: true };
  return {
    worktree,
    cwd: cwdIn(path),
    async discard() {
      await removeWorktree(worktree);
      if (!branchExists) await git(place, "branch", "-D", "--", branch).catch(() => {});
    },
  };
}

/** @returns whether it was removed; false: data in it would be lost */
export async function removeWorktree({ path, own }: Worktree): Promise<boolean> {
  if (!own || !fs.existsSync(path)) return true;
  const { listeners, processes } = platform();
  const isInside = (pid: number): boolean => `${processes.cwd(pid) ?? ""}/`.startsWith(`${path}/`);
  if (listeners?.all().some((pid) => pid !== process.pid && isInside(pid)) === true) return false;
  return git({ cwd: dirname(path), env: process.env }, "-C", path, "worktree", "remove", path).then(
    () => true,
    () => false,
  );
}

/** The worktree in which a branch is checked out; null: none. */
async function findWorktree(place: GitPlace, branch: string): Promise<string | null> {
  const list = await git(place, "worktree", "list", "--porcelain");
  const entry = list.split("\n\n").find((each) => each.split("\n").includes(`branch refs/heads/${branch}`));
  const path = /^worktree (.+)$/m.exec(entry ?? "")?.[1];
  return path !== undefined && fs.existsSync(path) ? path : null;
}

function worktreeError(message: string, thrown: unknown, hint: string): WshError {
  const why = thrown instanceof Error && thrown.message !== "" ? `: ${thrown.message}` : "";
  return new WshError("invalid_request", `${message}${why}`, { field: "worktree", hint });
}
