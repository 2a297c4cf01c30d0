/**
 * Which input of pages a session has taken, by numbers: a piece whose number was taken from the same client before is
 * not taken again. The numbers outlive connections, for the newest clients, and go with the session to the process that
 * takes it over; nothing is taken between the two. They end with a process that is lost: the record's name tells then
 * that nobody knows any more what was taken, and who sends must not send again.
 */

/** Limit of remembered clients: each is a tab that typed here. */
const MAX_CLIENTS = 256;

export interface HandedNumbers {
  readonly record: string;
  readonly newest: readonly (readonly [client: string, number: number])[];
}

export class TakenInput {
  /** By client: number of its newest piece. */
  private readonly newest = new Map<string, number>();
  private name: string = crypto.randomUUID();
  /** What waits while the numbers are with another process; null: nothing needs to. */
  private waiting: (() => void)[] | null = null;

  /** Name of these numbers: another one knows nothing of them. */
  get record(): string {
    return this.name;
  }

  of(client: string): number {
    return this.newest.get(client) ?? 0;
  }

  take(client: string, number: number): void {
    this.newest.delete(client);
    this.newest.set(client, number);
    const [oldest] = this.newest.keys();
    if (this.newest.size > MAX_CLIENTS && oldest !== undefined) this.newest.delete(oldest);
  }

  /** Whether nothing may be taken now. */
  get isPaused(): boolean {
    return this.waiting !== null;
  }

  /** Calls it when input may be taken again. */
  later(then: () => void): void {
    this.waiting?.push(then);
  }

  /** The numbers for the process that takes the session over; nothing is taken until `resume`. */
  handOver(): HandedNumbers {
    this.waiting ??= [];
    return { record: this.name, newest: [...this.newest] };
  }

  /** The other process has the session, or has failed: what waits is taken here, where a page is still here. */
  resume(): void {
    const waiting = this.waiting ?? [];
    this.waiting = null;
    for (const then of waiting) then();
  }

  takeOver({ record, newest }: HandedNumbers): void {
    this.name = record;
    for (const [client, number] of newest) this.take(client, number);
  }
}
