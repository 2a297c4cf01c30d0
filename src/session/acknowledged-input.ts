/**
 * Acknowledged input of pages, by numbers: a piece whose number was already received from the same client is
 * ignored. The numbers outlive connections, for the newest clients. A crash of the process loses them and
 * changes the record's name, so clients see that acknowledgements are lost and that they must not send again.
 */
import { setNewest } from "../base/newest.ts";

/** Maximum remembered clients: each is a tab that typed here. */
const MAX_CLIENTS = 256;

export class AcknowledgedInput {
  /** Number of each client's newest piece. */
  private readonly newest = new Map<string, number>();
  /** Name of this record: a process whose record has another name does not know these numbers. */
  readonly record: string = crypto.randomUUID();

  newestNumber(client: string): number {
    return this.newest.get(client) ?? 0;
  }

  acknowledge(client: string, number: number): void {
    setNewest(this.newest, client, number, MAX_CLIENTS);
  }
}
