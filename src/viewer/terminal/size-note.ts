/** Decides when a terminal whose size differs from the session's reports that: for a while after either has changed. */
import type { Size } from "../../protocol/size.ts";

/** Time for which the note is shown, in ms: it covers part of the program's last row. */
const NOTE_MS = 4_000;

export class SizeNote {
  /** The sizes of the last note. */
  private notedSizes = "";
  private timer: Timer | null = null;

  /** @param onEnd called when the note has disappeared */
  constructor(private readonly onEnd: () => void) {}

  isShown(session: Size, outer: Size): boolean {
    const sizes = `${session.cols}x${session.rows} ${outer.cols}x${outer.rows}`;
    if (sizes !== this.notedSizes) {
      this.notedSizes = sizes;
      this.close();
      this.timer = setTimeout(() => {
        this.timer = null;
        this.onEnd();
      }, NOTE_MS);
    }
    return this.timer !== null;
  }

  close(): void {
    clearTimeout(this.timer ?? undefined);
  }
}
