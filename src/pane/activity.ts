/**
 * When something last happened in a session, and waits for silence (contract §6).
 *
 * Owns the generation (a change token, +1 per activity) and the time of the last activity. `record` runs per chunk of
 * output and per input, so it only counts: waits are judged when the earliest of them can be over, by one timer for all.
 * Every wait ends: with silence, at its deadline, with its owner's signal, with the child, or with the session.
 */

import { Alarm } from "../base/alarm.ts";
import type { Clock } from "../base/clock.ts";
import { Wait } from "../base/deadline.ts";
import { MAX_WAIT_MS } from "../protocol/conditions.ts";
import { WshError } from "../protocol/errors.ts";

/** Waits for silence at one time in one session; each costs ~200 bytes, so this guards against a leak of callers. */
const MAX_IDLE_WAITS = 1_000;

export interface IdleRequest {
  /** Silence that is asked for, in ms; 0 is satisfied at once. */
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  /** When it is the current generation, something new must happen first. */
  readonly lastGeneration?: number | undefined;
  /** Silence counts from the request on at the earliest, unless something is happening. Wins over lastGeneration. */
  readonly fresh?: boolean | undefined;
  /** The owner: when it aborts, the wait is over. */
  readonly signal?: AbortSignal | undefined;
}

export interface IdleOutcome {
  /** `exited`: the child has ended, nothing more will come. */
  readonly decided: "idle" | "timeout" | "exited" | "cancelled";
  readonly generation: number;
}

interface IdleWait {
  readonly timeoutMs: number;
  readonly deadline: number;
  /** Silence counts from here, if the last activity is older. */
  readonly quietFrom: number;
  /** Generation that must be passed first; -1 when none. */
  readonly passed: number;
  readonly settle: (decided: IdleOutcome["decided"]) => void;
  readonly fail: (reason: WshError) => void;
}

export class Activity {
  private readonly waits = new Set<IdleWait>();
  private readonly alarm: Alarm;
  /** Waits that cannot start to count before something happens. */
  private blocked = 0;
  private count = 0;
  private last: number;
  private over = false;

  /** @param recorded runs with every activity */
  constructor(
    private readonly clock: Clock,
    private readonly recorded: () => void = () => {},
  ) {
    this.last = clock.now();
    this.alarm = new Alarm(clock, () => this.judge());
  }

  /** Change token: equal tokens mean that nothing happened between them. */
  get generation(): number {
    return this.count;
  }

  /** Clock time of the last activity. */
  get lastAt(): number {
    return this.last;
  }

  /** Age of the last activity in whole ms. */
  idleMs(): number {
    return Math.max(0, Math.floor(this.clock.now() - this.last));
  }

  /** Something happened: output was parsed, or input of a kind that counts (contract §6.1) was taken. */
  record(): void {
    this.count++;
    this.last = this.clock.now();
    if (this.blocked > 0) this.judge();
    this.recorded();
  }

  /** Resolves with silence or with what ended the wait instead; never rejects but when the session goes away. */
  awaitIdle(request: IdleRequest): Promise<IdleOutcome> {
    if (request.signal?.aborted === true) return Promise.resolve(this.outcome("cancelled"));
    if (this.waits.size >= MAX_IDLE_WAITS) {
      return Promise.reject(new WshError("resource_limit_reached", `${MAX_IDLE_WAITS} waits for silence are pending`));
    }
    const now = this.clock.now();
    const timeoutMs = Math.min(MAX_WAIT_MS, request.timeoutMs);
    const fresh = request.fresh === true;
    const wasIdle = now - this.last >= timeoutMs;
    const ending = new Wait<IdleOutcome>({ signal: request.signal }, () => this.outcome("cancelled"));
    const wait: IdleWait = {
      timeoutMs,
      deadline: now + Math.min(MAX_WAIT_MS, request.maxWaitMs),
      quietFrom: fresh && wasIdle ? now : this.last,
      passed: !fresh && request.lastGeneration === this.count ? this.count : -1,
      settle: (decided) => ending.end(this.outcome(decided)),
      fail: (reason) => ending.fail(reason),
    };
    this.waits.add(wait);
    ending.own(() => this.waits.delete(wait));
    this.judge();
    return ending.promise;
  }

  /** The child has ended: nothing more can happen, every wait is over. */
  exited(): void {
    this.over = true;
    this.judge();
  }

  /** A program was started where another had ended or was ended. */
  started(): void {
    this.over = false;
    this.record();
  }

  /** The session is going away. */
  dispose(reason: WshError): void {
    this.alarm.clear();
    for (const wait of [...this.waits]) wait.fail(reason);
  }

  private outcome(decided: IdleOutcome["decided"]): IdleOutcome {
    return { decided, generation: this.count };
  }

  private judge(): void {
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    let blocked = 0;
    for (const wait of [...this.waits]) {
      if (this.over) {
        wait.settle("exited");
        continue;
      }
      const held = wait.passed === this.count;
      const quietAt = held ? Number.POSITIVE_INFINITY : Math.max(wait.quietFrom, this.last) + wait.timeoutMs;
      if (now >= quietAt) wait.settle("idle");
      else if (now >= wait.deadline) wait.settle("timeout");
      else {
        if (held) blocked++;
        next = Math.min(next, quietAt, wait.deadline);
      }
    }
    this.blocked = blocked;
    this.alarm.set(next);
  }
}
