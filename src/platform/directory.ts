/** Paths to the directories of processes, even of a directory whose name is not UTF-8 and has no text form. */
import fs from "node:fs";
import { platform } from "./platform.ts";

/** Replacement, in text, for bytes that are not UTF-8. */
const REPLACED = "\ufffd";
const LINK = /^\/proc\/\d+\/cwd$/;

/** The current directory of a process, valid while it lives; null when unknown. */
export function directoryOf(pid: number): string | null {
  const path = platform().processes.cwd(pid);
  if (path?.includes(REPLACED) !== true || fs.existsSync(path)) return path;
  const link = `/proc/${pid}/cwd`;
  return fs.existsSync(link) ? link : path;
}

/** This process's directory. @throws ENOENT when it was deleted */
export function ownDirectory(): string {
  const path = process.cwd();
  return path.includes(REPLACED) ? (directoryOf(process.pid) ?? path) : path;
}

/** A directory in which a process was started, as text for people. */
export function directoryName(path: string, pid: number | null): string {
  return LINK.test(path) && pid !== null ? (platform().processes.cwd(pid) ?? path) : path;
}

/** Whether the path is a directory, or a link to one; false if that is unknown. */
export function isDirectory(path: string): boolean {
  try {
    return fs.statSync(path).isDirectory();
  } catch {
    return false;
  }
}
