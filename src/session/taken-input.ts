/**
 * Which input of pages a session has taken, by numbers: a piece whose number was taken from the same client before is
 * not taken again. The numbers outlive connections, for the newest clients, and go with the session to the process that
 * takes it over.
 */

/** Limit of remembered clients: each is a tab that typed here. */
const MAX_CLIENTS = 256;

export class TakenInput {
  /** By client: number of its newest piece. */
  private readonly newest = new Map<string, number>();

  of(client: string): number {
    return this.newest.get(client) ?? 0;
  }

  take(client: string, number: number): void {
    this.newest.delete(client);
    this.newest.set(client, number);
    const [oldest] = this.newest.keys();
    if (this.newest.size > MAX_CLIENTS && oldest !== undefined) this.newest.delete(oldest);
  }

  /** The numbers for the process that takes the session over. */
  handOver(): [client: string, number: number][] {
    return [...this.newest];
  }

  takeOver(numbers: readonly (readonly [client: string, number: number])[]): void {
    for (const [client, number] of numbers) this.take(client, number);
  }
}
