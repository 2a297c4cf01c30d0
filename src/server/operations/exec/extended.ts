/**
 * Ended sessions that are kept longer because their commands' results omitted output: each is a process, so their
 * number is limited. A newly started server knows none.
 */

/** Maximum number; a further session is kept only as long as one whose result is complete. */
const MAX_EXTENDED = 32;

export class ExtendedResults {
  /** End of each one's extension, as wall time in ms. */
  private readonly deadlines = new Map<string, number>();

  /** Whether another session may be kept longer; it counts until `settle`. */
  reserve(session: string): boolean {
    for (const [each, time] of this.deadlines) if (time <= Date.now()) this.deadlines.delete(each);
    if (this.deadlines.size >= MAX_EXTENDED) return false;
    this.deadlines.set(session, Number.POSITIVE_INFINITY);
    return true;
  }

  /** @param until end of the extension: an ISO time */
  settle(session: string, until: string | undefined): void {
    if (until === undefined) this.deadlines.delete(session);
    else this.deadlines.set(session, Date.parse(until));
  }
}
