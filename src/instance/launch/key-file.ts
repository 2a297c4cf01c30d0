/**
 * Hands a session's secret to its shell through a file that our script empties as the first thing it does, so that it
 * stands neither in the shell's environment nor anywhere when the first program runs. The file is offered before each
 * start of the shell and removed when the shell has shown that it knows the secret, or has ended.
 */
import fs from "node:fs";
import { join } from "node:path";
import { randomToken } from "../secrets/own-secrets.ts";

/** Age at which a file that no one took is the remains of a session process that was killed, in ms. */
const LEFT_MS = 10 * 60_000;
/** Characters of a file's name: enough that no two sessions meet. */
const NAME_LENGTH = 12;
const PREFIX = "key-";

export class KeyFile {
  readonly path: string;
  private offered = false;

  /** @param directory absolute, and ours alone */
  constructor(
    private readonly directory: string,
    private readonly key: string,
  ) {
    this.path = join(directory, `${PREFIX}${randomToken(NAME_LENGTH)}`);
  }

  /** The shell is about to start. */
  offer(): void {
    removeLeft(this.directory);
    fs.rmSync(this.path, { force: true });
    fs.writeFileSync(this.path, `${this.key}\n`, { mode: 0o600, flag: "wx" });
    this.offered = true;
  }

  /** The shell has it, or never will. Runs per mark, so it does nothing twice. */
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
