/**
 * A program's standard input, in a file of the state directory that only the account can read. The shell that starts
 * the program opens and removes it; leftovers of an interrupted start are removed after a day.
 */
import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../base/random-token.ts";
import { removeOldFiles } from "../instance/owned-files.ts";
import { type Instance, inKeptDir } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";

/** Age at which a file is a leftover, in ms: a program is started at once. */
const LEFT_MS = 24 * 3_600_000;
/** Characters of a file's name: enough to avoid collisions between sessions. */
const NAME_LENGTH = 16;

/** @returns the file's absolute path. @throws WshError runtime_dir_unusable; nothing is left then */
export function writeStdinFile(instance: Instance, text: string): string {
  try {
    return inKeptDir(instance, "stdin", (directory) => {
      removeOldFiles(directory, LEFT_MS);
      const path = join(directory, randomToken(NAME_LENGTH));
      try {
        fs.writeFileSync(path, text, { mode: 0o600, flag: "wx" });
      } catch (error) {
        fs.rmSync(path, { force: true });
        throw error;
      }
      return path;
    });
  } catch (thrown) {
    throw refused("the program's standard input cannot be written", thrown);
  }
}
