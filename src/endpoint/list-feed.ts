/**
 * Keeps servers' lists correct without polling the session. Each watching server has an info of the session.
 * The first change after that sends the watchers `stale`, once for any number of changes; a server asks when
 * it lists sessions. When nothing has changed for a second and the state will last, the watchers get the new
 * info unasked, so that a list need not ask. `changed` runs per chunk and per input. Without watchers nothing
 * is sent and no timer runs.
 */

import { Alarm } from "../base/alarm.ts";
import { systemClock } from "../base/clock.ts";
import { platform } from "../platform/platform.ts";
import type { Listing } from "../protocol/control.ts";
import type { SessionInfo } from "../protocol/session.ts";
import type { Session } from "../session/session.ts";

/** Silence after which watchers get the info unasked, in ms: longer than a person's pause between two keys. */
const QUIET_MS = 1_000;

interface ListEntry {
  readonly info: SessionInfo;
  readonly listing: Listing;
}

export class ListFeed {
  private changeCount = 0;
  /** Whether every watcher knows that its info is out of date. */
  private isStale = false;
  private changedAt = 0;
  private readonly alarm = new Alarm(systemClock, () => this.sendIfQuiet());

  constructor(
    private readonly session: Session,
    private readonly hasWatchers: () => boolean,
    private readonly send: (event: Readonly<Record<string, unknown>>) => void,
  ) {}

  /** Returns the info for a watcher that asks, which is notified of the next change. */
  answer(): ListEntry {
    const entry = this.currentEntry();
    this.isStale = false;
    return entry;
  }

  /** The info of an event: how long its state lasts was not checked. */
  get transientListing(): Listing {
    return { change: this.changeCount, pid: process.pid, lasting: null };
  }

  /** Something that a list shows may have changed. */
  changed(): void {
    if (!this.hasWatchers()) return;
    this.changedAt = systemClock.now();
    this.alarm.set(this.changedAt + QUIET_MS);
    if (this.isStale) return;
    this.isStale = true;
    this.changeCount++;
    const event = { event: "stale", change: this.changeCount };
    // The echo of a key is sent first; answers to requests follow later.
    queueMicrotask(() => this.send(event));
  }

  dispose(): void {
    this.alarm.clear();
  }

  private sendIfQuiet(): void {
    if (!this.hasWatchers()) return;
    const quietAt = this.changedAt + QUIET_MS;
    if (systemClock.now() < quietAt) {
      this.alarm.set(quietAt);
      return;
    }
    const entry = this.currentEntry();
    if (entry.listing.lasting === null) return;
    this.isStale = false;
    this.send({ event: "listing", ...entry });
  }

  private currentEntry(): ListEntry {
    const { info, lasting } = this.session.listing();
    const pid = typeof lasting === "number" ? lasting : null;
    const listing = { change: this.changeCount, pid: process.pid };
    if (pid === null) return { info, listing: { ...listing, lasting: lasting === "reported" ? lasting : null } };
    // The counter is read before and after the check: a change in between makes the info outdated.
    const { processes } = platform();
    const runs = processes.runs(pid);
    const again = this.session.listing();
    const isUnchanged =
      runs !== null && again.lasting === pid && processes.hasOneThread(pid) && processes.runs(pid) === runs;
    return { info: again.info, listing: { ...listing, lasting: isUnchanged ? { pid, runs } : null } };
  }
}
