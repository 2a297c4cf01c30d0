/**
 * A private list that follows its file: each access checks whether the file was replaced, and reads it again
 * then, so that added entries count and removed ones fail at once. An untrusted file counts as empty. Each entry
 * has a signal, which aborts when the entry is removed, changed, or expires: a caller admitted by the entry gets
 * the signal from the same access, so that nothing is opened after its end.
 */
import fs from "node:fs";
import { basename, dirname } from "node:path";

/** Longest interval between checks for expired entries, in ms: the clock may be set, and the machine may sleep. */
const EXPIRY_CHECK_MS = 10_000;
/** Interval between checks of a file that cannot be watched, in ms. */
const FILE_POLL_MS = 500;

/** An entry, and the signal of its end. */
export type Watched<T> = T & { readonly endSignal: AbortSignal };

interface WatchedListPort<T> {
  readonly path: string;
  /** @throws when the file cannot be trusted */
  readFile(): readonly T[];
  /** Identifies an entry: connections opened under another key are ended. */
  key(entry: T): string;
  /** Its expiry, in ms since 1970; null: it does not expire. */
  expiryOf(entry: T): number | null;
  onReadError(error: unknown): void;
  /** Called after its signal has aborted. */
  onEntryEnd(entry: T): void;
}

interface WatchedEntry<T> {
  readonly entry: Watched<T>;
  readonly end: AbortController;
  readonly endsAt: number | null;
}

export class WatchedList<T extends object> implements Disposable {
  private entries = new Map<string, WatchedEntry<T>>();
  private version = "";
  private watcher: fs.FSWatcher | null = null;
  /** Polls the file when the system's watches are exhausted. */
  private pollTimer: Timer | null = null;
  /** Runs while a valid entry will expire. */
  private timer: Timer | null = null;

  constructor(private readonly port: WatchedListPort<T>) {
    this.refresh();
    try {
      this.watcher = fs.watch(dirname(port.path), { persistent: false }, (_, name) => {
        if (name === null || name === basename(port.path)) this.refresh();
      });
      this.watcher.on("error", () => {});
    } catch {
      this.pollTimer = setInterval(() => this.refresh(), FILE_POLL_MS);
      this.pollTimer.unref();
    }
  }

  /** Runs once per request. */
  get entriesNow(): readonly Watched<T>[] {
    this.refresh();
    if (this.timer !== null) this.endExpired();
    return [...this.entries.values()].map(({ entry }) => entry);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    clearInterval(this.pollTimer ?? undefined);
    this.watcher?.close();
  }

  private refresh(): void {
    const { port } = this;
    const stat = fs.lstatSync(port.path, { bigint: true, throwIfNoEntry: false });
    const version = stat === undefined ? "absent" : `${stat.ino}:${stat.mtimeNs}:${stat.mode}`;
    if (version === this.version) return;
    this.version = version;
    let read: readonly T[] = [];
    try {
      read = port.readFile();
    } catch (error) {
      port.onReadError(error);
    }
    const before = this.entries;
    const now = Date.now();
    const living = read.filter((entry) => (port.expiryOf(entry) ?? now + 1) > now);
    this.entries = new Map(
      living.map((entry) => [port.key(entry), before.get(port.key(entry)) ?? this.watchEntry(entry)]),
    );
    for (const [key, held] of before) if (!this.entries.has(key)) this.end(held);
    this.endExpired();
  }

  private watchEntry(entry: T): WatchedEntry<T> {
    const end = new AbortController();
    return { entry: { ...entry, endSignal: end.signal }, end, endsAt: this.port.expiryOf(entry) };
  }

  private endExpired(): void {
    const now = Date.now();
    let next = EXPIRY_CHECK_MS;
    let isWaiting = false;
    for (const [key, held] of this.entries) {
      if (held.endsAt === null) continue;
      if (held.endsAt > now) {
        next = Math.min(next, held.endsAt - now);
        isWaiting = true;
      } else {
        this.entries.delete(key);
        this.end(held);
      }
    }
    clearTimeout(this.timer ?? undefined);
    this.timer = isWaiting ? setTimeout(() => this.endExpired(), next) : null;
    this.timer?.unref();
  }

  private end({ entry, end }: WatchedEntry<T>): void {
    this.port.onEntryEnd(entry);
    end.abort();
  }
}
