/**
 * Records one pane's events in the journal: its commands, its program's notifications, its state and its ports.
 *
 * State and ports are queried from the system when the pane has been quiet for a moment, then a few more times at
 * growing intervals, and repeatedly only while a program runs. A shell at its prompt causes no wake-ups.
 */
import { Alarm } from "../../base/alarm.ts";
import { systemClock } from "../../base/clock.ts";
import { ShellHistory } from "../../pane/commands/shell-history.ts";
import type { Pane } from "../../pane/pane.ts";
import { KnownProcesses, PortScan } from "../../platform/listening.ts";
import { platform } from "../../platform/platform.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import { present } from "../../protocol/defined.ts";
import type { EventDetails } from "../../protocol/recorded-events.ts";
import type { SessionState } from "../../protocol/session.ts";
import type { Settings } from "../../settings/table.ts";
import type { Recorder } from "./recorder.ts";

/** Times from the last change to checks of state and ports, in ms, and the interval between later ones. */
const CHECK_DELAYS_MS = [500, 2_000, 8_000, 30_000] as const;
const LATER_CHECK_INTERVAL_MS = 60_000;
/** Longest text of a command in the journal, in characters, as in the history. */
const MAX_COMMAND = 8_192;
/** States in which a program may act without printing. */
const activeStates: ReadonlySet<SessionState> = new Set(["running", "fullscreen"]);

interface PaneEventsOptions {
  readonly pane: Pane;
  readonly recorder: Pick<Recorder, "record">;
  readonly settings: Pick<Settings, "history" | "long_command_seconds">;
  /** The window that contains it; null: none. */
  window(): string | null;
  isPrivate(): boolean;
  /** The state of its program was checked. */
  stateChecked(state: SessionState): void;
}

export function recordPane(options: PaneEventsOptions): Disposable {
  const { pane, settings } = options;
  const record = (details: EventDetails): void => {
    const window = options.window();
    options.recorder.record({ ...details, pane: pane.id, ...present({ window }) });
  };
  const { log } = pane.commands;
  /** Commands that the history may store: no other text is recorded. */
  const recordable = new Set<number>();
  const history = new ShellHistory(log, {
    isTypedByPerson: () => true,
    isPrivate: () => options.isPrivate(),
    onBegin: ({ record: { id } }) => void recordable.add(id),
    onEnd: () => {},
    onLeave: (id) => void recordable.delete(id),
  });
  const commandFields = ({ id, command, cwd }: CommandRecord): Pick<EventDetails, "command" | "command_id" | "cwd"> => {
    const isKept = settings.history !== "off" && recordable.has(id);
    return { command_id: id, command: isKept ? (command?.slice(0, MAX_COMMAND) ?? null) : null, cwd };
  };
  const stateWatch = new StateWatch(options, record, () => settings.long_command_seconds * 1000);
  const logListener = log.on({
    started: (begun) => record({ event: "command_started", ...commandFields(begun) }),
    finished: (ended) => {
      const { exit_code, signal, duration_ms } = ended;
      record({ event: "command_finished", ...commandFields(ended), exit_code, signal, duration_ms });
      recordable.delete(ended.id);
    },
  });
  const { events } = pane;
  const unsubscribers = [
    events.on("bell", () => record({ event: "bell" })),
    events.on("title", (title) => record({ event: "title_changed", title })),
    events.on("attention", (attention) => {
      if (attention.kind !== "notification") return;
      record({ event: "notification", text: attention.text, form: attention.by });
    }),
    events.on("agent", (agent) => record({ event: "agent_state", agent })),
    events.on("listed", () => stateWatch.activity()),
  ];
  return {
    [Symbol.dispose]() {
      for (const unsubscribe of unsubscribers) unsubscribe();
      logListener[Symbol.dispose]();
      history[Symbol.dispose]();
      stateWatch[Symbol.dispose]();
    },
  };
}

class StateWatch implements Disposable {
  private readonly alarm = new Alarm(systemClock, () => this.onAlarm());
  private readonly ownProcesses: KnownProcesses;
  private changedAt = 0;
  private checkCount = 0;
  private state: SessionState = "running";
  private isQuiet = false;
  private ports: ReadonlyMap<number, string> = new Map();

  private readonly pane: Pane;

  constructor(
    private readonly options: Pick<PaneEventsOptions, "pane" | "stateChecked">,
    private readonly record: (details: EventDetails) => void,
    private readonly quietMs: () => number,
  ) {
    const { pane } = options;
    this.pane = pane;
    this.ownProcesses = new KnownProcesses({
      since: null,
      foreground: () => pane.pid,
      get pid() {
        return pane.pid;
      },
    });
  }

  /** Runs per chunk and per input. */
  activity(): void {
    this.changedAt = systemClock.now();
    this.checkCount = 0;
    this.isQuiet = false;
    this.alarm.set(this.changedAt + CHECK_DELAYS_MS[0]);
  }

  [Symbol.dispose](): void {
    this.alarm.clear();
  }

  private onAlarm(): void {
    const { pane } = this;
    if (pane.exit !== null) return;
    const now = systemClock.now();
    const due = this.changedAt + CHECK_DELAYS_MS[0];
    if (now < due) {
      this.alarm.set(due);
      return;
    }
    this.check(now);
    // A background job may begin to listen.
    const hasJobs = this.checkCount < 2 && (platform().listeners?.children(pane.pid ?? 0).length ?? 0) > 0;
    if (!activeStates.has(this.state) && !hasJobs) return;
    const quietAt = this.isQuiet ? Number.POSITIVE_INFINITY : this.changedAt + this.quietMs();
    this.checkCount++;
    const nextCheckMs = CHECK_DELAYS_MS[this.checkCount];
    this.alarm.set(
      Math.min(
        quietAt,
        nextCheckMs === undefined ? now + LATER_CHECK_INTERVAL_MS : Math.max(now + 1, this.changedAt + nextCheckMs),
      ),
    );
  }

  private check(now: number): void {
    const { pane, state: was } = this;
    this.state = pane.state();
    const driven = pane.writer.source === "api" ? { driven: true } : {};
    if (this.state !== was) this.record({ event: "state_changed", state: this.state, was, ...driven });
    this.options.stateChecked(this.state);
    this.checkPorts();
    const quiet = now - this.changedAt;
    if (this.state !== "running" || this.isQuiet || quiet < this.quietMs()) return;
    this.isQuiet = true;
    this.record({ event: "quiet", quiet_ms: Math.round(quiet) });
  }

  private checkPorts(): void {
    const before = this.ports;
    const now = new PortScan().ownPorts(this.ownProcesses);
    if (now === null) return;
    this.ports = now;
    for (const [port, program] of now) if (!before.has(port)) this.record({ event: "port_opened", port, program });
    for (const port of before.keys()) if (!now.has(port)) this.record({ event: "port_closed", port });
  }
}
