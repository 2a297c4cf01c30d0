/**
 * Ends a session that is no longer needed: after its idle_limit, or when the owner to which it is bound is gone.
 * Invariants: an attached terminal keeps the session, and so does a running program if a person has viewed the
 * session within the last day. People are warned before the end. A session in use costs nothing: one timer waits
 * until it may have been unused long enough.
 */
import { findRunningPrograms } from "../endpoint/operations/running.ts";
import { intervals } from "../platform/intervals.ts";
import { platform } from "../platform/platform.ts";
import type { OwnerProcess } from "../protocol/owner.ts";
import { durationOf } from "../protocol/time-text.ts";
import type { Session } from "../session/session.ts";
import type { SessionContent } from "./panes/session-content.ts";

/** Longest time from the warning to the end, in ms, and its share of the limit. */
const WARNING_MS = 10 * 60_000;
const WARNING_SHARE = 0.1;
/** Interval between checks of a program that keeps the session running, as a share of the limit, and its bounds in ms. */
const CHECK_INTERVAL_SHARE = 0.25;
const MIN_CHECK_INTERVAL_MS = 1_000;
const MAX_CHECK_INTERVAL_MS = 5 * 60_000;

/** When a session counts as unused, and how long before its end people are warned. */
interface EndRule {
  readonly why: "idle" | "owner_gone";
  /** Time without use after which it ends, and time from the warning to the end, in ms. */
  readonly limitMs: number;
  readonly warningMs: number;
  /** Time since its last use, in ms. */
  unusedMs(): number;
  /** Longest interval between two checks, in ms. */
  readonly checkIntervalMs: number;
}

class AutomaticEnd implements Disposable {
  private timer: Timer | null = null;
  /** Time at which a person last viewed it, in ms of performance.now. */
  private lastViewedAt: number;
  private isChecking = false;
  /** Time of its end, in ms of performance.now, once people are warned. */
  private endsAt: number | null = null;

  /** @param wasViewed whether a person has created or restored it */
  constructor(
    private readonly session: Session<SessionContent>,
    private readonly rule: EndRule,
    wasViewed: boolean,
  ) {
    this.lastViewedAt = wasViewed ? performance.now() : -Infinity;
    session.events.on("viewer", () => this.viewerChanged());
    session.events.on("destroyed", () => this[Symbol.dispose]());
    this.scheduleCheck(rule.limitMs - rule.warningMs);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
  }

  private viewerChanged(): void {
    this.lastViewedAt = performance.now();
    if (this.endsAt === null) return;
    this.cancelWarning();
    this.scheduleCheck(this.rule.limitMs - this.rule.warningMs);
  }

  private scheduleCheck(ms: number): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = setTimeout(() => void this.check(), Math.min(Math.max(ms, 1), this.rule.checkIntervalMs));
    this.timer.unref();
  }

  async check(): Promise<void> {
    if (this.isChecking) return;
    this.isChecking = true;
    try {
      const next = await this.decide();
      if (next !== null) this.scheduleCheck(next);
    } finally {
      this.isChecking = false;
    }
  }

  /** @returns ms until the next check; null: it ends */
  private async decide(): Promise<number | null> {
    const { session, rule } = this;
    const { why, limitMs, warningMs } = rule;
    const { viewers, lifetime } = session;
    if (lifetime.isEnding || lifetime.isOver) return null;
    const now = performance.now();
    if (viewers.count > 0) this.lastViewedAt = now;
    const remainingMs = limitMs - Math.min(rule.unusedMs(), now - this.lastViewedAt);
    if (remainingMs > warningMs || session.exit !== null) {
      this.cancelWarning();
      return session.exit === null ? remainingMs - warningMs : limitMs;
    }
    if (performance.now() - this.lastViewedAt < intervals.seen && (await this.isWorking())) {
      this.cancelWarning();
      return Math.min(Math.max(limitMs * CHECK_INTERVAL_SHARE, MIN_CHECK_INTERVAL_MS), MAX_CHECK_INTERVAL_MS);
    }
    // A late check, for example after a program kept it, still warns first.
    if (this.endsAt === null) {
      const ms = Math.max(remainingMs, warningMs);
      this.endsAt = performance.now() + ms;
      session.setEnding({ at: Math.round(Date.now() + ms), why });
    }
    if (performance.now() < this.endsAt) return this.endsAt - performance.now();
    // It may have been used while its programs were read.
    if (viewers.count > 0 || rule.unusedMs() < limitMs) return 1;
    await lifetime.kill(why);
    return null;
  }

  private cancelWarning(): void {
    if (this.endsAt === null) return;
    this.endsAt = null;
    this.session.setEnding(null);
  }

  private async isWorking(): Promise<boolean> {
    const { pane: content } = this.session;
    await content.refresh();
    return findRunningPrograms(content.windows().flatMap(({ panes }) => panes)).length > 0;
  }
}

/** @param limit a duration such as `12h` */
export function endUnused(session: Session<SessionContent>, limit: string, wasViewed: boolean): void {
  const limitMs = durationOf(limit) ?? Number.POSITIVE_INFINITY;
  const warningMs = Math.min(limitMs * WARNING_SHARE, WARNING_MS);
  const unusedMs = (): number => session.pane.activity.idleMs();
  // setTimeout takes 24 days at most.
  new AutomaticEnd(
    session,
    { why: "idle", limitMs, warningMs, unusedMs, checkIntervalMs: MAX_CHECK_INTERVAL_MS * 12 },
    wasViewed,
  );
}

/**
 * @param owner the process with which it ends; null: a connection, whose end the server reports (the event `ownerGone`)
 * after the time to reconnect
 */
export function endWithOwner(session: Session<SessionContent>, owner: OwnerProcess | null, wasViewed: boolean): void {
  let ownerGoneAt: number | null = null;
  const graceMs = intervals.ownerGrace;
  const unusedMs = (): number => {
    if (owner !== null && ownerGoneAt === null && !isRunning(owner)) ownerGoneAt = performance.now();
    return ownerGoneAt === null ? 0 : performance.now() - ownerGoneAt;
  };
  const rule = {
    why: "owner_gone",
    limitMs: graceMs,
    warningMs: graceMs,
    unusedMs,
    checkIntervalMs: intervals.ownerLook,
  } as const;
  const automaticEnd = new AutomaticEnd(session, rule, wasViewed);
  session.events.on("ownerGone", () => {
    ownerGoneAt ??= performance.now();
    void automaticEnd.check();
  });
}

function isRunning({ pid, started }: OwnerProcess): boolean {
  const stat = platform().processes.stat(pid);
  return stat !== null && stat.state !== "ended" && stat.started === started;
}
