/**
 * A list in a file that no other user can read or write, replaced completely under a lock, so that a reader never sees
 * half of it. A file accessible to others, or with invalid contents, is refused completely.
 */
import fs from "node:fs";
import * as v from "valibot";
import { withLock } from "../instance/lock.ts";
import { checkOwnFile, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { refused } from "../instance/system-refusal.ts";
import { WshError } from "../protocol/errors.ts";

export class PrivateList<T> {
  /** @param what describes the contents of the file, for messages */
  constructor(
    private readonly pathIn: (instance: Instance) => string,
    private readonly schema: v.GenericSchema<unknown, T>,
    private readonly what: string,
  ) {}

  path(instance: Instance): string {
    return this.pathIn(instance);
  }

  /** @throws WshError unsafe_path */
  read(instance: Instance): readonly T[] {
    const path = this.pathIn(instance);
    if (!checkOwnFile(path)) return [];
    let value: unknown;
    try {
      value = JSON.parse(fs.readFileSync(path, "utf8"));
    } catch {
      value = null;
    }
    const parsed = v.safeParse(v.array(this.schema), value);
    if (parsed.success) return parsed.output;
    throw new WshError("unsafe_path", `${path} does not contain ${this.what}`, {
      hint: `Delete the file and create the ${this.what} again.`,
    });
  }

  /** @throws WshError unsafe_path; the error of `edit`, or of writing the file */
  async change(instance: Instance, edit: (list: readonly T[]) => readonly T[]): Promise<void> {
    prepareStateDir(instance);
    const path = this.pathIn(instance);
    await withLock(`${path}.lock`, async () => {
      const text = `${JSON.stringify(edit(this.read(instance)), null, 2)}\n`;
      try {
        replaceOwnFile(path, text);
      } catch (error) {
        throw refused(`${path} cannot be written`, error);
      }
    });
  }
}
