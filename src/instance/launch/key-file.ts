/**
 * Passes a session's secret to its shell in a file that our script empties first of all, so that neither the shell's
 * environment nor any file contains it when the first program runs. The file is written before each start of the shell
 * and removed when the shell has proved that it knows the secret, or has ended.
 */
import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../secrets/own-secrets.ts";

/** Age at which an unread file is a leftover of a killed session process, in ms. */
const LEFT_MS = 10 * 60_000;
/** Characters of a file's name: enough to avoid collisions between sessions. */
const NAME_LENGTH = 12;
const PREFIX = "key-";

export class KeyFile {
  readonly path: string;
  private offered = false;

  /** @param directory absolute, accessible to this user alone */
  constructor(
    private readonly directory: string,
    private readonly key: string,
  ) {
    this.path = join(directory, `${PREFIX}${randomToken(NAME_LENGTH)}`);
  }

  /** Writes the file; call before each start of the shell. */
  offer(): void {
    removeLeft(this.directory);
    fs.rmSync(this.path, { force: true });
    fs.writeFileSync(this.path, `${this.key}\n`, { mode: 0o600, flag: "wx" });
    this.offered = true;
  }

  /** Removes the file once the shell has it, or never will. Called per mark, so repeating it does nothing. */
  withdraw(): void {
    if (!this.offered) return;
    this.offered = false;
    fs.rmSync(this.path, { force: true });
  }
}

function removeLeft(directory: string): void {
  const old = Date.now() - LEFT_MS;
  for (const name of fs.readdirSync(directory)) {
    if (!name.startsWith(PREFIX)) continue;
    const path = join(directory, name);
    const stat = fs.lstatSync(path, { throwIfNoEntry: false });
    if (stat !== undefined && stat.mtimeMs < old) fs.rmSync(path, { force: true });
  }
}
