/**
 * A private list as it is in its file now: read again whenever the file was replaced, checked on each look, so that what
 * was added counts and what was taken away fails at once. A file that cannot be trusted holds nothing.
 */
import fs from "node:fs";
import { basename, dirname } from "node:path";

export interface WatchedListPort<T> {
  readonly path: string;
  /** @throws when the file cannot be trusted */
  read(): readonly T[];
  failed(error: unknown): void;
  /** The list was replaced; not called for the first one. */
  replaced(before: readonly T[], after: readonly T[]): void;
}

export class WatchedList<T> implements Disposable {
  private list: readonly T[] = [];
  private version = "";
  private watcher: fs.FSWatcher | null = null;

  constructor(private readonly port: WatchedListPort<T>) {
    this.look();
    try {
      this.watcher = fs.watch(dirname(port.path), { persistent: false }, (_, name) => {
        if (name === null || name === basename(port.path)) this.look();
      });
      this.watcher.on("error", () => {});
    } catch {
      // No watches are left: the next look notices instead.
    }
  }

  /** Runs once a request. */
  get now(): readonly T[] {
    this.look();
    return this.list;
  }

  [Symbol.dispose](): void {
    this.watcher?.close();
  }

  private look(): void {
    const { port } = this;
    const stat = fs.lstatSync(port.path, { bigint: true, throwIfNoEntry: false });
    const version = stat === undefined ? "absent" : `${stat.ino}:${stat.mtimeNs}:${stat.mode}`;
    if (version === this.version) return;
    const isFirst = this.version === "";
    this.version = version;
    const before = this.list;
    try {
      this.list = port.read();
    } catch (error) {
      this.list = [];
      port.failed(error);
    }
    if (!isFirst) port.replaced(before, this.list);
  }
}
