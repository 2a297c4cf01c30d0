/**
 * Decides when the next picture of a rendered terminal is made: at most at a screen's frame rate, after output
 * other than echo has paused, outside a synchronized update, and between two chunks. After a rest, three pictures
 * may follow at once, since a change has consequences: a split is followed by the other pane's new size and the
 * new pane's prompt. The pacer owns the timer and remembers since when a picture is due; its owner decides
 * whether a picture can be made now and what it shows.
 */

/** Time between two pictures, in ms: a screen shows sixty a second. */
export const FRAME_MS = 16;
/**
 * Waits for the end of output that is not the echo of a key, in ms: a picture waits for a pause of the first
 * length, but no longer than the second, since the next frame is due then (measured for a redraw in many writes:
 * p90 19 ms without, 6 with).
 */
const SETTLE_MS = 1;
const SETTLED_MS = 4;
/** Longest time that a program may hold back its screen by synchronized output, in ms. */
export const SYNCHRONIZED_MS = 150;

interface FramePacerPort {
  /** Whether no picture can be made now; the end of that state calls `schedule`. */
  isBlocked(): boolean;
  /** Whether the program is in the middle of a synchronized update. */
  isSynchronized(): boolean;
  /** Runs `make` between two chunks, immediately if no chunk is being parsed. */
  whenAtRest(make: () => void): void;
  /** Makes a picture if one is still due; `began` reports it. */
  render(): void;
}

export class FramePacer {
  private timer: Timer | null = null;
  /** Whether a picture is about to be made between two chunks. */
  private isScheduled = false;
  /** Time from which a picture may be made. */
  private readyAt = Number.NEGATIVE_INFINITY;
  private printedAt = Number.NEGATIVE_INFINITY;
  private dirtySince: number | null = null;
  private isClosed = false;
  /** Whether a key was typed whose echo has not been shown. */
  private isEchoDue = false;

  constructor(private readonly port: FramePacerPort) {}

  /** Whether nothing is pending, so that new output would be shown at once. */
  get isReady(): boolean {
    return this.timer === null && !this.isScheduled && (this.isEchoDue || performance.now() >= this.readyAt);
  }

  /** A person typed: the echo is shown without regard to the last picture's time, once per key. */
  keyTyped(): void {
    this.isEchoDue = true;
  }

  /** The program has printed. @param isEcho an echo, or another end of output: it is shown without waiting for more */
  outputArrived(isEcho: boolean): void {
    this.printedAt = performance.now();
    if (!isEcho || !this.isEchoDue) {
      this.schedule(isEcho ? 0 : SETTLE_MS);
      return;
    }
    this.isEchoDue = false;
    if (this.isScheduled || this.isClosed) return;
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.dirtySince ??= this.printedAt;
    this.renderIfReady();
  }

  /** A picture is due. @param ms how long to wait for more output */
  schedule(ms = 0): void {
    if (this.timer !== null || this.isScheduled || this.isClosed) return;
    this.dirtySince ??= performance.now();
    const wait = Math.max(ms, this.readyAt - performance.now());
    if (wait <= 0) this.renderIfReady();
    else this.checkAfter(wait);
  }

  /** Checks after `ms` whether a picture is due, unless an earlier check is scheduled. */
  checkAfter(ms: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.isSettling) this.checkAfter(SETTLE_MS);
      else this.renderIfReady();
    }, ms);
  }

  /** Call when a picture is being made. */
  recordPicture(): void {
    const now = performance.now();
    // After a rest of two frames, the first two pictures do not delay the next. Echoes are as frequent as keys, and
    // must not delay other changes by more than a frame.
    this.readyAt = Math.min(Math.max(this.readyAt + FRAME_MS, now - FRAME_MS), now + FRAME_MS);
    this.dirtySince = null;
  }

  /** Cancels the due picture. */
  cancel(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.dirtySince = null;
  }

  close(): void {
    this.isClosed = true;
    this.cancel();
  }

  private get isSettling(): boolean {
    const now = performance.now();
    return now < this.printedAt + SETTLE_MS && now < (this.dirtySince ?? 0) + SETTLED_MS;
  }

  private renderIfReady(): void {
    if (this.isClosed || this.port.isBlocked()) return;
    const waited = performance.now() - (this.dirtySince ?? 0);
    if (this.port.isSynchronized() && waited < SYNCHRONIZED_MS) {
      this.checkAfter(FRAME_MS);
      return;
    }
    this.isScheduled = true;
    this.port.whenAtRest(() => {
      this.isScheduled = false;
      if (!this.isClosed) this.port.render();
    });
  }
}
