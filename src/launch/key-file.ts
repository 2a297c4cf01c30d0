/**
 * Passes a session's secret to its shell in a file that our script empties first, so that neither the shell's
 * environment nor any file contains it when the first program runs. The file is written before each start of the shell
 * and removed when the shell has proved that it knows the secret, or has ended. The shell gets the path of a link in
 * the runtime directory, which stays the same for all its starts, whichever directory has room for the file.
 */
import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../base/random-token.ts";
import { pointTo, removeOldFiles } from "../instance/owned-files.ts";
import { type Instance, inKeptDir, keptDirs } from "../instance/paths.ts";
import { readLink } from "../platform/readable.ts";

/** Age at which an unread file is a leftover of a killed session process, in ms. */
const LEFT_MS = 10 * 60_000;
/** Characters of a file's name: enough to avoid collisions between sessions. */
const NAME_LENGTH = 12;
/** The dot keeps links apart from instances' directories: no instance name has one. */
const PREFIX = "key.";

export class KeyFile {
  /** The link. */
  readonly path: string;
  private readonly name = `${PREFIX}${randomToken(NAME_LENGTH)}`;
  private offered = false;

  constructor(
    private readonly instance: Instance,
    private readonly key: string,
  ) {
    this.path = join(instance.runtimeDir, this.name);
  }

  /** Writes the file; call before each start of the shell. @throws the system's error */
  offer(): void {
    removeLeftOnce(this.instance);
    this.offered = true;
    this.withdraw();
    const file = inKeptDir(this.instance, "keys", (directory) => this.write(join(directory, this.name)));
    pointTo(this.path, file);
    this.offered = true;
  }

  /** Removes the file once the shell has it, or never will. Called per mark, so repeating it does nothing. */
  withdraw(): void {
    if (!this.offered) return;
    this.offered = false;
    for (const path of [readLink(this.path), this.path]) if (path !== null) fs.rmSync(path, { force: true });
  }

  private write(path: string): string {
    try {
      fs.writeFileSync(path, `${this.key}\n`, { mode: 0o600, flag: "wx" });
      return path;
    } catch (error) {
      fs.rmSync(path, { force: true });
      throw error;
    }
  }
}

let isLeftRemoved = false;

/** At the first start of a shell in each process: often enough, and not on the path of a split. */
function removeLeftOnce(instance: Instance): void {
  if (isLeftRemoved) return;
  isLeftRemoved = true;
  for (const directory of [...keptDirs(instance, "keys"), instance.runtimeDir])
    removeOldFiles(directory, LEFT_MS, PREFIX);
}
