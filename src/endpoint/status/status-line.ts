/**
 * What happens in a session's windows, as people are told of it: by marks in the status line, a row of the outer screen
 * that says which windows there are, and by alerts of their terminals (attention.ts).
 * There is none while it has nothing to say: under `auto` it needs several windows or panes, and under any setting
 * somebody who is attached.
 *
 * Owns what has happened in windows that nobody looks at, the timer of the next change, and the command of the settings
 * while it runs; all end with `dispose`. Changes are shown at most every UPDATE_MS.
 */
import type { Settings } from "../../instance/settings/table.ts";
import { isNewsKind, type NewsKind } from "../../protocol/attention.ts";
import type { Panel } from "../../protocol/drawing.ts";
import { automaticName, type PaneInfo, type WindowInfo } from "../../protocol/session.ts";
import type { Session } from "../../session/session.ts";
import { Attention } from "./attention.ts";
import {
  defaultSegments,
  type Marks,
  type SegmentName,
  type StatusText,
  segmentNames,
  statusText,
} from "./segments.ts";

/** Shortest time between two changes of the line, in ms: faster ones cannot be read. */
const UPDATE_MS = 200;
/** Silence after which output in a window that nobody looks at is news, in ms. */
const SILENCE_MS = 10_000;
/** Time after which the command of the settings is given up, in ms, and characters of what it printed. */
const COMMAND_MS = 5_000;
const COMMAND_CHARS = 100;
const MINUTE_MS = 60_000;

export type StatusSettings = Pick<
  Settings,
  | "status"
  | "status_position"
  | "status_segments"
  | "status_command"
  | "status_seconds"
  | "long_command_seconds"
  | "alert"
  | "alert_for"
>;

const none: Marks = { bell: false, activity: false, finished: false };

export class StatusLine implements Disposable {
  private readonly marks = new Map<string, Marks>();
  /** When a pane printed last, and what runs in it since when, in ms. */
  private readonly printedAt = new Map<string, number>();
  private readonly runs = new Map<string, { readonly since: number; readonly program: string }>();
  /** As they were when the line was made last. */
  private windows: readonly WindowInfo[] = [];
  private shown = "";
  private timer: Timer | null = null;
  private commandTimer: Timer | null = null;
  private command = "";
  private isRunning = false;
  private over = false;
  private readonly attention: Attention;
  private readonly segments: readonly SegmentName[];
  private readonly ends: (() => void)[];

  constructor(
    private readonly session: Session,
    private readonly settings: StatusSettings,
    /** Whether the session is served here. */
    private readonly isServed: () => boolean = () => true,
  ) {
    const named = settings.status_segments.filter(isSegment);
    this.segments = named.length === 0 ? defaultSegments : named;
    const { events } = session;
    const kinds = settings.alert_for.filter(isNewsKind);
    this.attention = new Attention({
      way: settings.alert,
      kinds: new Set(kinds.length === 0 ? ["bell"] : kinds),
      name: () => session.name,
      // Who only looks has seen nothing in the place of those who act.
      viewers: () => session.viewers.all.filter(({ readOnly }) => !readOnly),
    });
    const soon = (): void => this.soon();
    this.ends = (["info", "listed", "renamed", "resized"] as const).map((name) => events.on(name, soon));
    this.soon();
  }

  [Symbol.dispose](): void {
    this.over = true;
    clearTimeout(this.timer ?? undefined);
    clearTimeout(this.commandTimer ?? undefined);
    for (const end of this.ends) end();
  }

  /** A pane's bell rang. */
  rang(pane: string): void {
    this.mark(pane, "bell", "a bell");
  }

  /** A pane's picture has changed. Runs per picture. */
  painted(pane: string): void {
    const now = performance.now();
    const last = this.printedAt.get(pane);
    this.printedAt.set(pane, now);
    if (last !== undefined && now - last > SILENCE_MS) this.mark(pane, "activity", "output after silence");
  }

  private mark(pane: string, kind: NewsKind, text: string): void {
    const holds = ({ panes }: WindowInfo): boolean => panes.some(({ id }) => id === pane);
    // Where it is known: twenty panes that are painted anew look at all panes but once.
    const window = this.windows.find(holds) ?? this.session.windows.find(holds);
    if (window === undefined) return;
    const place = window.active ? "" : ` in window ${window.index}`;
    this.attention.happened(kind, pane, `${text}${place}`);
    const marks = this.marks.get(window.id) ?? none;
    if (window.active || marks[kind]) return;
    this.marks.set(window.id, { ...marks, [kind]: true });
    this.soon();
  }

  private soon(): void {
    if (this.over) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.update();
    }, UPDATE_MS);
  }

  private update(): void {
    const { session, settings } = this;
    if (session.lifetime.isOver || !this.isServed()) return;
    const { windows } = session;
    this.windows = windows;
    const panes = windows.flatMap((window) => window.panes.map((pane) => ({ window: window.id, pane })));
    for (const { pane } of panes) this.follow(pane);
    for (const { id, active } of windows) if (active) this.marks.delete(id);
    for (const id of this.marks.keys()) if (!windows.some((window) => window.id === id)) this.marks.delete(id);
    for (const known of [this.printedAt, this.runs])
      for (const id of known.keys()) if (!panes.some(({ pane }) => pane.id === id)) known.delete(id);
    this.attention.look(new Set(panes.map(({ pane }) => pane.id)));
    const isMeant = settings.status === "on" || (settings.status === "auto" && panes.length > 1);
    const isShown = isMeant && session.viewers.terminals > 0;
    if (!isShown) {
      this.put(null);
      return;
    }
    const facts = {
      session: session.name,
      windows,
      marks: (window: string) => this.marks.get(window) ?? none,
      people: session.viewers.people,
      devices: session.viewers.all.flatMap(({ page }) => page ?? []),
      command: this.command,
      now: new Date(),
    };
    const { spans, targetAt } = statusText(facts, this.segments, session.size.cols);
    const panel: Panel = {
      id: "status",
      position: settings.status_position,
      height: 1,
      z: 0,
      visible: true,
      spans,
      screen_mode: "both",
    };
    this.put(panel, targetAt);
    this.repeat();
  }

  /** Notes when a pane's command began, and that a long one has ended. */
  private follow(pane: PaneInfo): void {
    const { id, state } = pane;
    const now = performance.now();
    const isBusy = state === "running" || state === "fullscreen" || state === "waiting_for_input";
    const run = this.runs.get(id);
    if (isBusy) {
      this.runs.set(id, { since: run?.since ?? now, program: automaticName(pane) });
      return;
    }
    this.runs.delete(id);
    if (run === undefined || now - run.since < this.settings.long_command_seconds * 1000) return;
    const code = state === "exited" ? pane.exit_code : pane.last_exit_code;
    const failed = code === undefined || code === null || code === 0 ? "" : ` with exit code ${code}`;
    this.mark(id, "finished", `'${run.program}' has ended${failed} after ${durationOf(now - run.since)}`);
  }

  private put(panel: Panel | null, targetAt?: StatusText["targetAt"]): void {
    const text = JSON.stringify(panel);
    if (text === this.shown) return;
    this.shown = text;
    this.session.setStatus(panel, targetAt);
  }

  /** Asks the command again, and looks at the clock, while the line is shown. */
  private repeat(): void {
    const { status_command: command, status_seconds: seconds } = this.settings;
    const hasClock = this.segments.includes("time");
    const isAsked = command !== "" && this.segments.includes("command");
    if ((!isAsked && !hasClock) || this.commandTimer !== null || this.isRunning) return;
    if (isAsked) void this.ask(command);
    const wait = isAsked ? seconds * 1000 : MINUTE_MS - (Date.now() % MINUTE_MS);
    this.commandTimer = setTimeout(() => {
      this.commandTimer = null;
      this.soon();
    }, wait);
  }

  private async ask(command: string): Promise<void> {
    this.isRunning = true;
    try {
      const child = Bun.spawn(["sh", "-c", command], {
        stdin: "ignore",
        stdout: "pipe",
        stderr: "ignore",
        timeout: COMMAND_MS,
        killSignal: "SIGKILL",
        env: { ...process.env, WSH_SESSION: this.session.name },
      });
      child.unref();
      const text = await new Response(child.stdout).text();
      this.command = (text.split("\n", 1)[0] ?? "").slice(0, COMMAND_CHARS);
    } catch {
      // It cannot be started: nothing is shown of it.
      this.command = "";
    }
    this.isRunning = false;
    this.soon();
  }
}

function isSegment(name: string): name is SegmentName {
  return (segmentNames as readonly string[]).includes(name);
}

function durationOf(ms: number): string {
  const seconds = Math.round(ms / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`;
}
