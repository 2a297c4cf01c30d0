/**
 * Detects that a program asks its user for something and gets no answer: for a while it has waited for input, and
 * neither output nor input came. Checks only while requested; owned by the call that waits for the program.
 */
import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import type { ProgramState } from "../state/classify.ts";
import type { StateObserver } from "../state/observer.ts";

/** Delay of the first check, in ms: most commands have ended by then and are never checked. */
const FIRST_CHECK_MS = 1_000;

/** The input that a running command waits for; `prompt`: it is a shell at its own prompt. */
type AwaitedInput = "waiting_for_input" | "password" | "fullscreen" | "prompt";

/** The input that the program waits for; null when it does not wait for its user. */
export function awaitedInput({ state, settled }: ProgramState): AwaitedInput | null {
  if (!settled) return null;
  return state === "waiting_for_input" || state === "password" || state === "fullscreen" || state === "prompt"
    ? state
    : null;
}

export class AskingDetector implements Disposable {
  private since: number | null = null;
  private readonly alarm: Alarm;
  private watch: Disposable | null = null;

  /** @param ms how long the program must have waited before `onAsking` is called, once */
  constructor(
    private readonly clock: Clock,
    private readonly observer: StateObserver,
    private readonly ms: number,
    private readonly onAsking: () => void,
  ) {
    this.alarm = new Alarm(clock, () => {
      if (this.watch === null) this.watch = observer.watch((state) => this.checkState(state));
      else this.checkState(observer.observe());
    });
    this.alarm.set(clock.now() + Math.min(FIRST_CHECK_MS, ms));
  }

  [Symbol.dispose](): void {
    this.watch?.[Symbol.dispose]();
    this.alarm.clear();
  }

  private checkState(state: ProgramState): void {
    const now = this.clock.now();
    if (awaitedInput(state) === null) {
      this.since = null;
      this.alarm.clear();
      return;
    }
    // Activity in between is an answer, or another question.
    this.since = Math.max(this.since ?? now, now - this.observer.quietMs());
    if (now - this.since < this.ms) {
      this.alarm.set(this.since + this.ms);
      return;
    }
    this[Symbol.dispose]();
    this.onAsking();
  }
}
