/**
 * Shows people the events in a session's windows: by marks in the status line, a row of the outer screen that
 * lists the windows, and by alerts of their terminals (attention.ts). The line is hidden when it has no use:
 * `auto` shows it only with several windows or panes, and every setting only while a person is attached.
 *
 * Owns the events of hidden windows, the timer of the next change, and the command of the settings; all end with
 * `dispose`. Changes are shown at most every UPDATE_MS.
 */

import { serializeStatusTheme } from "../../compositor/theme.ts";
import { hostname } from "../../instance/hostname.ts";
import { accountName } from "../../platform/account.ts";
import { isNewsKind, type NewsKind } from "../../protocol/attention.ts";
import { automaticName, type PaneInfo, type WindowInfo } from "../../protocol/session.ts";
import { roughDuration } from "../../protocol/time-text.ts";
import type { Session } from "../../session/session.ts";
import type { StatusLine as ShownLine } from "../../session/types.ts";
import type { Settings } from "../../settings/table.ts";
import { Attention } from "./attention.ts";
import { composeStatusText } from "./line-layout.ts";
import { clockPeriod, type Marks, parseSegments, type Segment, type StatusFacts } from "./segments.ts";
import { type CommandPort, noOutput, StatusCommands } from "./status-command.ts";

/** Shortest time between two changes of the line, in ms: faster ones cannot be read. */
const UPDATE_MS = 200;
/** Silence after which output in a hidden window is an event, in ms. */
const SILENCE_MS = 10_000;
/** Time limit of status_command, in ms. */
const COMMAND_MS = 5_000;

type StatusSettings = Pick<
  Settings,
  | "status"
  | "status_position"
  | "status_segments"
  | "status_command"
  | "status_seconds"
  | "hostname"
  | "long_command_seconds"
  | "alert"
  | "alert_for"
>;

const noMarks: Marks = { bell: false, activity: false, finished: false };

export class StatusLine implements Disposable {
  private readonly marks = new Map<string, Marks>();
  /** Time of each pane's last output, and its running command with its start, in ms. */
  private readonly lastOutputAt = new Map<string, number>();
  private readonly runningCommands = new Map<string, { readonly since: number; readonly program: string }>();
  /** Windows at the line's last composition. */
  private windows: readonly WindowInfo[] = [];
  private shownDigest = "";
  private timer: Timer | null = null;
  private clock: Timer | null = null;
  private isDisposed = false;
  private readonly attention: Attention;
  private readonly commands: StatusCommands;
  private segments: readonly Segment[] = [];
  /** Number of times that the segments were read. */
  private segmentsVersion = 0;
  private readonly unsubscribers: (() => void)[];

  constructor(
    private readonly session: Session,
    /** Read at each use: the settings may change. */
    private readonly settings: StatusSettings,
    commands: Pick<CommandPort, "socket" | "failed">,
  ) {
    const { events } = session;
    this.attention = new Attention({
      alertMode: () => settings.alert,
      isEnabled: (kind) => {
        const kinds = settings.alert_for.filter(isNewsKind);
        return kinds.length === 0 ? kind === "bell" : kinds.includes(kind);
      },
      name: () => session.name,
      // A read-only viewer does not count as having seen events.
      viewers: () => session.viewers.all.filter(({ readOnly }) => !readOnly),
    });
    this.commands = new StatusCommands({ ...commands, session, changed: () => this.scheduleUpdate() });
    this.readSegments();
    const schedule = (): void => this.scheduleUpdate();
    this.unsubscribers = (["info", "listed", "renamed", "resized"] as const).map((name) => events.on(name, schedule));
    this.scheduleUpdate();
  }

  [Symbol.dispose](): void {
    this.isDisposed = true;
    clearTimeout(this.timer ?? undefined);
    clearTimeout(this.clock ?? undefined);
    this.commands.stop();
    for (const end of this.unsubscribers) end();
  }

  /** The settings have changed. */
  changed(): void {
    this.readSegments();
    this.update();
  }

  private readSegments(): void {
    const { status_segments: configured, status_command: line, status_seconds: seconds } = this.settings;
    const label = "status_command";
    const defaultCommand = line === "" ? null : { argv: ["sh", "-c", line], label, seconds, timeoutMs: COMMAND_MS };
    this.segments = parseSegments(configured, defaultCommand);
    this.segmentsVersion++;
    this.commands.retain(this.segments.flatMap(({ command }) => command ?? []));
    clearTimeout(this.clock ?? undefined);
    this.clock = null;
  }

  /** The facts of a pane may have changed. Runs per chunk. */
  paneChanged(): void {
    this.scheduleUpdate();
  }

  bellRang(pane: string): void {
    this.mark(pane, "bell", "a bell");
  }

  /** A pane's picture has changed. Runs per picture. */
  paneRendered(pane: string): void {
    const now = performance.now();
    const last = this.lastOutputAt.get(pane);
    this.lastOutputAt.set(pane, now);
    if (last !== undefined && now - last > SILENCE_MS) this.mark(pane, "activity", "output after silence");
  }

  private mark(pane: string, kind: NewsKind, text: string): void {
    const hasPane = ({ panes }: WindowInfo): boolean => panes.some(({ id }) => id === pane);
    // Uses cached windows if possible: twenty repainted panes then read all panes only once.
    const window = this.windows.find(hasPane) ?? this.session.windows.find(hasPane);
    if (window === undefined) return;
    const place = window.active ? "" : ` in window ${window.index}`;
    this.attention.notify(kind, pane, `${text}${place}`);
    const marks = this.marks.get(window.id) ?? noMarks;
    if (window.active || marks[kind]) return;
    this.marks.set(window.id, { ...marks, [kind]: true });
    this.scheduleUpdate();
  }

  private scheduleUpdate(): void {
    if (this.isDisposed) return;
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.update();
    }, UPDATE_MS);
  }

  private update(): void {
    const { session, settings } = this;
    if (session.lifetime.isOver) return;
    const { windows } = session;
    this.windows = windows;
    const panes = windows.flatMap((window) => window.panes.map((pane) => ({ window: window.id, pane })));
    for (const { pane } of panes) this.trackCommand(pane);
    for (const { id, active } of windows) if (active) this.marks.delete(id);
    for (const id of this.marks.keys()) if (!windows.some((window) => window.id === id)) this.marks.delete(id);
    for (const byPane of [this.lastOutputAt, this.runningCommands])
      for (const id of byPane.keys()) if (!panes.some(({ pane }) => pane.id === id)) byPane.delete(id);
    this.attention.forgetSeen(new Set(panes.map(({ pane }) => pane.id)));
    // A popup is temporary and does not change the size of the panes below it.
    const permanentPanes = panes.filter(({ pane }) => pane.popup !== true);
    const isEnabled = settings.status === "on" || (settings.status === "auto" && permanentPanes.length > 1);
    // A page alone has windows and state in its header: it has the line if it is always shown.
    const hasPage =
      settings.status === "on" && session.viewers.all.some(({ page, readOnly }) => page !== null && !readOnly);
    const isVisible = isEnabled && (session.viewers.terminalCount > 0 || hasPage);
    if (!isVisible) {
      this.commands.stop();
      this.setLine(null, "");
      return;
    }
    const { segments } = this;
    const outputs = new Map(
      segments.flatMap(({ command }) => (command === null ? [] : [[command, this.commands.outputOf(command)]])),
    );
    const facts: StatusFacts = {
      session: session.name,
      host: hostname(settings.hostname),
      user: accountName(),
      home: process.env.HOME ?? "",
      windows,
      marks: (window) => this.marks.get(window) ?? noMarks,
      marked: session.markedPane,
      people: session.viewers.peopleCount,
      devices: session.viewers.all.flatMap(({ page }) => page ?? []),
      output: (command) => outputs.get(command) ?? noOutput,
      now: new Date(),
    };
    const { status_position: position } = settings;
    const isMarked = (window: string): boolean => Object.values(this.marks.get(window) ?? noMarks).includes(true);
    this.setLine(
      { position, text: makeLineText(facts, segments), isMarked },
      `${position} ${this.segmentsVersion} ${digestFacts(facts, segments)}`,
    );
    const period = clockPeriod(segments);
    if (period === null) return;
    this.clock ??= setTimeout(
      () => {
        this.clock = null;
        this.scheduleUpdate();
      },
      period - (Date.now() % period),
    );
  }

  /** Records the start of a pane's command, and the end of a long one. */
  private trackCommand(pane: PaneInfo): void {
    const { id, state } = pane;
    const now = performance.now();
    const isBusy = state === "running" || state === "fullscreen" || state === "waiting_for_input";
    const run = this.runningCommands.get(id);
    if (isBusy) {
      this.runningCommands.set(id, { since: run?.since ?? now, program: automaticName(pane) });
      return;
    }
    this.runningCommands.delete(id);
    if (run === undefined || now - run.since < this.settings.long_command_seconds * 1000) return;
    const code = state === "exited" ? pane.exit_code : pane.last_exit_code;
    const failed = code === undefined || code === null || code === 0 ? "" : ` with exit code ${code}`;
    this.mark(id, "finished", `'${run.program}' exited${failed} after ${roughDuration(now - run.since)}`);
  }

  /** @param digest the visible parts of the line */
  private setLine(line: ShownLine | null, digest: string): void {
    if (digest === this.shownDigest) return;
    this.shownDigest = digest;
    this.session.setStatus(line);
  }
}

/** Returns the line for each terminal, composed once for each width and focus. */
function makeLineText(facts: StatusFacts, segments: readonly Segment[]): ShownLine["text"] {
  const cached = new Map<string, ReturnType<ShownLine["text"]>>();
  return (cols, seen) => {
    const key = `${cols} ${seen?.window} ${seen?.pane}`;
    const text = cached.get(key) ?? composeStatusText(seen === null ? facts : factsSeenBy(facts, seen), segments, cols);
    cached.set(key, text);
    return text;
  };
}

/** The facts for a terminal with its own active window and pane. */
function factsSeenBy(
  facts: StatusFacts,
  { window, pane }: { readonly window: string; readonly pane: string },
): StatusFacts {
  return {
    ...facts,
    marks: (id) => (id === window ? noMarks : facts.marks(id)),
    windows: facts.windows.map((each) => {
      const isFocused = each.id === window;
      const panes = isFocused
        ? each.panes.map((paneInfo) => ({ ...paneInfo, active: paneInfo.id === pane }))
        : each.panes;
      return { ...each, active: isFocused, panes };
    }),
  };
}

/** The facts that affect the line of any terminal. */
function digestFacts(facts: StatusFacts, segments: readonly Segment[]): string {
  const { windows, marks, output, now, ...rest } = facts;
  const hasText = segments.some(({ kind }) => kind === "text");
  const windowStates = windows.map(({ rows: _, cols: __, panes, ...window }) => {
    const states = panes.map((pane) => {
      const { id, active, hidden, state, exit_code, last_exit_code, typed_by, agent } = pane;
      const texts = hasText && active ? [pane.title, pane.cwd, automaticName(pane)] : [];
      const codes = [state === "exited", exit_code, last_exit_code];
      return [id, active, hidden, ...codes, typed_by, agent?.name, agent?.state, ...texts];
    });
    return [window, marks(window.id), states];
  });
  const outputs = segments.flatMap(({ command }) => (command === null ? [] : [output(command)]));
  const period = clockPeriod(segments);
  const time = period === null ? "" : Math.floor(now.getTime() / period);
  return JSON.stringify([windowStates, rest, outputs, time, serializeStatusTheme()]);
}
