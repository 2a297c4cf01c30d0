/**
 * Files of a single process. They lie in the state directory, and their names are removed before the first write. So no
 * other process can open them, and the kernel frees them when the process ends. Programs do not inherit them, since
 * this runtime opens files with O_CLOEXEC.
 */

import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../base/random-token.ts";
import { type Instance, prepareStateDir } from "./paths.ts";

const OWNER_ONLY = 0o600;
/** Long enough that nobody can guess the name while it exists. */
const NAME_LENGTH = 16;

/** Opens an empty file for reading and writing. @returns its descriptor @throws the system's error */
export function openUnnamedFile(instance: Instance): number {
  prepareStateDir(instance);
  const path = join(instance.stateDir, `.${randomToken(NAME_LENGTH)}.spool`);
  const descriptor = fs.openSync(path, "wx+", OWNER_ONLY);
  fs.unlinkSync(path);
  return descriptor;
}
