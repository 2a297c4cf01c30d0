/**
 * When the next picture of a painted terminal is made: as often as a screen shows one, after output that is no echo has
 * come to a pause, not in the middle of a synchronized update, and between two chunks. It owns the one timer for that and
 * remembers since when something is to be shown; whether a picture can be made now, and what is in it, is its owner's.
 */

/** Time between two pictures, in ms: a screen shows sixty a second. */
export const FRAME_MS = 16;
/**
 * Output that is no echo of a key goes on, as a rule: a picture waits until nothing came for the first time, in ms, but
 * no longer than the second, since the next one is a frame away (a redraw in many writes: p90 19 ms without, 6 with (m)).
 */
const SETTLE_MS = 1;
const SETTLED_MS = 4;
/** How long a program may hold back its screen by synchronized output before it is shown all the same, in ms. */
const SYNCHRONIZED_MS = 150;

export interface FramePacerPort {
  /** No picture can be made now; whatever ends that calls `soon`. */
  isBlocked(): boolean;
  /** The program is in the middle of a synchronized update. */
  isSynchronized(): boolean;
  /** Runs `make` between two chunks, at once if there is none under way. */
  atRest(make: () => void): void;
  /** Makes a picture, if there is still one to be made; `began` says so. */
  paint(): void;
}

export class FramePacer {
  private timer: Timer | null = null;
  /** A picture is about to be made between two chunks. */
  private due = false;
  private paintedAt = Number.NEGATIVE_INFINITY;
  private printedAt = Number.NEGATIVE_INFINITY;
  private dirtySince: number | null = null;
  private over = false;

  constructor(private readonly port: FramePacerPort) {}

  /** Nothing is waited for: what is new now would be shown at once. */
  get isReady(): boolean {
    return this.timer === null && !this.due && performance.now() >= this.paintedAt + FRAME_MS;
  }

  /** The program has printed; an echo is shown without waiting for more. */
  printed(isEcho: boolean): void {
    this.printedAt = performance.now();
    this.soon(isEcho ? 0 : SETTLE_MS);
  }

  /** Something is to be shown. @param ms what may still come is waited for so long */
  soon(ms = 0): void {
    if (this.timer !== null || this.due || this.over) return;
    this.dirtySince ??= performance.now();
    const wait = Math.max(ms, this.paintedAt + FRAME_MS - performance.now());
    if (wait <= 0) this.whenReady();
    else this.later(wait);
  }

  /** Looks in `ms` whether there is something to show, unless it does so sooner. */
  later(ms: number): void {
    this.timer ??= setTimeout(() => {
      this.timer = null;
      if (this.isSettling) this.later(SETTLE_MS);
      else this.whenReady();
    }, ms);
  }

  /** A picture is being made. */
  began(): void {
    this.paintedAt = performance.now();
    this.dirtySince = null;
  }

  /** Nothing is to be shown any more. */
  cancel(): void {
    clearTimeout(this.timer ?? undefined);
    this.timer = null;
    this.dirtySince = null;
  }

  close(): void {
    this.over = true;
    this.cancel();
  }

  private get isSettling(): boolean {
    const now = performance.now();
    return now < this.printedAt + SETTLE_MS && now < (this.dirtySince ?? 0) + SETTLED_MS;
  }

  private whenReady(): void {
    if (this.over || this.port.isBlocked()) return;
    const held = performance.now() - (this.dirtySince ?? 0);
    if (this.port.isSynchronized() && held < SYNCHRONIZED_MS) {
      this.later(FRAME_MS);
      return;
    }
    this.due = true;
    this.port.atRest(() => {
      this.due = false;
      if (!this.over) this.port.paint();
    });
  }
}
