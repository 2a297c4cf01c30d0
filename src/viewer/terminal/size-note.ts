/** When a terminal whose size is not the session's says so: for a while after either has changed. */
import type { Size } from "../../protocol/size.ts";

/** How long, in ms: the notice covers part of the program's last row. */
const NOTE_MS = 4_000;

export class SizeNote {
  /** The sizes that were shown last. */
  private noted = "";
  private timer: Timer | null = null;

  /** @param over called when the note has disappeared */
  constructor(private readonly over: () => void) {}

  isOn(session: Size, outer: Size): boolean {
    const sizes = `${session.cols}x${session.rows} ${outer.cols}x${outer.rows}`;
    if (sizes !== this.noted) {
      this.noted = sizes;
      this.close();
      this.timer = setTimeout(() => {
        this.timer = null;
        this.over();
      }, NOTE_MS);
    }
    return this.timer !== null;
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
  }
}
