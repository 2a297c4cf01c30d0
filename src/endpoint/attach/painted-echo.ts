/**
 * Tracks a person's terminal while a client paints it: which of the pictures it shows, and what was typed since. A
 * typed character goes there directly and the client is only informed, so an echo beside a panel crosses no other
 * process.
 *
 * Invariant: the session process writes only while the terminal shows every picture that was sent (the client writes
 * until then), and at the place where the last picture left the cursor. What it wrote ahead of a picture is compared
 * with that picture; if they differ, the client repaints everything. While the terminal is lent to a pane's process, that
 * one writes and says what. A layout process is sent the echo, ahead of the picture, or lends its terminal for it: it
 * compares.
 */
import type { FrameUpdate } from "../../protocol/frame-codec.ts";
import type { Borrowing } from "./borrowing.ts";
import type { PersonTerminal } from "./direct-terminal.ts";
import type { Lending } from "./lending.ts";

const encoder = new TextEncoder();

export class PaintedTerminal {
  /** Pictures that were sent, and how many of them the client has reported as shown. */
  private sent = 0;
  private shown = 0;
  /** The part of the next picture that the terminal already has, "" for nothing. */
  private given = "";
  /** It may show anything. */
  private isUnknown = false;

  /**
   * @param terminal null: only the client writes there
   * @param lending who else may write there; null: nobody
   * @param ahead the way of an echo to a layout process; null: the client is none
   */
  constructor(
    private readonly terminal: PersonTerminal | null,
    private readonly send: (update: FrameUpdate) => void,
    private readonly lending: Pick<Lending, "isLent" | "echoed" | "recall"> | null = null,
    private readonly ahead: Pick<Borrowing, "isDirect" | "give" | "beforePicture"> | null = null,
  ) {}

  /** The client has painted this many pictures, and nothing is pending for the terminal. */
  confirmed(pictures: number): void {
    this.shown = Math.max(this.shown, pictures);
  }

  /** Pictures that were sent and are not known to be shown. */
  get unconfirmed(): number {
    return this.sent - Math.max(0, this.shown);
  }

  /** Another process has the terminal: its content is unknown until it is repainted. */
  lost(): void {
    this.shown = -1;
  }

  /** Whether it shows something that no picture contains yet. */
  get isAhead(): boolean {
    return this.given !== "" || this.isUnknown;
  }

  /** Discards what was written ahead: everything is repainted. */
  forget(): void {
    this.given = "";
    this.isUnknown = false;
  }

  /** The next picture is painted as a whole. */
  doubt(): void {
    this.isUnknown = true;
  }

  /** Whether it shows every picture and nothing else, and we may write to it. */
  get isCurrent(): boolean {
    const { terminal } = this;
    // What is sent arrives in order: the echo finds every picture.
    if (this.ahead !== null) return true;
    return terminal !== null && this.shown === this.sent && terminal.output.pending === 0 && terminal.isHeld;
  }

  /** The process that has the terminal has written this. */
  wrote(text: string): void {
    this.given += text;
  }

  /** Writes characters that will most likely be the only change in the next picture. Only while it is current. */
  give(bytes: Uint8Array): void {
    this.given = Buffer.from(bytes).toString("latin1");
    if (this.ahead === null) this.terminal?.echo(bytes);
    else this.ahead.give(bytes);
  }

  /** @param typed the whole change, when that is what was typed */
  show(update: FrameUpdate, typed: string): void {
    const { given, isUnknown, ahead, lending } = this;
    this.forget();
    const rest = typed.startsWith(given) ? typed.slice(given.length) : null;
    if (ahead !== null) {
      if (rest !== null && rest !== "" && ahead.isDirect) ahead.give(encoder.encode(rest));
      ahead.beforePicture();
      this.send(update);
      return;
    }
    const isLent = lending?.isLent === true;
    const isTyped = typed !== "" && rest !== null && !isUnknown && this.isCurrent && (rest === "" || !isLent);
    if (!isTyped) lending?.recall();
    this.sent++;
    if (isTyped) {
      if (rest !== "") this.terminal?.echo(encoder.encode(rest));
      this.shown = this.sent;
      this.send({ ...update, shown: true });
      lending?.echoed();
    } else this.send(given === "" && !isUnknown ? update : { ...update, shown: false });
  }
}
