/**
 * The echo of a key on its way from a pane's process to the terminal where it was typed: by the layout process, which
 * writes it; or straight, while that process lends the terminal (lending.ts). Then keys are read here, too: text goes to
 * the program as if it had come over the connection; the first key that is no text goes back with the terminal.
 *
 * What must stay true: nothing is read or written once the layout process has asked the terminal back, although that may
 * not have been read yet.
 */
import * as v from "valibot";
import { LendSchema, type LentBack } from "../../protocol/attach.ts";
import { WshError } from "../../protocol/errors.ts";
import { messageTypes } from "../../protocol/messages.ts";
import type { Peer } from "../../wire/peer.ts";
import { handOver, PersonTerminal } from "./direct-terminal.ts";

export class Borrowing {
  private terminal: PersonTerminal | null = null;
  private loan = 0;
  private giveBack: ((back: LentBack) => void) | null = null;
  /** The layout process knows of the last key that was read here. */
  private isTold = true;

  /** @param typed takes text that was read here */
  constructor(
    private readonly peer: Pick<Peer, "send" | "sendBytes" | "hasUnread">,
    private readonly typed: (bytes: Uint8Array) => void,
  ) {}

  /** Whether echoes are written from here. */
  get isDirect(): boolean {
    return this.terminal !== null;
  }

  /**
   * Uses the terminal until it is asked back by `signal`, a key is no text, or the layout process has said something.
   * @throws WshError invalid_request while another one is lent
   */
  borrow(input: unknown, signal: AbortSignal): Promise<LentBack> {
    const { loan, terminal: device } = v.parse(LendSchema, input);
    if (this.terminal !== null) throw new WshError("invalid_request", "a terminal is lent already");
    const none = (back: Partial<LentBack> = {}): Promise<LentBack> => Promise.resolve({ keys: [], ...back });
    if (signal.aborted) return none();
    const terminal = this.peer.hasUnread === null ? null : PersonTerminal.open(device);
    if (terminal === null || !terminal.asksBeforeReading) {
      terminal?.close();
      return none({ refused: true });
    }
    const { promise, resolve } = Promise.withResolvers<LentBack>();
    this.terminal = terminal;
    this.loan = loan;
    this.giveBack = (back) => {
      this.terminal = null;
      this.giveBack = null;
      terminal.close();
      resolve(back);
    };
    signal.addEventListener("abort", () => this.end(), { once: true });
    const end = (): void => this.end();
    void terminal.read(
      (bytes) => this.read(bytes),
      end,
      end,
      () => this.peer.hasUnread === false,
    );
    return promise;
  }

  /** Gives an echo to the terminal, or to the layout process. */
  give(bytes: Uint8Array): void {
    const isWritten = this.write(bytes);
    if (!isWritten) this.peer.sendBytes(messageTypes.output, bytes);
    handOver();
    if (isWritten) this.tell(Buffer.from(bytes).toString("latin1"));
  }

  /** A picture is about to be sent: the layout process knows of the key before it, so that it does not put it off. */
  beforePicture(): void {
    if (!this.isTold) this.tell("");
  }

  /** The terminal is used no more. */
  end(back: Partial<LentBack> = {}): void {
    this.giveBack?.({ keys: [], ...back });
  }

  /** Runs per key. */
  private read(bytes: Uint8Array): void {
    if (!bytes.every(isText)) {
      this.end({ keys: [...bytes] });
      return;
    }
    this.isTold = false;
    this.typed(bytes);
    this.beforePicture();
  }

  private write(bytes: Uint8Array): boolean {
    const { terminal } = this;
    if (terminal?.isHeld !== true || this.peer.hasUnread !== false) return false;
    terminal.output.write(bytes);
    // What it has not taken may be asked back before it does.
    if (terminal.output.pending > 0) this.end({ torn: true });
    return true;
  }

  /** @param text what was written to the terminal; what others type is, too */
  private tell(text: string): void {
    const typed = !this.isTold;
    this.isTold = true;
    this.peer.send(messageTypes.event, { event: "lent", loan: this.loan, text, typed });
  }
}

/** Text of any kind; Enter is not, since it is counted whose it was. */
function isText(byte: number): boolean {
  return byte >= 0x20;
}
