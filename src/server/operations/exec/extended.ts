/**
 * Ended sessions that are kept for longer since the results of their commands left output out: each is a process, so they
 * are counted. A server that has just started knows of none.
 */

/** Most of them at one time; the next is kept as long as one whose result shows everything. */
const MAX_EXTENDED = 32;

export class ExtendedResults {
  /** Until when each is kept, as wall time in ms. */
  private readonly until = new Map<string, number>();

  /** Whether one more may be kept for longer; it counts until it is settled. */
  reserve(session: string): boolean {
    for (const [each, time] of this.until) if (time <= Date.now()) this.until.delete(each);
    if (this.until.size >= MAX_EXTENDED) return false;
    this.until.set(session, Number.POSITIVE_INFINITY);
    return true;
  }

  /** @param until when it is kept for longer: an ISO time */
  settle(session: string, until: string | undefined): void {
    if (until === undefined) this.until.delete(session);
    else this.until.set(session, Date.parse(until));
  }
}
