/**
 * All pending waits of a pane, and the one engine that ends them (docs/protocol.md, Conditions).
 *
 * Level conditions (prompt, waiting_for_input, password, fullscreen, exited, idle, agent) are judged when
 * output has paused; edge conditions (command_finished, text, regex, bell) at their event, if it came after
 * `since`. The pane reports events to the engine. Only awaited ports are polled, and, while output has
 * paused, the facts about an awaited state. A wait ends exactly once: with its condition, its deadline, its
 * owner's signal, the program's end, or the pane's.
 */

import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { Wait } from "../../base/deadline.ts";
import type { PortAnchor } from "../../platform/listening.ts";
import type { AgentInfo } from "../../protocol/agent.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import type { Condition, DecidedBy } from "../../protocol/conditions.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { MAX_WAIT_MS } from "../../protocol/wait-times.ts";
import type { Activity } from "../activity.ts";
import type { CommandLog } from "../commands/command-log.ts";
import type { OverwrittenTexts } from "../output/overwritten.ts";
import type { ProgramState } from "../state/classify.ts";
import type { StateObserver } from "../state/observer.ts";
import type { EchoTracker } from "../text/echo.ts";
import { requireOwnCursor } from "../text/own-cursor.ts";
import type { RetiredLines, TerminalText } from "../text/text.ts";
import { OutputScan, type ScanMatch, scanOrigin } from "./output-scan.ts";
import { Budget, type Finder, regexFinder, textFinder } from "./pattern.ts";
import { type LookAt, type PortCondition, type PortFinding, type PortWatch, PortWatches } from "./port-watch.ts";
import type { WaitOutcome, WaitRequest } from "./request.ts";

export type { WaitOutcome, WaitRequest } from "./request.ts";

interface WaitersPort {
  readonly text: TerminalText;
  readonly clock: Clock;
  readonly activity: Activity;
  readonly observer: StateObserver;
  readonly log: CommandLog;
  readonly echo: EchoTracker;
  readonly overwritten: OverwrittenTexts;
  /** The agent in the foreground, as last seen; absent without agent detection. */
  readonly agent?: (() => AgentInfo | null) | undefined;
  /** The processes of a command, or of the session. */
  readonly processes: (commandId: number | undefined) => PortAnchor;
  /** Whether a program in the foreground is on a processor, or waits for one. */
  readonly isComputing: () => boolean;
  /** Replaced by tests. */
  readonly lookAtPort?: LookAt;
  /** Limit of pending waits. */
  readonly limit: number;
}

interface TextScan {
  readonly type: "text" | "regex";
  readonly scan: OutputScan;
}

interface Waiter {
  readonly request: WaitRequest;
  readonly since: number;
  readonly deadline: number;
  readonly scans: readonly TextScan[];
  /** Shortest silence among the idle conditions; Infinity without one. */
  readonly idleMs: number;
  readonly stateConditions: ReadonlySet<DecidedBy>;
  /** Null without a condition on a port, and once it is known that none can be answered. */
  ports: PortWatch | null;
  /** Whether a match exists that its line may change as it continues: it counts at rest. */
  isOpen: boolean;
  /** Checks states until the wait ends. */
  readonly watchState: () => void;
  readonly warnings: string[];
  readonly settle: (decidedBy: DecidedBy, extra?: Partial<WaitOutcome>) => void;
  readonly fail: (reason: unknown) => void;
}

/**
 * Silence after which an unfinished line counts as finished, in ms, without evidence that its program waits for input.
 */
const LINE_REST_MS = 300;
/** The same while its program computes, in ms: on a crowded machine it may be in the middle of a write. */
const COMPUTING_REST_MS = 3_000;

const stateConditions: ReadonlySet<string> = new Set(["prompt", "waiting_for_input", "password", "fullscreen"]);
/** Events that end a wait for something else. */
const endConditions: ReadonlySet<string> = new Set(["command_finished", "exited"]);

export class Waiters {
  private readonly waiters = new Set<Waiter>();
  /** Waits whose pattern is still loading count too. */
  private startingCount = 0;
  private readonly alarm: Alarm;
  private readonly portWatches: PortWatches;
  private lastBell = -1;
  private alternateFrom = 0;
  private wasAlternate = false;

  constructor(private readonly port: WaitersPort) {
    this.alarm = new Alarm(port.clock, () => this.handleTimer());
    this.portWatches = new PortWatches(port.clock, port.lookAtPort);
    port.log.on({
      finished: (record) => this.handleCommandEnd(record),
      prompt: () => port.echo.notePrompt(),
      commandLine: (from, to) => port.echo.maskCommandLine(from, to),
    });
  }

  /** Number of pending waits. */
  get count(): number {
    return this.waiters.size;
  }

  /**
   * Resolves with the deciding event; timeout and cancellation are outcomes, not errors.
   * @throws WshError resource_limit_reached, invalid_cursor, command_not_found, invalid_request, regex_too_slow
   */
  async wait(request: WaitRequest): Promise<WaitOutcome> {
    const { text, log, limit } = this.port;
    if (this.waiters.size + this.startingCount >= limit) {
      throw new WshError("resource_limit_reached", `${limit} waits are pending in this session`);
    }
    const since = request.since ?? text.offset;
    requireOwnCursor(text, since);
    const { commandId } = request;
    if (commandId !== undefined) log.require(commandId);
    // Record where "now" is before a pattern is compiled, which may yield to output.
    const origin = scanOrigin(text, since, this.alternateFrom);
    this.startingCount++;
    let finders: readonly { type: "text" | "regex"; find: Finder }[];
    try {
      finders = await this.findersOf(request.anyOf);
    } finally {
      this.startingCount--;
    }
    if (request.signal?.aborted === true) return this.outcome("cancelled");
    const { overwritten, echo } = this.port;
    const source = { text, overwritten, masks: (line: number, shown: string) => echo.masks(line, shown) };
    const scans = finders.map(({ type, find }) => {
      const budget = type === "regex" ? new Budget() : null;
      return { type, scan: new OutputScan(source, origin, find, { budget, since }) };
    });
    return this.startWait(request, since, scans);
  }

  /** Output was parsed. Runs per chunk; costs nothing while no wait is for text. */
  noteChunk(): void {
    const { text, echo, observer } = this.port;
    observer.noteOutput();
    // A cursor within this chunk is the start of the command that entered it.
    if (text.alternate && !this.wasAlternate) this.alternateFrom = text.offset - 1;
    this.wasAlternate = text.alternate;
    echo.update();
    for (const waiter of [...this.waiters]) this.searchOutput(waiter, (scan) => scan.scan());
  }

  /** History drops lines. Runs per slice of a flood; costs nothing while no wait is for text. */
  noteRetired(lines: RetiredLines): void {
    for (const waiter of [...this.waiters]) {
      if (waiter.scans.length > 0) this.searchOutput(waiter, (scan) => scan.scanRetired(lines));
    }
  }

  /** Lines from `top` on were erased and are printed again. */
  noteErased(top: number): void {
    for (const { scans } of this.waiters) for (const { scan } of scans) scan.noteErased(top);
  }

  /** The terminal bell rang; `offset` is the output so far. */
  noteBell(offset: number): void {
    this.lastBell = offset;
    for (const waiter of [...this.waiters]) {
      if (hasCondition(waiter, "bell") && offset >= waiter.since) waiter.settle("bell");
    }
  }

  /** The agent in the foreground has changed its state, or is another. */
  noteAgentChange(agent: AgentInfo | null): void {
    for (const waiter of agent === null ? [] : [...this.waiters]) {
      const { anyOf } = waiter.request;
      if (agent !== null && anyOf.some((each) => each.type === "agent" && each.state === agent.state))
        waiter.settle("agent", { agent });
    }
  }

  /** The program has ended and its records are closed: nothing more can come. */
  noteExit(): void {
    this.port.observer.noteChange();
    for (const waiter of [...this.waiters]) {
      this.settleOpenMatch(waiter);
      waiter.settle("exited");
    }
  }

  /** The session is going away. */
  dispose(reason: WshError): void {
    this.alarm.clear();
    for (const waiter of [...this.waiters]) waiter.fail(reason);
  }

  private startWait(request: WaitRequest, since: number, scans: readonly TextScan[]): Promise<WaitOutcome> {
    const { clock, observer } = this.port;
    const ending = new Wait<WaitOutcome>({ signal: request.signal }, () => this.outcome("cancelled"));
    const types = request.anyOf.map((condition) => condition.type);
    let watching: Disposable | null = null;
    const waiter: Waiter = {
      request,
      since,
      deadline: clock.now() + Math.min(MAX_WAIT_MS, request.maxWaitMs),
      scans,
      idleMs: Math.min(...request.anyOf.map((each) => (each.type === "idle" ? each.ms : Number.POSITIVE_INFINITY))),
      stateConditions: new Set(types.filter((type) => stateConditions.has(type))),
      ports: null,
      isOpen: false,
      watchState: () => {
        watching ??= observer.watch((state) => this.handleState(waiter, state));
      },
      warnings: [],
      settle: (decidedBy, extra) => {
        const warnings = waiter.warnings.length === 0 ? {} : { warnings: waiter.warnings };
        ending.end(this.outcome(decidedBy, { ...warnings, ...extra }));
      },
      fail: (reason) => ending.fail(reason),
    };
    this.waiters.add(waiter);
    this.watchPorts(waiter, ending);
    ending.own(() => {
      this.waiters.delete(waiter);
      watching?.[Symbol.dispose]();
    });
    this.judgeNow(waiter);
    if (ending.isOver) return ending.promise;
    if (request.maxWaitMs === 0) this.handleDeadline(waiter);
    else {
      if (waiter.stateConditions.size > 0) waiter.watchState();
      this.alarm.set(Math.min(waiter.deadline, this.idleAt(waiter)));
    }
    return ending.promise;
  }

  /** Checks whether a condition already holds: events after `since`, and current states. */
  private judgeNow(waiter: Waiter): void {
    const { log, observer, activity } = this.port;
    const { commandId, anyOf } = waiter.request;
    this.searchOutput(waiter, (scan) => scan.scan());
    // A check finds the agent's present state.
    if (this.waiters.has(waiter) && hasCondition(waiter, "agent")) observer.observe();
    for (const { type } of anyOf) {
      if (!this.waiters.has(waiter)) return;
      if (type === "command_finished") {
        const record = commandId === undefined ? this.finishedSince(waiter.since) : log.get(commandId);
        if (record !== null && record.state !== "running") this.settleFinished(waiter, record);
      } else if (type === "port") this.checkPorts(waiter, false);
      else if (type === "agent") this.noteAgentChange(this.port.agent?.() ?? null);
      else if (type === "bell" && this.lastBell > waiter.since) waiter.settle("bell");
      else if (type === "idle" && activity.idleMs() >= waiter.idleMs) waiter.settle("idle");
    }
    if (!this.waiters.has(waiter)) return;
    const state = waiter.stateConditions.size > 0 || hasCondition(waiter, "exited") ? observer.observeAtPause() : null;
    if (state !== null) this.handleState(waiter, state);
    // After the child has ended nothing can be awaited, whatever was requested.
    else if (observer.hasExited) waiter.settle("exited");
  }

  /** The newest command that ended after `since`. */
  private finishedSince(since: number): CommandRecord | null {
    const last = this.port.log.last();
    const ended = last === null || last.state !== "running" ? last : this.port.log.get(last.id - 1);
    return ended !== null && ended.output_end !== null && ended.output_end > since ? ended : null;
  }

  private handleCommandEnd(record: CommandRecord): void {
    for (const waiter of [...this.waiters]) {
      this.settleOpenMatch(waiter);
      const { commandId } = waiter.request;
      if (!hasCondition(waiter, "command_finished") || (commandId !== undefined && commandId !== record.id)) continue;
      this.settleFinished(waiter, record);
    }
  }

  /** A ready or occupied port decides before the end of the command that should open it. */
  private settleFinished(waiter: Waiter, record: CommandRecord): void {
    if (!this.checkPorts(waiter, true, record)) waiter.settle("command_finished", { command: record });
  }

  private watchPorts(waiter: Waiter, ending: Wait<WaitOutcome>): void {
    const { anyOf, commandId } = waiter.request;
    const ports: PortCondition[] = anyOf.filter((each) => each.type === "port");
    if (ports.length === 0) return;
    waiter.ports = this.portWatches.watch(this.port.processes(commandId), ports, (finding) =>
      this.handlePortFinding(waiter, finding),
    );
    ending.own(waiter.ports);
  }

  /** Checks the ports of a wait. @returns whether that ended it */
  private checkPorts(waiter: Waiter, last: boolean, command?: CommandRecord): boolean {
    const finding = waiter.ports?.find(last) ?? null;
    if (finding === null) return false;
    if (command !== undefined && finding.kind === "unsupported") return false;
    this.handlePortFinding(waiter, finding, command);
    return !this.waiters.has(waiter);
  }

  private handlePortFinding(waiter: Waiter, finding: PortFinding, command?: CommandRecord): void {
    if (finding.kind === "unsupported") {
      this.handleUnknownPort(waiter, finding.port, finding.reason);
      return;
    }
    const { kind, port, owner } = finding;
    const { pid, name } = owner;
    const holder = pid === null ? "another user's process" : `'${name}' (pid ${pid})`;
    const reason =
      `port ${port} is held by ${holder}, which the command did not start: ` +
      "stop it or use another port; any_owner: true accepts any listener";
    waiter.settle(kind, {
      port: { port, ...owner },
      ...(kind === "port" ? {} : { reason }),
      ...defined({ command }),
    });
  }

  /** Ends the wait if no other condition remains; else adds a warning to its answer. */
  private handleUnknownPort(waiter: Waiter, port: number, why: string): void {
    const reason = `the listener on port ${port} cannot be identified: ${why}; wait for a text, or use any_owner: true`;
    if (waiter.request.anyOf.every(({ type }) => type === "port" || endConditions.has(type))) {
      waiter.settle("unsupported", { reason });
      return;
    }
    waiter.warnings.push(reason);
    waiter.ports?.[Symbol.dispose]();
    waiter.ports = null;
  }

  private handleDeadline(waiter: Waiter): void {
    if (this.settleOpenMatch(waiter) || this.checkPorts(waiter, true)) return;
    const { warning = null } = waiter.ports ?? {};
    if (warning !== null) waiter.warnings.push(warning);
    waiter.settle("timeout");
  }

  private handleState(waiter: Waiter, state: ProgramState): void {
    if (state.state === "exited" && !this.settleOpenMatch(waiter)) waiter.settle("exited", { state });
    if (!state.settled) return;
    const holds = state.state;
    if (holds === "running" || this.settleOpenMatch(waiter)) return;
    if (waiter.stateConditions.has(holds)) waiter.settle(holds, { state });
    // A full-screen program at rest waits for input too; the state in the answer distinguishes them.
    else if (holds === "fullscreen" && waiter.stateConditions.has("waiting_for_input"))
      waiter.settle("waiting_for_input", { state });
  }

  private handleTimer(): void {
    const now = this.port.clock.now();
    let next = Number.POSITIVE_INFINITY;
    const lineRestAt = this.lineRestAt(now);
    for (const waiter of [...this.waiters]) {
      const idleAt = this.idleAt(waiter);
      const restAt = waiter.isOpen ? lineRestAt : Number.POSITIVE_INFINITY;
      if (now >= restAt && this.settleOpenMatch(waiter)) continue;
      if (now >= idleAt) waiter.settle("idle");
      else if (now >= waiter.deadline) this.handleDeadline(waiter);
      else next = Math.min(next, idleAt, restAt, waiter.deadline);
    }
    this.alarm.set(next);
  }

  /** When an unfinished line counts as finished. */
  private lineRestAt(now: number): number {
    const { lastAt } = this.port.activity;
    if (now < lastAt + LINE_REST_MS || now >= lastAt + COMPUTING_REST_MS || !this.port.isComputing())
      return lastAt + LINE_REST_MS;
    return now + LINE_REST_MS;
  }

  /** The line of an open match does not continue. @returns whether that ended the wait */
  private settleOpenMatch(waiter: Waiter): boolean {
    if (waiter.isOpen) this.searchOutput(waiter, (scan) => scan.scan(true));
    return !this.waiters.has(waiter);
  }

  private idleAt(waiter: Waiter): number {
    return this.port.activity.lastAt + waiter.idleMs;
  }

  private searchOutput(waiter: Waiter, look: (scan: OutputScan) => ScanMatch | null): void {
    for (const { type, scan } of waiter.scans) {
      let found: ScanMatch | null;
      try {
        found = look(scan);
      } catch (error) {
        // The pattern is over its budget: the wait fails, the session continues.
        waiter.fail(error);
        return;
      }
      if (found === null) continue;
      waiter.settle(type, {
        match: found.text,
        outputCursor: found.cursor,
        ...present({ groups: found.groups, lineId: found.line }),
      });
      return;
    }
    waiter.isOpen = waiter.scans.some(({ scan }) => scan.isOpen);
    if (!waiter.isOpen) return;
    waiter.watchState();
    this.alarm.set(this.port.activity.lastAt + LINE_REST_MS);
  }

  private async findersOf(conditions: readonly Condition[]): Promise<{ type: "text" | "regex"; find: Finder }[]> {
    const finders: { type: "text" | "regex"; find: Finder }[] = [];
    for (const each of conditions) {
      if (each.type === "text") finders.push({ type: each.type, find: textFinder(each.text) });
      if (each.type === "regex") finders.push({ type: each.type, find: await regexFinder(each.pattern, each.flags) });
    }
    return finders;
  }

  private outcome(decidedBy: DecidedBy, extra: Partial<WaitOutcome> = {}): WaitOutcome {
    // A command ends at its mark, which may precede the end of the chunk being parsed.
    const outputCursor = Math.max(this.port.text.offset, extra.command?.output_end ?? 0);
    return { state: null, outputCursor, ...extra, decidedBy };
  }
}

function hasCondition(waiter: Waiter, type: Condition["type"]): boolean {
  return waiter.request.anyOf.some((condition) => condition.type === type);
}
