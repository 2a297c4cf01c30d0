/**
 * Waits for silence (docs/protocol.md, Silence). The pane reports every activity to `noteActivity`, which
 * runs per chunk: one timer for all waits fires when the earliest of them can be over. Every wait ends: with
 * silence, at its deadline, with its owner's signal, with the program, or with the pane.
 */

import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import { WshError } from "../../protocol/errors.ts";
import { isForeignGeneration } from "../../protocol/pane-numbers.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import type { Activity } from "../activity.ts";

/** Pending waits for silence in one pane; each costs ~200 bytes, so this guards against a leak of callers. */
const MAX_IDLE_WAITS = 1_000;

interface IdleRequest {
  /** Required silence, in ms; 0 is satisfied at once. */
  readonly timeoutMs: number;
  readonly maxWaitMs: number;
  /** If this is the current generation, something new must happen first. */
  readonly lastGeneration?: number | undefined;
  /** Silence counts from the request at the earliest, unless the pane is active. Overrides lastGeneration. */
  readonly fresh?: boolean | undefined;
  /** The owner: when it aborts, the wait is over. */
  readonly signal?: AbortSignal | undefined;
}

interface IdleOutcome {
  /** `exited`: the program has ended; nothing more will happen. */
  readonly decided: "idle" | "timeout" | "exited" | "cancelled";
  readonly generation: number;
}

interface IdleWait {
  readonly timeoutMs: number;
  readonly deadline: number;
  /** Silence counts from here, if the last activity is older. */
  readonly quietFrom: number;
  /** Generation that must be passed first; -1 when none. */
  readonly passedGeneration: number;
  readonly settle: (decided: IdleOutcome["decided"]) => void;
  readonly fail: (reason: WshError) => void;
}

export class Silence {
  private readonly waits = new Set<IdleWait>();
  private readonly alarm: Alarm;
  /** Waits that start to count only after an activity. */
  private blockedCount = 0;
  private hasEnded = false;

  constructor(
    private readonly clock: Clock,
    private readonly activity: Activity,
  ) {
    this.alarm = new Alarm(clock, () => this.settleWaits());
  }

  /** Records activity. */
  noteActivity(): void {
    if (this.blockedCount > 0) this.settleWaits();
  }

  /**
   * Resolves with silence, or with the event that ended the wait instead; rejects when the pane goes away, and for
   * another pane's generation.
   */
  awaitIdle(request: IdleRequest): Promise<IdleOutcome> {
    if (request.signal?.aborted === true) return Promise.resolve(this.outcome("cancelled"));
    const { lastGeneration: last } = request;
    if (last !== undefined && isForeignGeneration(last, this.activity.first, this.activity.generation)) {
      return Promise.reject(new WshError("invalid_cursor", `generation ${last} does not belong to this pane`));
    }
    if (this.waits.size >= MAX_IDLE_WAITS) {
      return Promise.reject(new WshError("resource_limit_reached", `${MAX_IDLE_WAITS} waits for silence are pending`));
    }
    const now = this.clock.now();
    const timeoutMs = Math.min(MAX_WAIT_MS, request.timeoutMs);
    const fresh = request.fresh === true;
    const wasIdle = now - this.activity.lastAt >= timeoutMs;
    const ending = new Wait<IdleOutcome>({ signal: request.signal }, () => this.outcome("cancelled"));
    const wait: IdleWait = {
      timeoutMs,
      deadline: now + Math.min(MAX_WAIT_MS, request.maxWaitMs),
      quietFrom: fresh && wasIdle ? now : this.activity.lastAt,
      passedGeneration: !fresh && request.lastGeneration === this.activity.generation ? this.activity.generation : -1,
      settle: (decided) => ending.end(this.outcome(decided)),
      fail: (reason) => ending.fail(reason),
    };
    this.waits.add(wait);
    ending.own(() => this.waits.delete(wait));
    this.settleWaits();
    return ending.promise;
  }

  /** The program has ended: nothing more can happen, every wait is over. */
  noteExit(): void {
    this.hasEnded = true;
    this.settleWaits();
  }

  /** A new program has started. */
  noteStart(): void {
    this.hasEnded = false;
    this.activity.record();
  }

  /** The pane is going away. */
  dispose(reason: WshError): void {
    this.alarm.clear();
    for (const wait of [...this.waits]) wait.fail(reason);
  }

  private outcome(decided: IdleOutcome["decided"]): IdleOutcome {
    return { decided, generation: this.activity.generation };
  }

  private settleWaits(): void {
    const now = this.clock.now();
    let next = Number.POSITIVE_INFINITY;
    let blocked = 0;
    for (const wait of [...this.waits]) {
      if (this.hasEnded) {
        wait.settle("exited");
        continue;
      }
      const held = wait.passedGeneration === this.activity.generation;
      const quietAt = held ? Number.POSITIVE_INFINITY : Math.max(wait.quietFrom, this.activity.lastAt) + wait.timeoutMs;
      if (now >= quietAt) wait.settle("idle");
      else if (now >= wait.deadline) wait.settle("timeout");
      else {
        if (held) blocked++;
        next = Math.min(next, quietAt, wait.deadline);
      }
    }
    this.blockedCount = blocked;
    this.alarm.set(next);
  }
}
