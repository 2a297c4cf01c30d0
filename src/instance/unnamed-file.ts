/**
 * Files of one process alone: in the state directory, and their names are removed before anything is written, so that
 * nobody else opens them and they go with the process, however it ends. Programs do not inherit them: what this runtime
 * opens has O_CLOEXEC.
 */

import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../base/random-token.ts";
import { type Instance, prepareStateDir } from "./paths.ts";

const OWNER_ONLY = 0o600;
/** Characters of a name that nobody can guess while it exists. */
const NAME_LENGTH = 16;

/** Opens an empty file for reading and writing. @returns its descriptor @throws the system's error */
export function openUnnamedFile(instance: Instance): number {
  prepareStateDir(instance);
  const path = join(instance.stateDir, `.${randomToken(NAME_LENGTH)}.spool`);
  const descriptor = fs.openSync(path, "wx+", OWNER_ONLY);
  fs.unlinkSync(path);
  return descriptor;
}
