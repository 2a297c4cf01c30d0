/**
 * Files of one process alone: without a name, so that nobody else opens them and they go with the process, however it
 * ends. Programs do not inherit them: what this runtime opens has O_CLOEXEC.
 */

import { randomBytes } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";

/** Linux's O_TMPFILE: a file that never has a name. */
const O_TMPFILE = 0o20200000;
const OWNER_ONLY = 0o600;
/** Bytes of a name that nobody can guess. */
const NAME_BYTES = 12;

/** Opens an empty file for reading and writing. @returns its descriptor @throws the system's error */
export function openUnnamedFile(dir: string): number {
  if (process.platform === "linux") {
    try {
      return fs.openSync(dir, fs.constants.O_RDWR | O_TMPFILE, OWNER_ONLY);
    } catch {
      // Not every file system has such files: there the name is removed at once.
    }
  }
  const path = join(dir, `.${randomBytes(NAME_BYTES).toString("hex")}.spool`);
  const descriptor = fs.openSync(path, "wx+", OWNER_ONLY);
  fs.unlinkSync(path);
  return descriptor;
}
