/**
 * A person's terminal while a client paints it: what of the pictures it shows, and what was typed since. A typed character
 * goes there without the client, which only has to know of it, so that an echo beside a panel crosses no other process.
 *
 * What must stay true: the host writes only while the terminal shows every picture that was sent, since the client writes
 * then too, and from the place where the last picture has left the cursor. What it was given before a picture is compared
 * with that picture; when something else came of it, the client paints everything anew.
 */
import type { FrameUpdate } from "../../protocol/frame-codec.ts";
import type { PersonTerminal } from "./direct-terminal.ts";

const encoder = new TextEncoder();

export class PaintedTerminal {
  /** Pictures that were sent, and those of them that the terminal shows as far as the client has told. */
  private sent = 0;
  private shown = 0;
  /** What the terminal was given of the next picture already, "" for nothing. */
  private given = "";

  /** @param terminal null: the client alone writes there */
  constructor(
    private readonly terminal: PersonTerminal | null,
    private readonly send: (update: FrameUpdate) => void,
  ) {}

  /** The client has painted so many pictures, and nothing waits for the terminal. */
  confirmed(pictures: number): void {
    this.shown = Math.max(this.shown, pictures);
  }

  /** Another process has the terminal: what it shows is unknown until it was painted anew. */
  lost(): void {
    this.shown = -1;
  }

  /** It has something that no picture has told of yet. */
  get isAhead(): boolean {
    return this.given !== "";
  }

  /** What it was given does not count: all of it is drawn anew. */
  forget(): void {
    this.given = "";
  }

  /** It shows every picture and nothing else, and is ours to write to. */
  get isCurrent(): boolean {
    const { terminal } = this;
    return terminal !== null && this.shown === this.sent && terminal.output.pending === 0 && terminal.isHeld;
  }

  /** Characters that will most likely be all that is new in the next picture. Only while it is current. */
  give(bytes: Uint8Array): void {
    this.given = Buffer.from(bytes).toString("latin1");
    this.terminal?.echo(bytes);
  }

  /** @param typed all that is new, when that is what was typed */
  show(update: FrameUpdate, typed: string): void {
    const { given } = this;
    this.given = "";
    const isTyped = typed !== "" && typed.startsWith(given) && this.isCurrent;
    this.sent++;
    if (isTyped) {
      if (typed !== given) this.terminal?.echo(encoder.encode(typed.slice(given.length)));
      this.shown = this.sent;
      this.send({ ...update, shown: true });
    } else this.send(given === "" ? update : { ...update, shown: false });
  }
}
