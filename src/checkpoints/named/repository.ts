/**
 * Finds the git repository around a directory by reading its files: no process is started, and nothing from the
 * repository is executed.
 */
import fs from "node:fs/promises";
import { dirname, isAbsolute, join, resolve } from "node:path";
import { orUntil } from "../../base/deadline.ts";
import type { Repository } from "../../protocol/worktree.ts";

/** Most directories to check, upwards. */
const MAX_UPWARDS = 64;
/** Bytes to read of a HEAD or `.git` file: each is one line. */
const MAX_BYTES = 4_096;
/** Longest wait for a file system, in ms: a network file system may not answer. */
const WAIT_MS = 1_000;

/** Null: there is none, or its files cannot be read. */
export function findRepositoryInTime(cwd: string | null): Promise<Repository | null> {
  if (cwd === null || !isAbsolute(cwd)) return Promise.resolve(null);
  return orUntil(findRepository(cwd), { ms: WAIT_MS }, () => null);
}

async function findRepository(cwd: string): Promise<Repository | null> {
  let directory = cwd;
  for (let count = 0; count < MAX_UPWARDS; count++) {
    const gitPath = join(directory, ".git");
    // In a worktree and a submodule, `.git` is a file that names the actual directory.
    const actualGitDir = /^gitdir: ([^\n\0]+)/.exec((await readStart(gitPath)) ?? "")?.[1];
    const head = await readStart(join(actualGitDir === undefined ? gitPath : resolve(directory, actualGitDir), "HEAD"));
    if (head !== null) return { root: directory, branch: parseBranch(head) };
    if (dirname(directory) === directory) break;
    directory = dirname(directory);
  }
  return null;
}

/** Null: no branch is checked out, or its name is stored elsewhere (reftable). */
function parseBranch(head: string): string | null {
  return /^ref: refs\/heads\/(?!\.)([^\p{Cc}\p{Cf}\p{Z}]+)\n?$/u.exec(head)?.[1] ?? null;
}

/** The beginning of a regular file; null: it does not exist. */
async function readStart(path: string): Promise<string | null> {
  try {
    const file = await fs.open(path, fs.constants.O_RDONLY | fs.constants.O_NONBLOCK);
    try {
      if (!(await file.stat()).isFile()) return null;
      const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_BYTES), 0, MAX_BYTES, 0);
      return buffer.toString("utf8", 0, bytesRead);
    } finally {
      await file.close();
    }
  } catch {
    return null;
  }
}
