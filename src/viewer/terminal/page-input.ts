/**
 * A terminal in a page: its input, and messages for pages only. Input arrives in numbered pieces. A number that was
 * already received from the same client is ignored, so a page that lost its connection may resend unacknowledged
 * pieces.
 */
import type * as v from "valibot";
import type { Attach, AttachEventSchema } from "../../protocol/attach.ts";
import { decodeInput } from "../../protocol/numbered-input.ts";
import type { AcknowledgedInput } from "../../session/acknowledged-input.ts";

interface PagePort {
  isOver(): boolean;
  /** Keys that this process interprets. */
  pushKeys(bytes: Uint8Array): void;
  /** Input that another process of the session has already interpreted. */
  sendInput(bytes: Uint8Array): void;
  /** Sends the client an event. */
  sendEvent(event: v.InferInput<typeof AttachEventSchema>): void;
}

export class PageInput {
  private readonly client: string;
  /** Its name for people. */
  readonly name: string;
  /** Maximum unconfirmed pictures. */
  readonly credit: number;

  constructor(
    { client, name, credit }: NonNullable<Attach["page"]>,
    private readonly takenInput: AcknowledgedInput,
    private readonly port: PagePort,
  ) {
    this.client = client;
    this.name = name;
    this.credit = credit;
  }

  /** Sends the client the number of its newest piece, and the name of the record. */
  begin(): void {
    this.port.sendEvent({
      event: "took",
      n: this.takenInput.newestNumber(this.client),
      record: this.takenInput.record,
    });
  }

  receive(payload: Uint8Array): void {
    const input = decodeInput(payload);
    if (input === null || this.port.isOver()) return;
    const { number, bytes } = input;
    if (number === 0) {
      this.port.sendInput(bytes);
      return;
    }
    if (number > this.takenInput.newestNumber(this.client)) {
      this.takenInput.acknowledge(this.client, number);
      this.port.pushKeys(bytes);
    }
    if (!this.port.isOver()) this.port.sendEvent({ event: "took", n: this.takenInput.newestNumber(this.client) });
  }

  /** A key requests this of the page. @returns true: it was requested */
  requestAction(operation: string): true {
    if (!this.port.isOver()) this.port.sendEvent({ event: "wanted", operation });
    return true;
  }
}
