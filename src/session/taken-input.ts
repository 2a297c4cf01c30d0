/**
 * Acknowledged input of pages, by numbers: a piece with a number already taken from the same client is not taken again.
 * The numbers outlive connections, for the newest clients. They end with a crashed process: then the record's name
 * changes, so clients see that acknowledgements are lost and must not send again.
 */

/** Limit of remembered clients: each is a tab that typed here. */
const MAX_CLIENTS = 256;

export class TakenInput {
  /** By client: number of its newest piece. */
  private readonly newest = new Map<string, number>();
  /** Name of these numbers: a process with another name does not know them. */
  readonly record: string = crypto.randomUUID();

  of(client: string): number {
    return this.newest.get(client) ?? 0;
  }

  take(client: string, number: number): void {
    this.newest.delete(client);
    this.newest.set(client, number);
    const [oldest] = this.newest.keys();
    if (this.newest.size > MAX_CLIENTS && oldest !== undefined) this.newest.delete(oldest);
  }
}
