/**
 * Which input of pages a session has taken, by numbers: a piece whose number was taken from the same client before is
 * not taken again. The numbers outlive connections, for the newest clients. They end with a process that is lost: the record's name tells then
 * that nobody knows any more what was taken, and who sends must not send again.
 */

/** Limit of remembered clients: each is a tab that typed here. */
const MAX_CLIENTS = 256;

export class TakenInput {
  /** By client: number of its newest piece. */
  private readonly newest = new Map<string, number>();
  /** Name of these numbers: another one knows nothing of them. */
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
