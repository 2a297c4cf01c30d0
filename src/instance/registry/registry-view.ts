/**
 * The registry as a long-lived reader sees it: read again only when one of its directories has changed, which two lstat
 * calls tell. A directory that changed a moment ago may change again within the same tick of the kernel's clock, so it
 * counts as unchanged only once its last change is older than that.
 */
import fs from "node:fs";
import { checkRuntimeDir, type Instance } from "../paths.ts";
import type { SessionEntry } from "./directories.ts";
import { listSessions } from "./registry.ts";

/** Age of a change, in ms, at which the next one certainly has another time: ticks are 1 to 10 ms. */
const TICK_MS = 50;

export class RegistryView {
  private stamp: string | null = null;
  private known: readonly SessionEntry[] = [];

  constructor(private readonly instance: Instance) {}

  /** All hosts in order of creation, as of now. */
  entries(): readonly SessionEntry[] {
    if (!checkRuntimeDir(this.instance)) return [];
    const stamp = this.stampNow();
    if (stamp !== null && stamp === this.stamp) return this.known;
    this.known = listSessions(this.instance);
    // Taken before: what changed while it was read is read again.
    this.stamp = stamp;
    return this.known;
  }

  /** Identity and last change of both directories; null when the last change is too young to tell anything. */
  private stampNow(): string | null {
    const newest = Date.now() - TICK_MS;
    const parts: string[] = [];
    for (const path of [this.instance.hostsDir, this.instance.namesDir]) {
      const stat = fs.lstatSync(path, { bigint: true, throwIfNoEntry: false });
      if (stat === undefined || Number(stat.mtimeMs) > newest) return null;
      parts.push(`${stat.dev}:${stat.ino}:${stat.mtimeNs}:${stat.ctimeNs}`);
    }
    return parts.join(" ");
  }
}
