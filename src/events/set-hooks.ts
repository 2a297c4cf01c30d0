/**
 * Hooks that programs set for all sessions of a running instance, such as `tmux set-hook`: a file of the state
 * directory, which session processes read after it has changed. Without the file, an event costs one check that it is
 * missing.
 */
import fs from "node:fs";
import { join } from "node:path";
import { readOwnJson } from "../instance/own-json.ts";
import { removeIfPossible, replaceOwnFile } from "../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../instance/paths.ts";
import { placeDigest } from "../instance/place-digest.ts";
import { type Hook, HooksSchema } from "../protocol/hooks.ts";

export class SetHooks {
  private readonly path: string;
  private cached: { readonly version: string; readonly hooks: readonly Hook[] } | null = null;

  constructor(private readonly instance: Instance) {
    this.path = join(instance.stateDir, `${instance.fileName}.${placeDigest(instance.runtimeDir)}.on`);
  }

  /** Empty without a file, or if it cannot be read. */
  get hooks(): readonly Hook[] {
    const found = this.find();
    if (found === undefined) return [];
    const version = `${found.mtimeMs} ${found.ino}`;
    if (this.cached?.version === version) return this.cached.hooks;
    const hooks = readOwnJson(this.path, HooksSchema) ?? [];
    this.cached = { version, hooks };
    return hooks;
  }

  set hooks(hooks: readonly Hook[]) {
    if (hooks.length === 0) removeIfPossible(this.path);
    else {
      prepareStateDir(this.instance);
      replaceOwnFile(this.path, JSON.stringify(hooks));
    }
  }

  private find(): fs.Stats | undefined {
    try {
      return fs.statSync(this.path, { throwIfNoEntry: false });
    } catch {
      return undefined; // the state directory is not a directory
    }
  }
}
