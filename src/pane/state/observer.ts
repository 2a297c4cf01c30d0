/**
 * Observes a pane's program when that can give a new result: on demand, and for watchers when output pauses.
 *
 * An observation scans /proc unless a shell shows its prompt. To keep that rare, none is made while output flows
 * or without watchers, and few while nothing changes. `noteChange` runs per chunk and per input: it notes the
 * time and, for watchers, sets one timer.
 */

import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { type CarriedTerminal, readCarriedTerminal } from "../../platform/carried-terminal.ts";
import { type ForegroundFacts, readForeground, readShellInput } from "../../platform/foreground.ts";
import { WshError } from "../../protocol/errors.ts";
import type { ProgramPort } from "../ports.ts";
import type { TerminalText } from "../text/text.ts";
import { carrierOf, classify, type ProgramKnowledge, type ProgramState } from "./classify.ts";
import type { ShellPhase } from "./shell-phase.ts";
import { lastingOf, type StateLasting } from "./state-lifetime.ts";

/** Silence between the last output or input and a check, in ms: longer than a program takes between two writes. */
const PAUSE_MS = 30;
/**
 * How long a program may leave input unanswered before it still counts as at rest, in ms. On a busy machine the kernel
 * delivers input late, and until then the program appears to wait for it as before.
 */
const ANSWER_MS = 300;
/** Time in which output written before a check arrives, in ms: a few turns of the event loop. */
const CONFIRM_MS = 10;
/** Longest time between two checks while nothing changes, in ms: the delay until a silent change is noticed. */
const MAX_INTERVAL_MS = 1_000;
/** Nested terminals that are examined (script in script); deeper ones are not. */
const MAX_CARRIERS = 4;

export interface ObserverPort {
  readonly program: ProgramPort;
  readonly text: Pick<TerminalText, "alternate">;
  readonly shell: { readonly phase: ShellPhase; readonly innerPhase: ShellPhase };
  /** The shell that runs commands now; null when its terminal is remote. Absent: the program. */
  readonly shellPid?: () => number | null;
  readonly clock: Clock;
  /** Whether the last input still has no echo; null when none can be expected. */
  echoPending(): boolean | null;
  /** Checks whether the program is still the shell that was started. Called before each check. */
  readonly checkShell?: () => void;
  /** Whether the program is a shell that reports prompts, and has shown none so far. */
  readonly awaitsPrompt?: () => boolean;
  /** Called at the end of each check. */
  readonly onObserved?: (facts: ForegroundFacts | null, state: ProgramState) => void;
  /** Replaced by tests. */
  readonly readFacts?: (pid: number) => ForegroundFacts | null;
}

export class StateObserver {
  private readonly watchers = new Set<(state: ProgramState) => void>();
  private readonly alarm: Alarm;
  private lastChangeAt: number;
  /** When input was last sent, and whether any output has followed it. */
  private inputAt = Number.NEGATIVE_INFINITY;
  private hasOutputSince = true;
  private interval = PAUSE_MS;
  /** The result of the last check, and the last output or input before it. */
  private lastCheck: { readonly state: ProgramState; readonly touch: number } | null = null;

  constructor(private readonly port: ObserverPort) {
    this.lastChangeAt = port.clock.now();
    this.alarm = new Alarm(port.clock, () => this.check());
  }

  /** Output was parsed. */
  noteOutput(): void {
    this.hasOutputSince = true;
    this.noteChange();
  }

  /** Input was sent. */
  noteInput(): void {
    this.inputAt = this.port.clock.now();
    this.hasOutputSince = false;
    this.noteChange();
  }

  /** The state may have changed. */
  noteChange(): void {
    this.lastChangeAt = this.port.clock.now();
    this.interval = PAUSE_MS;
    if (this.watchers.size > 0) this.alarm.set(this.lastChangeAt + PAUSE_MS);
  }

  /** Whether the program has ended. */
  get hasExited(): boolean {
    return this.port.program.exit !== null;
  }

  /** @throws WshError session_ended */
  requireRunning(): void {
    const { exit } = this.port.program;
    if (exit === null) return;
    const { code, signal } = exit;
    throw new WshError("session_ended", "the pane's program has exited", { exit_code: code, signal });
  }

  /** Age of the last output or input in ms; 0 while output waits to be read. */
  quietMs(): number {
    return this.port.program.isBehind ? 0 : this.port.clock.now() - this.lastChangeAt;
  }

  /** The program's current state. */
  observe(): ProgramState {
    return this.judge(this.gatherKnowledge());
  }

  private judge(known: ProgramKnowledge): ProgramState {
    const judged = classify(known);
    // If this process was delayed, the kernel's facts are newer than marks and screen.
    const isStale = judged.settled && judged.state !== "exited" && this.port.program.isBehind;
    const state = isStale ? { ...judged, settled: false } : judged;
    this.port.onObserved?.(known.facts, state);
    return state;
  }

  /** Like observe, with how long the state lasts unless an event ends it. */
  observeLasting(): { readonly state: ProgramState; readonly lasting: StateLasting } {
    const known = this.gatherKnowledge();
    const state = this.judge(known);
    return { state, lasting: lastingOf(known, state.state) };
  }

  private gatherKnowledge(): ProgramKnowledge {
    const { program, text, shell } = this.port;
    const exited = program.exit !== null;
    if (!exited) this.port.checkShell?.();
    const shellPid = this.port.shellPid?.() ?? null;
    const pid = shellPid ?? program.pid;
    const facts = exited || pid === null ? null : this.readFacts(pid);
    return {
      facts,
      carried: facts === null || this.port.readFacts !== undefined ? null : carriedTerminalOf(facts),
      flags: exited ? null : program.flags(),
      alternate: text.alternate,
      phase: shell.phase,
      inner: shell.innerPhase,
      isElsewhere: this.port.shellPid !== undefined && shellPid === null && program.pid !== null,
      quietMs: this.quietMs(),
      awaitsPrompt: this.port.awaitsPrompt?.() ?? false,
      exited,
    };
  }

  private readFacts(pid: number): ForegroundFacts | null {
    const { readFacts, shell } = this.port;
    if (readFacts !== undefined) return readFacts(pid);
    // Most checks find a shell at its prompt: those need no scan.
    return (shell.phase === "prompt" ? readShellInput(pid) : null) ?? readForeground(pid);
  }

  /** The program's state, if output has paused, so that a wait may rely on it; else null. */
  observeAtPause(): ProgramState | null {
    return this.hasExited || this.port.clock.now() >= this.restAt() ? this.observe() : null;
  }

  /** Calls back with the result of each check, the first as soon as output pauses, until disposed. */
  watch(watcher: (state: ProgramState) => void): Disposable {
    this.watchers.add(watcher);
    this.interval = PAUSE_MS;
    this.alarm.set(Math.max(this.port.clock.now(), this.restAt()));
    return {
      [Symbol.dispose]: () => {
        this.watchers.delete(watcher);
        if (this.watchers.size === 0) this.alarm.clear();
      },
    };
  }

  dispose(): void {
    this.watchers.clear();
    this.alarm.clear();
  }

  /** When an observation becomes reliable: output has paused, and the last input was answered or timed out. */
  private restAt(): number {
    const paused = this.lastChangeAt + PAUSE_MS;
    const open = this.port.echoPending() ?? !this.hasOutputSince;
    return open ? Math.max(paused, this.inputAt + ANSWER_MS) : paused;
  }

  private check(): void {
    if (this.watchers.size === 0) return;
    const now = this.port.clock.now();
    const restAt = this.restAt();
    if (now < restAt && !this.hasExited) {
      this.alarm.set(restAt);
      return;
    }
    if (!this.hasExited && this.port.program.isBehind) {
      this.interval = Math.min(MAX_INTERVAL_MS, this.interval * 2);
      this.alarm.set(now + this.interval);
      return;
    }
    const state = this.observe();
    const same = this.lastCheck !== null && isSameState(this.lastCheck.state, state);
    const confirmed = same && this.lastCheck?.touch === this.lastChangeAt;
    this.lastCheck = { state, touch: this.lastChangeAt };
    if (state.settled && state.decidedFrom === "kernel" && !confirmed) {
      // The kernel may report that a program waits before its last output has arrived here.
      this.alarm.set(now + CONFIRM_MS);
      return;
    }
    this.interval = same ? Math.min(MAX_INTERVAL_MS, this.interval * 2) : PAUSE_MS;
    for (const watcher of [...this.watchers]) watcher(state);
    if (this.watchers.size > 0) this.alarm.set(now + this.interval);
  }
}

/**
 * The terminal behind the one that holds `facts`, through any number of relaying programs. Only while each of them has
 * passed on all its input: otherwise the input that the inner side waits for may be on its way.
 */
function carriedTerminalOf(facts: ForegroundFacts): CarriedTerminal | null {
  let carried: CarriedTerminal | null = null;
  let outer = facts;
  for (let depth = 0; depth < MAX_CARRIERS; depth++) {
    const carrier = carrierOf(outer);
    if (carrier === null) return carried;
    if (carrier.activity !== "reading_tty" || outer.unread !== 0) return null;
    carried = readCarriedTerminal(carrier.pid);
    if (carried === null) return null;
    outer = carried.facts;
  }
  return null;
}

function isSameState(a: ProgramState, b: ProgramState): boolean {
  return (
    a.state === b.state && a.doing === b.doing && a.settled === b.settled && a.foreground?.pid === b.foreground?.pid
  );
}
