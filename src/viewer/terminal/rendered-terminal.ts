/**
 * Tracks a person's terminal while a client renders it: which pictures it shows, and which keys were typed since. A
 * typed character is written there directly and the client is only informed, so an echo beside a panel crosses no other
 * process.
 *
 * Invariant: the session process writes only while the terminal shows every sent picture (until then the client
 * writes), and at the cursor of the last picture. Characters written ahead of a picture are compared with that picture;
 * if they differ, the client repaints everything. A session that shows this one as a view gets the echo ahead of the
 * picture, and compares.
 */
import type { FrameUpdate } from "../../protocol/frame-codec.ts";
import type { DirectTerminal } from "./direct-terminal.ts";

const encoder = new TextEncoder();

export class RenderedTerminal {
  /** Number of pictures sent, and of those that the client has reported as shown. */
  private sentCount = 0;
  private shownCount = 0;
  /** The part of the next picture that the terminal already has, "" for nothing. */
  private writtenAhead = "";

  /**
   * @param terminal null: only the client writes there
   * @param sendAhead sends an echo to a session with a view of this one; null: the client is not a view
   */
  constructor(
    private readonly terminal: DirectTerminal | null,
    private readonly send: (update: FrameUpdate) => void,
    private readonly sendAhead: ((bytes: Uint8Array) => void) | null,
  ) {}

  /** The client has rendered this many pictures, and nothing is pending for the terminal. */
  confirm(pictures: number): void {
    this.shownCount = Math.max(this.shownCount, pictures);
  }

  /** Number of sent pictures that are not known to be shown. */
  get unconfirmed(): number {
    // A composing client confirms no pictures.
    return this.sendAhead === null ? this.sentCount - Math.max(0, this.shownCount) : 0;
  }

  /** Another process has the terminal: its content is unknown until it is repainted. */
  markUnknown(): void {
    this.shownCount = -1;
  }

  /** Whether the terminal shows something that no picture contains yet. */
  get isAhead(): boolean {
    return this.writtenAhead !== "";
  }

  /** Discards characters written ahead: everything is repainted. */
  forget(): void {
    this.writtenAhead = "";
  }

  /** Whether it shows every picture and nothing else, and this process may write to it. */
  get isCurrent(): boolean {
    const { terminal } = this;
    // Messages arrive in order: every picture precedes the echo.
    if (this.sendAhead !== null) return true;
    return terminal !== null && this.shownCount === this.sentCount && terminal.output.pending === 0 && terminal.isHeld;
  }

  /** Writes characters that will most likely be the only change in the next picture. Call only while it is current. */
  writeAhead(bytes: Uint8Array): void {
    this.writtenAhead = Buffer.from(bytes).toString("latin1");
    if (this.sendAhead === null) this.terminal?.echo(bytes);
    else this.sendAhead(bytes);
  }

  /** Something else was sent through the client, which confirms it like a picture. */
  countSent(): void {
    this.sentCount++;
  }

  /** @param typed the whole change, if it is the typed text */
  show(update: FrameUpdate, typed: string): void {
    const { writtenAhead, sendAhead } = this;
    this.forget();
    const unwritten = typed.startsWith(writtenAhead) ? typed.slice(writtenAhead.length) : null;
    if (sendAhead !== null) {
      this.send(update);
      return;
    }
    const isTyped = typed !== "" && unwritten !== null && this.isCurrent;
    this.sentCount++;
    if (isTyped) {
      if (unwritten !== "") this.terminal?.echo(encoder.encode(unwritten));
      this.shownCount = this.sentCount;
      this.send({ ...update, shown: true });
    } else this.send(writtenAhead === "" ? update : { ...update, shown: false });
  }
}
