/** The instance's tmux state, in a file of the state directory. It is changed under a lock, and read whole. */
import fs from "node:fs";
import { join } from "node:path";
import { withLock } from "../../instance/lock.ts";
import { readOwnJson } from "../../instance/own-json.ts";
import { replaceOwnFile } from "../../instance/owned-files.ts";
import { type Instance, prepareStateDir } from "../../instance/paths.ts";
import { placeDigest } from "../../instance/place-digest.ts";
import { emptyState, type State, StateSchema } from "../state.ts";

/** Longest interval between two checks for a change, in ms: a report may be missing. */
const LOOK_MS = 500;

export class StateFile {
  private readonly path: string;

  constructor(private readonly instance: Instance) {
    // One file per runtime directory: another one that shares the state directory has other sessions.
    this.path = join(instance.stateDir, `${instance.fileName}.${placeDigest(instance.runtimeDir)}.tmux`);
  }

  /** Returns an empty state for a missing or unreadable file. */
  read(): State {
    return readOwnJson(this.path, StateSchema) ?? emptyState();
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

  /** Resolves when the file has changed, or after an interval. */
  changed(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, LOOK_MS);
    let watcher: fs.FSWatcher | null = null;
    try {
      watcher = fs.watch(this.instance.stateDir, () => resolve());
      watcher.on("error", () => {});
    } catch {
      // The system's watches are exhausted: the interval remains.
    }
    return promise.finally(() => {
      clearTimeout(timer);
      watcher?.close();
    });
  }
}
