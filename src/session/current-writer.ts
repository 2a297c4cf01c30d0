/**
 * The caller that types into a pane, for its viewers: the newest one, until a moment after its last input. The timer
 * ends on its own.
 */
import type { Clock } from "../base/clock.ts";

/** Time after its input during which a caller counts as typing, in ms: long enough to read its name. */
const TYPING_MS = 3_000;

export class CurrentWriter {
  private name: string | null = null;
  private endTimer: Disposable | null = null;

  /** @param onChange called when the writer has changed or stopped */
  constructor(
    private readonly clock: Clock,
    private readonly onChange: () => void,
  ) {}

  /** Null: nobody types. */
  get current(): string | null {
    return this.name;
  }

  noteInput(name: string): void {
    this.endTimer?.[Symbol.dispose]();
    this.endTimer = this.clock.after(TYPING_MS, () => this.setWriter(null));
    this.setWriter(name);
  }

  private setWriter(name: string | null): void {
    if (name === this.name) return;
    this.name = name;
    this.onChange();
  }
}
