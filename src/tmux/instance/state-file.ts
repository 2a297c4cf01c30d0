/** What tmux keeps of an instance, in a file of the state directory: changed under a lock, read whole. */
import fs from "node:fs";
import { join } from "node:path";
import * as v from "valibot";
import { withLock } from "../../instance/lock.ts";
import { replaceOwnFile } from "../../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { placeDigest } from "../../instance/place-digest.ts";
import { emptyState, type State, StateSchema } from "../state.ts";

/** Longest time until a change is looked for although none was reported, in ms. */
const LOOK_MS = 500;

export class StateFile {
  private readonly path: string;

  constructor(private readonly instance: Instance) {
    // Of one runtime directory: another one that shares the state directory has other sessions.
    this.path = join(instance.stateDir, `${instance.fileName}.${placeDigest(instance.runtimeDir)}.tmux`);
  }

  /** Empty where there is none, or an unreadable one. */
  read(): State {
    try {
      const known = v.safeParse(StateSchema, JSON.parse(fs.readFileSync(this.path, "utf8")));
      return known.success ? known.output : emptyState();
    } catch {
      return emptyState();
    }
  }

  change<T>(change: (state: State) => T): Promise<T> {
    prepareStateDir(this.instance);
    return withLock(`${this.path}.lock`, () => {
      const state = this.read();
      const result = change(state);
      replaceOwnFile(this.path, JSON.stringify(state));
      return result;
    });
  }

  /** Resolves when the file has changed, or after a moment. */
  changed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_MS);
    const watcher = fs.watch(this.instance.stateDir, () => resolve());
    watcher.on("error", () => {});
    return promise.finally(() => {
      clearTimeout(timer);
      watcher.close();
    });
  }
}
