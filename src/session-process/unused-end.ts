/**
 * Ends a session that nobody uses any more: after its idle_limit. Invariants: an attached terminal keeps it; so does a
 * running program that a person has seen in the last day; people are warned before. Nothing is read while it is in use:
 * one timer waits until it may have been idle for long enough.
 */
import { programsIn } from "../endpoint/operations/running.ts";
import { intervals } from "../platform/intervals.ts";
import { durationOf } from "../protocol/moment.ts";
import type { Session } from "../session/session.ts";
import type { Content } from "./panes/content.ts";

/** Longest time from the warning to the end, in ms, and its share of the limit. */
const WARNING_MS = 10 * 60_000;
const WARNING_SHARE = 0.1;
/** Interval between looks at a program that keeps the session, as a share of the limit, and its bounds in ms. */
const LOOK_SHARE = 0.25;
const LOOK_LEAST_MS = 1_000;
const LOOK_MOST_MS = 5 * 60_000;

export class UnusedEnd implements Disposable {
  private timer: Timer | null = null;
  /** When a person last had it before them, in ms of performance.now. */
  private seenAt: number;
  private isChecking = false;
  /** Time from the warning to the end, in ms. */
  private readonly warningMs: number;

  /** @param isSeen a person has made or restored it */
  constructor(
    private readonly session: Session<Content>,
    private readonly limitMs: number,
    isSeen: boolean,
  ) {
    this.warningMs = Math.min(limitMs * WARNING_SHARE, WARNING_MS);
    this.seenAt = isSeen ? performance.now() : -Infinity;
    session.events.on("viewer", () => this.seen());
    session.events.on("destroyed", () => this[Symbol.dispose]());
    this.later(limitMs - this.warningMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
  }

  private seen(): void {
    this.seenAt = performance.now();
    if (this.session.info().ends === undefined) return;
    this.session.willEnd(null);
    this.later(this.limitMs - this.warningMs);
  }

  private later(ms: number): void {
    clearTimeout(this.timer ?? undefined);
    // setTimeout takes 24 days at most.
    this.timer = setTimeout(() => void this.check(), Math.min(Math.max(ms, 1), LOOK_MOST_MS * 12));
    this.timer.unref();
  }

  private async check(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    try {
      const next = await this.decide();
      if (next !== null) this.later(next);
    } finally {
      this.isChecking = false;
    }
  }

  /** @returns ms until the next look; null: it ends */
  private async decide(): Promise<number | null> {
    const { session, limitMs, warningMs } = this;
    const { pane: content, viewers, lifetime } = session;
    if (lifetime.isEnding || lifetime.isOver) return null;
    const now = performance.now();
    if (viewers.count > 0) this.seenAt = now;
    const left = limitMs - Math.min(content.activity.idleMs(), now - this.seenAt);
    if (left > warningMs || session.exit !== null) {
      this.calm();
      return session.exit === null ? left - warningMs : limitMs;
    }
    if (performance.now() - this.seenAt < intervals.seen && (await this.isWorking())) {
      this.calm();
      return Math.min(Math.max(limitMs * LOOK_SHARE, LOOK_LEAST_MS), LOOK_MOST_MS);
    }
    if (left > 0) {
      if (session.info().ends === undefined) session.willEnd({ at: Math.round(Date.now() + left), why: "idle" });
      return left;
    }
    // It may have been used while its programs were read.
    if (viewers.count > 0 || content.activity.idleMs() < limitMs) return 1;
    await lifetime.kill("killed");
    return null;
  }

  private calm(): void {
    if (this.session.info().ends !== undefined) this.session.willEnd(null);
  }

  private async isWorking(): Promise<boolean> {
    const { pane: content } = this.session;
    await content.refresh();
    return programsIn(content.windows().flatMap(({ panes }) => panes)).length > 0;
  }
}

/** @param limit a duration: `12h` */
export function endUnused(session: Session<Content>, limit: string, isSeen: boolean): void {
  new UnusedEnd(session, durationOf(limit) ?? Number.POSITIVE_INFINITY, isSeen);
}
