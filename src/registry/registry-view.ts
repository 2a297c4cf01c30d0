/**
 * The registry for a long-lived reader: read again only when an lstat shows that a directory has changed. A directory
 * that changed recently may change again within the same tick of the kernel's clock, so it counts as unchanged only
 * once its last change is older than that. Listing session processes is one call for any number of them; their names
 * cost an lstat per process and name, and are for readers that cannot ask the process itself.
 */
import fs from "node:fs";
import { checkRuntimeDir, type Instance } from "../instance/paths.ts";
import { processIds, type SessionEntry } from "./directories.ts";
import { listSessions } from "./registry.ts";

/** Age of a change, in ms, at which the next one certainly has another time: ticks are 1 to 10 ms. */
const TICK_MS = 50;

/** The result of reading some directories, valid while they do not change. */
class Reading<T> {
  private stamp: string | null = null;
  private value: readonly T[] = [];

  constructor(
    private readonly directories: readonly string[],
    private readonly read: () => readonly T[],
  ) {}

  now(): readonly T[] {
    // Taken before: a directory that changes while it is read is read again.
    const stamp = this.stampNow();
    if (stamp === null || stamp !== this.stamp) {
      this.value = this.read();
      this.stamp = stamp;
    }
    return this.value;
  }

  /** Identity and last change of each directory; null when the last change is too recent. */
  private stampNow(): string | null {
    const newest = Date.now() - TICK_MS;
    const parts: string[] = [];
    for (const path of this.directories) {
      const stat = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (stat === undefined || Number(stat.mtimeMs) > newest) return null;
      parts.push(`${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.ctimeNs}`);
    }
    return parts.join(" ");
  }
}

export class RegistryView {
  private readonly processes: Reading<number>;
  private readonly sessions: Reading<SessionEntry>;

  constructor(private readonly instance: Instance) {
    const { sessionsDir, namesDir } = instance;
    this.processes = new Reading([sessionsDir], () => processIds(instance));
    this.sessions = new Reading([sessionsDir, namesDir], () => listSessions(instance));
  }

  /** Ids of all files named like a session process's socket, in order of creation, as of now. */
  ids(): readonly number[] {
    return checkRuntimeDir(this.instance) ? this.processes.now() : [];
  }

  /** All session processes with their names, in order of creation, as of now. */
  entries(): readonly SessionEntry[] {
    return checkRuntimeDir(this.instance) ? this.sessions.now() : [];
  }
}
