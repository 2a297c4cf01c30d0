/**
 * The agent of a pane: finds it among the programs that hold the terminal, stores facts about it, and reports each
 * change of its state once.
 *
 * The agent is the outermost one in the foreground: agents that it starts change nothing, and neither do reports of
 * processes that only inherited the pane's environment. Knowledge belongs to a process and lasts until that process has
 * ended: an agent that was stopped, or waits behind an editor that it started, keeps its state.
 *
 * `noteOutput` runs per chunk and `noteInput` per key: they note the time and set one timer. A check scans
 * the foreground group; without an agent it runs only after output, and rarely while the same group holds the
 * terminal. Nothing is polled except an agent that is busy without output.
 */
import { Alarm } from "../../base/alarm.ts";
import type { Clock } from "../../base/clock.ts";
import { Emitter } from "../../base/emitter.ts";
import type { ForegroundFacts } from "../../platform/foreground.ts";
import type { AgentMatch, AgentTable, ProcessNames } from "../../platform/known-agents.ts";
import { type AgentInfo, type AgentState, agentMessage, type ReportedConversation } from "../../protocol/agent.ts";
import { defined, present } from "../../protocol/defined.ts";
import type { Attention } from "../../terminal/model.ts";
import type { ProgramState } from "../state/classify.ts";
import { Conversations } from "./conversations.ts";
import {
  type AgentKnowledge,
  afterOutput,
  BUSY_CHECK_MS,
  isResting,
  type Judgement,
  judge,
  nothingKnown,
  REST_MS,
} from "./judge.ts";
import { type AgentProcess, findAgent, type Lineage, lineageOf, reportingAgent } from "./lineage.ts";

/** Time from output to the check that it causes, in ms: an agent runs for minutes. */
const CHECK_DELAY_MS = 500;
/** Longest interval between checks of the same foreground group without an agent, in ms. */
const MAX_CHECK_INTERVAL_MS = 30_000;
/** Maximum stored agents that are alive but do not hold the terminal: stopped ones. */
const MAX_STORED_AGENTS = 8;
/** Longest input that may be a terminal's report and not a key, in bytes. */
const MAX_REPORT_BYTES = 32;
/** Bytes that terminals send without user input: focus and mouse reports. */
const terminalReport = /^(?:\x1b\[[IO]|\x1b\[<[\d;]+[Mm]|\x1b\[M[\s\S]{3})+$/;

/** A report of an agent's hook. */
export interface AgentReport {
  readonly agent: string;
  readonly event: string;
  /** Null for an event without a state. */
  readonly state: AgentState | null;
  readonly message?: string | undefined;
  readonly conversation?: ReportedConversation | undefined;
  readonly moment?: "started" | "prompted" | "ended" | undefined;
  readonly prompt?: string | undefined;
  readonly reply?: string | undefined;
  /** The reporting process: the agent, or a process that it started. */
  readonly pid: number;
}

type ReportOutcome =
  | { readonly accepted: true }
  | { readonly accepted: false; readonly reason: "not_in_pane" | "nested" };

interface AgentWatchPort {
  readonly clock: Clock;
  readonly table: AgentTable;
  readonly lineage: Lineage;
  /** The pane's program; null when it has ended. */
  readonly pid: () => number | null;
  /** Process group that holds the terminal; null when unknown. */
  readonly foreground: () => number | null;
  /** Reads the terminal's holder and calls `noteObservation`. */
  readonly checkForeground: () => void;
  /** The command of a working child of a process; null: none. @param except a child to ignore */
  readonly busyChild: (pid: number, except: number) => string | null;
  readonly onChange: (agent: AgentInfo | null) => void;
}

interface WatchedAgent {
  readonly process: AgentProcess;
  knowledge: AgentKnowledge;
  judgement: Judgement | null;
  /** Wall time. */
  since: number;
  readonly conversations: Conversations;
}

export class AgentWatch {
  private readonly watchedAgents = new Map<string, WatchedAgent>();
  /** Names of agents that the table does not list and that have reported themselves, by pid. */
  private readonly claimedNames = new Map<number, string>();
  /** The newest announcement of each kind by a program that was not checked yet. */
  private pendingAnnouncements: Partial<Record<Attention["kind"], Attention>> = {};
  private foregroundAgent: WatchedAgent | null = null;
  /** Each accepted report of an agent's hook. */
  readonly reports = new Emitter<{ report: AgentReport & { readonly agentPid: number } }>();
  /** Counts inputs by anyone, without the terminal's own reports. */
  inputCount = 0;
  /** Whether keys were typed since the last Enter: unsent text may be present, unless it was erased. */
  hasUnsentText = false;
  private lastReported = "";
  private readonly alarm: Alarm;
  private checkedGroup: number | null = null;
  private checkedAt = Number.NEGATIVE_INFINITY;
  private nextCheckAt = 0;
  private checkIntervalMs = CHECK_DELAY_MS;
  private nextBusyCheckAt = 0;

  constructor(private readonly port: AgentWatchPort) {
    this.alarm = new Alarm(port.clock, () => this.check());
  }

  /** The agent in the foreground, as last seen; null without one. */
  get info(): AgentInfo | null {
    const { foregroundAgent } = this;
    if (foregroundAgent === null) return null;
    const { state, source, why, message, busy } = this.judgeAgent(foregroundAgent);
    const { name, pid } = foregroundAgent.process;
    const words = message === undefined || message === "" ? {} : { message };
    const conversation = foregroundAgent.conversations.newest;
    const talk = present({ conversation });
    const works = defined({ busy });
    return { name, pid, state, source, why, ...works, since: foregroundAgent.since, ...words, ...talk };
  }

  /** Whether hooks of the agent in the foreground have reported. */
  get hasHooks(): boolean {
    return this.foregroundAgent !== null && this.foregroundAgent.knowledge.hook !== null;
  }

  /** Output was parsed. Runs per chunk. */
  noteOutput(): void {
    const now = this.port.clock.now();
    if (this.foregroundAgent !== null)
      this.foregroundAgent.knowledge = afterOutput(this.foregroundAgent.knowledge, now);
    this.alarm.set(now + CHECK_DELAY_MS);
  }

  /** Input is written to the program. Runs per key. */
  noteInput(bytes: Uint8Array): void {
    const { foregroundAgent } = this;
    if (isTerminalReport(bytes)) return;
    this.inputCount++;
    this.hasUnsentText = !endsInEnter(bytes);
    if (foregroundAgent === null) return;
    const now = this.port.clock.now();
    foregroundAgent.knowledge = { ...foregroundAgent.knowledge, inputAt: now };
    this.alarm.set(now + CHECK_DELAY_MS);
  }

  /** The program announced something in its output. Called while a chunk is parsed. */
  noteAnnouncement(attention: Attention): void {
    const { foregroundAgent } = this;
    const now = this.port.clock.now();
    if (foregroundAgent !== null) foregroundAgent.knowledge = withAttention(foregroundAgent.knowledge, attention, now);
    else {
      this.pendingAnnouncements[attention.kind] = attention;
      this.checkedGroup = null;
    }
    this.alarm.set(now);
  }

  /**
   * The agent for which a process of the pane reports; null: the program is an unknown one; undefined: its
   * report changes nothing.
   */
  agentFor(pid: number): string | null | undefined {
    const { port } = this;
    const program = port.pid();
    const chain = program === null ? null : lineageOf(port.lineage, pid, program);
    const process = chain === null ? "nested" : reportingAgent(chain, (each) => this.match(each));
    return process === "nested" ? undefined : (process?.name ?? null);
  }

  /** Handles a hook's report. Checks the foreground first, to attribute it to an agent that has just started. */
  report(report: AgentReport): ReportOutcome {
    const { port } = this;
    const program = port.pid();
    const chain = program === null ? null : lineageOf(port.lineage, report.pid, program);
    if (chain === null) return { accepted: false, reason: "not_in_pane" };
    const agentProcess = reportingAgent(chain, (process) => this.match(process));
    if (agentProcess === "nested") return { accepted: false, reason: "nested" };
    const owner = agentProcess ?? chain.unknown;
    if (owner === null) return { accepted: false, reason: "not_in_pane" };
    if (agentProcess === null) this.claim(owner.pid, report.agent);
    const process = agentProcess ?? { ...owner, name: report.agent };
    const watched = this.storeAgent(process);
    const { state, event } = report;
    if (!watched.conversations.noteReport(report, port.clock.wall())) return { accepted: true };
    if (state !== null) {
      const why = `its hook ${event} reported it`;
      const message = report.message === undefined ? undefined : agentMessage(report.message);
      this.nextBusyCheckAt = port.clock.now() + BUSY_CHECK_MS;
      const busy = isResting(state) ? port.busyChild(process.pid, report.pid) : null;
      watched.knowledge = {
        ...watched.knowledge,
        busy,
        hook: { state, source: "hook", why, message, reportedAt: port.clock.now() },
      };
    }
    if (report.moment === "prompted" && watched === this.foregroundAgent) this.hasUnsentText = false;
    port.checkForeground();
    this.reportChange();
    this.reports.emit("report", { ...report, agentPid: process.pid });
    return { accepted: true };
  }

  /** The foreground program was checked; null facts are ignored. Runs per check by any caller. */
  noteObservation(facts: ForegroundFacts | null, state: ProgramState): void {
    const { port } = this;
    const program = port.pid();
    if (state.state === "exited" || program === null) this.setForegroundAgent(null);
    else if (facts !== null) {
      const process = findAgent(facts, program, port.lineage, (each) => this.match(each));
      const watched = process === null ? null : this.storeAgent(process);
      if (watched !== null) {
        const isAtRest = state.doing === "ready" || state.doing === "unknown";
        if (watched.knowledge.isAtRest !== isAtRest) watched.knowledge = { ...watched.knowledge, isAtRest };
      }
      this.setForegroundAgent(watched);
      this.checkedGroup = facts.group;
      this.checkedAt = port.clock.now();
    }
    this.forgetEnded();
  }

  /** The pane's program has ended. */
  noteExit(): void {
    this.setForegroundAgent(null);
    this.watchedAgents.clear();
    this.claimedNames.clear();
    this.reportChange();
    this.alarm.clear();
  }

  dispose(): void {
    this.alarm.clear();
  }

  private match(process: ProcessNames & { readonly pid: number }): AgentMatch | null {
    const claimed = this.claimedNames.get(process.pid);
    return this.port.table(process) ?? (claimed === undefined ? null : { name: claimed, isScript: false });
  }

  private claim(pid: number, name: string): void {
    if (this.claimedNames.size >= MAX_STORED_AGENTS) this.claimedNames.clear();
    this.claimedNames.set(pid, name);
  }

  private storeAgent(process: AgentProcess): WatchedAgent {
    const earlier = this.watchedAgents.get(process.key);
    if (earlier !== undefined) return earlier;
    const { clock } = this.port;
    const now = clock.now();
    // A starting program prints: only later output counts.
    const begun = { ...nothingKnown, outputAt: now, burstAt: now };
    const conversations = new Conversations(process.name, this.port.lineage(process.pid)?.args ?? [], clock.wall());
    const added: WatchedAgent = { process, knowledge: begun, judgement: null, since: clock.wall(), conversations };
    if (this.watchedAgents.size >= MAX_STORED_AGENTS) {
      const oldest = this.watchedAgents.keys().next();
      if (!oldest.done) this.watchedAgents.delete(oldest.value);
    }
    this.watchedAgents.set(process.key, added);
    return added;
  }

  private setForegroundAgent(watched: WatchedAgent | null): void {
    if (watched === this.foregroundAgent) return;
    this.foregroundAgent = watched;
    const now = this.port.clock.now();
    for (const attention of watched === null ? [] : Object.values(this.pendingAnnouncements)) {
      if (watched !== null) watched.knowledge = withAttention(watched.knowledge, attention, now);
    }
    this.alarm.set(now);
  }

  /** Drops stored agents that have ended. */
  private forgetEnded(): void {
    for (const [key, watched] of this.watchedAgents) {
      const { process } = watched;
      if (this.isAlive(watched)) continue;
      this.watchedAgents.delete(key);
      this.claimedNames.delete(process.pid);
      if (this.foregroundAgent?.process.key === key) this.setForegroundAgent(null);
    }
  }

  private check(): void {
    const { port } = this;
    const now = port.clock.now();
    if (port.pid() === null) {
      this.noteExit();
      return;
    }
    const group = port.foreground();
    const { foregroundAgent } = this;
    if (group !== this.checkedGroup || (foregroundAgent !== null && !this.isAlive(foregroundAgent)))
      this.scheduleCheck(now, true);
    else if (foregroundAgent === null && now >= this.nextCheckAt) this.scheduleCheck(now);
    // Output without an agent: the same group may have become one.
    else if (foregroundAgent === null) this.alarm.set(this.nextCheckAt);
    this.checkChildren(now);
    if (this.foregroundAgent !== null) this.watchRest(this.foregroundAgent, now);
    this.pendingAnnouncements = {};
    this.reportChange();
  }

  /** Checks whether the child for which the agent counts as busy still works. */
  private checkChildren(now: number): void {
    const { foregroundAgent } = this;
    if (foregroundAgent === null || foregroundAgent.knowledge.busy === null || now < this.nextBusyCheckAt) return;
    this.nextBusyCheckAt = now + BUSY_CHECK_MS;
    const { knowledge, process } = foregroundAgent;
    foregroundAgent.knowledge = { ...knowledge, busy: this.port.busyChild(process.pid, process.pid) };
  }

  /** Checks whether a quiet agent is at rest, and sets a timer if time alone may change its state. */
  private watchRest(current: WatchedAgent, now: number): void {
    const { inputAt, outputAt } = current.knowledge;
    const quietSince = Math.max(inputAt, outputAt);
    let { until } = this.judgeAgent(current);
    if (until === Number.POSITIVE_INFINITY) return;
    if (now >= quietSince + REST_MS) {
      if (this.checkedAt <= quietSince) this.scheduleCheck(now, true);
      else if (!current.knowledge.isAtRest && now >= this.nextCheckAt) this.scheduleCheck(now);
      if (this.foregroundAgent !== current) return;
      until = this.judgeAgent(current).until;
      if (!current.knowledge.isAtRest) until = Math.max(until, this.nextCheckAt);
    }
    if (until !== Number.POSITIVE_INFINITY) this.alarm.set(Math.max(until, now + CHECK_DELAY_MS));
  }

  private isAlive({ process }: WatchedAgent): boolean {
    return this.port.lineage(process.pid)?.key === process.key;
  }

  /** @param isNews the checked processes have changed */
  private scheduleCheck(now: number, isNews = false): void {
    if (isNews) this.checkIntervalMs = CHECK_DELAY_MS;
    this.nextCheckAt = now + this.checkIntervalMs;
    this.checkIntervalMs = Math.min(MAX_CHECK_INTERVAL_MS, this.checkIntervalMs * 2);
    this.port.checkForeground();
  }

  private judgeAgent(watched: WatchedAgent): Judgement {
    const { clock } = this.port;
    const now = clock.now();
    const was = watched.judgement;
    const next = judge(watched.knowledge, now, was?.state ?? "working");
    if (was?.state !== next.state) watched.since = clock.wall();
    watched.judgement = next;
    const { hook } = watched.knowledge;
    if (hook?.state === "needs_input" && next.state === "working") {
      // The user has answered; further activity is work until a hook reports otherwise.
      watched.knowledge = {
        ...watched.knowledge,
        hook: { state: "working", source: "program", why: next.why, reportedAt: now },
      };
    }
    return next;
  }

  /** Reports a change. */
  private reportChange(): void {
    const { info } = this;
    const described = info === null ? "" : JSON.stringify({ ...info, why: "", since: 0 });
    if (described === this.lastReported) return;
    this.lastReported = described;
    this.port.onChange(info);
  }
}

function withAttention(knowledge: AgentKnowledge, attention: Attention, at: number): AgentKnowledge {
  if (attention.kind === "notification") {
    return { ...knowledge, notification: { by: attention.by, message: agentMessage(attention.text), at } };
  }
  const { state } = attention;
  // A repetition, or a clear without an earlier progress (as at a start), is ignored.
  if (knowledge.progress === null ? state === "cleared" : knowledge.progress.state === state) return knowledge;
  return { ...knowledge, progress: { state, at } };
}

/** CR, or Enter in kitty's keyboard protocol. */
function endsInEnter(bytes: Uint8Array): boolean {
  const last = bytes.at(-1);
  return last === 0x0d || (last === 0x75 && /\x1b\[13(?:;1)?u$/.test(String.fromCharCode(...bytes.slice(-8))));
}

function isTerminalReport(bytes: Uint8Array): boolean {
  if (bytes.length < 3 || bytes.length > MAX_REPORT_BYTES || bytes[0] !== 0x1b) return false;
  return terminalReport.test(String.fromCharCode(...bytes));
}
