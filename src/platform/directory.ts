/** Paths that lead to directories of processes, also to one whose name is no UTF-8 and that no text names. */
import fs from "node:fs";
import { platform } from "./platform.ts";

/** What stands in text for bytes that are no UTF-8. */
const REPLACED = "\ufffd";
const LINK = /^\/proc\/\d+\/cwd$/;

/** The present directory of a process, as long as that lives; null when it cannot be told. */
export function directoryOf(pid: number): string | null {
  const path = platform().processes.cwd(pid);
  if (path?.includes(REPLACED) !== true || fs.existsSync(path)) return path;
  const link = `/proc/${pid}/cwd`;
  return fs.existsSync(link) ? link : path;
}

/** This process's. @throws ENOENT where it was deleted */
export function ownDirectory(): string {
  const path = process.cwd();
  return path.includes(REPLACED) ? (directoryOf(process.pid) ?? path) : path;
}

/** A directory in which a process was started, for people. */
export function directoryName(path: string, pid: number | null): string {
  return LINK.test(path) && pid !== null ? (platform().processes.cwd(pid) ?? path) : path;
}
