/**
 * One wait: for an event, a deadline or an abort, whichever comes first.
 *
 * A wait ends exactly once. Before any code that awaits it runs, the wait cancels its timer and disposes of everything
 * it owns: its listener on the signal, and what `own` received. So a long-lived signal (a connection, a subscription)
 * collects no listeners of finished waits. Disposing of a wait that has not ended releases the same things and leaves
 * its promise pending, for an owner that no longer awaits it.
 */
import { type Clock, systemClock } from "./clock.ts";

interface WaitLimits {
  /** The clock of the deadline. Default: the system's. */
  readonly clock?: Clock;
  /** Time until the deadline, in ms; absent or Infinity: none. */
  readonly ms?: number | undefined;
  /** The owner's signal; if it is already aborted, the wait ends at once. */
  readonly signal?: AbortSignal | undefined;
}

export class Wait<T> implements Disposable {
  readonly promise: Promise<T>;
  private readonly settle: PromiseWithResolvers<T>;
  private owned: (Disposable | (() => void))[] = [];
  private ended = false;

  /** @param otherwise makes the result when the deadline or an abort ends the wait; its error fails the wait */
  constructor(
    { clock = systemClock, ms, signal }: WaitLimits,
    private readonly otherwise: (by: "deadline" | "abort") => T,
  ) {
    this.settle = Promise.withResolvers<T>();
    this.promise = this.settle.promise;
    if (signal?.aborted === true) {
      this.late("abort");
      return;
    }
    if (signal !== undefined) {
      const abort = (): void => this.late("abort");
      signal.addEventListener("abort", abort, { once: true });
      this.own(() => signal.removeEventListener("abort", abort));
    }
    if (ms !== undefined && ms !== Number.POSITIVE_INFINITY) {
      this.own(clock.after(Math.max(0, ms), () => this.late("deadline")));
    }
  }

  get isOver(): boolean {
    return this.ended;
  }

  /** A timer or a signal calls this: an exception would reach no caller. */
  private late(by: "deadline" | "abort"): void {
    if (this.ended) return;
    try {
      this.end(this.otherwise(by));
    } catch (reason) {
      this.fail(reason);
    }
  }

  /** Disposes of these when the wait ends, or at once if it has ended. */
  own(...resources: readonly (Disposable | (() => void))[]): this {
    if (this.ended) for (const resource of resources) release(resource);
    else this.owned.push(...resources);
    return this;
  }

  /** Ends the wait with the event's value. No effect after the wait has ended. */
  end(value: T): void {
    if (this.ended) return;
    this[Symbol.dispose]();
    this.settle.resolve(value);
  }

  /** Ends the wait with an error. No effect after the wait has ended. */
  fail(reason: unknown): void {
    if (this.ended) return;
    this[Symbol.dispose]();
    this.settle.reject(reason);
  }

  [Symbol.dispose](): void {
    this.ended = true;
    const { owned } = this;
    this.owned = [];
    for (const resource of owned) release(resource);
  }
}

/** The promise's result, or the one from `otherwise` if the deadline or an abort comes first. The promise continues. */
export function orUntil<T>(
  promise: Promise<T>,
  limits: WaitLimits,
  otherwise: (by: "deadline" | "abort") => T,
): Promise<T> {
  const wait = new Wait<T>(limits, otherwise);
  promise.then(
    (value) => wait.end(value),
    (reason) => wait.fail(reason),
  );
  return wait.promise;
}

/** Resolves after `ms`, or when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Wait<void>({ ms, signal }, () => {}).promise;
}

function release(resource: Disposable | (() => void)): void {
  if (typeof resource === "function") resource();
  else resource[Symbol.dispose]();
}
