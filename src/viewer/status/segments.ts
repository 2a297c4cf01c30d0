/** The segments of the status line as groups of styled text: a group is a window, an agent, a command's output. Pure. */

import type { ThemedSpan } from "../../compositor/compose.ts";
import { cellWidth, cleanText, clusters, clusterText, cutToWidth } from "../../compositor/graphemes.ts";
import { applySpec, roleStyleOn, theme } from "../../compositor/theme.ts";
import type { Style } from "../../protocol/grid.ts";
import { automaticName, type PaneInfo, type WindowInfo } from "../../protocol/session.ts";
import {
  parseText,
  type SegmentName,
  type SegmentTable,
  type StatusSegment,
  segmentNames,
  type TextName,
  type TextPart,
  usualSegment,
  type WindowMark,
  windowMarkNames,
  windowMarks,
} from "../../protocol/status-segments.ts";
import { timeText } from "../../protocol/strftime.ts";
import { parseStyle, type StyleSpec, type ThemeRole } from "../../protocol/theme.ts";
import type { StatusTarget } from "../../session/types.ts";
import { parseAnsiText } from "./ansi-text.ts";
import { type CommandOutput, type CommandSpec, commandLabel } from "./status-command.ts";

/** Without `width`: maximum cells of a session's, window's or agent's name. */
const MAX_NAME_CELLS = 20;
const DEFAULT_TIME_FORMAT = "%H:%M";

/** The default segments, without the time, which would wake a session at rest. */
const defaultSegments: readonly SegmentName[] = segmentNames.filter((name) => name !== "time" && name !== "host");

interface WindowSign {
  readonly sign: string;
  readonly style: StyleSpec | null;
}

/** A segment with its styles and texts parsed. */
export interface Segment {
  readonly kind: SegmentName | "text";
  readonly style: StyleSpec | null;
  /** Maximum cells of a name, a text or an output. */
  readonly width: number | null;
  readonly parts: readonly TextPart[];
  readonly format: string;
  readonly marks: Readonly<Record<WindowMark, WindowSign>>;
  readonly command: CommandSpec | null;
}

/** Events in a window since a person last saw it. */
export interface Marks {
  readonly bell: boolean;
  /** Output after silence. */
  readonly activity: boolean;
  /** A long command has ended. */
  readonly finished: boolean;
}

export interface StatusFacts {
  readonly session: string;
  readonly host: string;
  readonly user: string;
  /** The home directory, which a text writes as `~`. */
  readonly home: string;
  readonly windows: readonly WindowInfo[];
  readonly marks: (window: string) => Marks;
  /** Id of the pane that a person has marked. */
  readonly marked: string | null;
  /** People who can type here, and the devices' names of pages that show the session. */
  readonly people: number;
  readonly devices: readonly string[];
  readonly output: (command: CommandSpec) => CommandOutput;
  readonly now: Date;
}

export interface Group {
  readonly spans: readonly ThemedSpan[];
  /** In cells. */
  readonly width: number;
  /** The target of a click; absent: none. */
  readonly target?: StatusTarget;
}

/** @param command the command of the older settings, for the segment `command` */
export function parseSegments(configured: readonly StatusSegment[], command: CommandSpec | null): readonly Segment[] {
  const all = configured.length === 0 ? defaultSegments : configured;
  return all.map((each) => parseSegment(typeof each === "string" ? { segment: each } : each, command));
}

function parseSegment(table: SegmentTable, defaultCommand: CommandSpec | null): Segment {
  const { segment, text, command, shell, style, width, format = DEFAULT_TIME_FORMAT, marks = {} } = table;
  const { seconds = usualSegment.seconds, timeout_seconds: timeout = usualSegment.timeout_seconds } = table;
  const argv = command ?? (shell === undefined ? null : ["sh", "-c", shell]);
  const label = commandLabel(shell ?? command?.[0] ?? "");
  const ownCommand = argv === null ? null : { argv, label, seconds, timeoutMs: timeout * 1000 };
  const parts = text === undefined ? [] : parseText(text);
  return {
    kind: segment ?? (text === undefined ? "command" : "text"),
    style: style === undefined ? null : parseStyle(style),
    width: width ?? null,
    parts: typeof parts === "string" ? [] : parts,
    format,
    marks: parseSigns(marks),
    command: segment === "command" ? defaultCommand : ownCommand,
  };
}

function parseSigns(configured: NonNullable<SegmentTable["marks"]>): Segment["marks"] {
  const signs = windowMarkNames.map((name): [WindowMark, WindowSign] => {
    const configuredSign = configured[name];
    const { sign = windowMarks[name], style } =
      typeof configuredSign === "string" ? { sign: configuredSign } : (configuredSign ?? {});
    return [name, { sign: oneLine(sign), style: style === undefined ? null : parseStyle(style) }];
  });
  return Object.fromEntries(signs) as Record<WindowMark, WindowSign>;
}

/** Time in ms between two changes of the line's clock; null: it has none. */
export function clockPeriod(segments: readonly Segment[]): number | null {
  const times = segments.filter(({ kind }) => kind === "time");
  if (times.length === 0) return null;
  return times.some(({ format }) => /%[crsSTX]/.test(format)) ? 1_000 : 60_000;
}

const oneLine = (text: string): string => cleanText(text).replace(/\s+/g, " ");

function shorten(text: string, cells: number): string {
  return clusterText(cutToWidth(cells, clusters(oneLine(text).trim())));
}

/** @param base the style of the segment */
function makeGroup(base: Style, text: string, target?: StatusTarget): Group {
  return groupSpans([{ text, style: base }], target);
}

function groupSpans(spans: readonly ThemedSpan[], target?: StatusTarget): Group {
  const width = spans.reduce((sum, { text }) => sum + cellWidth(clusters(text)), 0);
  return { spans, width, ...(target === undefined ? {} : { target }) };
}

/** The group in at most that many cells, with an ellipsis at a cut. */
export function cutGroup(whole: Group, cells: number): Group {
  if (whole.width <= cells) return whole;
  const spans: ThemedSpan[] = [];
  let remainingCells = cells;
  for (const span of whole.spans) {
    const text = clusters(span.text);
    // The next span would be cut away whole: this one gets the ellipsis.
    const isLast = cellWidth(text) >= remainingCells;
    spans.push({
      ...span,
      text: clusterText(isLast ? cutToWidth(remainingCells, [...text, { text: " ", width: 1 }]) : text),
    });
    if (isLast) break;
    remainingCells -= cellWidth(text);
  }
  return groupSpans(spans, whole.target);
}

/** The style of a segment, over that of the line. */
export function baseStyle({ style }: Pick<Segment, "style">): Style {
  return style === null ? theme.status : applySpec(theme.status, style);
}

/** @param isShort without names of windows in the background */
export function renderSegment(segment: Segment, facts: StatusFacts, isShort: boolean): Group[] {
  const { kind, width } = segment;
  const base = baseStyle(segment);
  const alert = roleStyleOn(base, "status_alert");
  const name = (text: string): string => shorten(text, width ?? MAX_NAME_CELLS);
  const cut = (groupToCut: Group): Group => (width === null ? groupToCut : cutGroup(groupToCut, width));
  switch (kind) {
    case "session":
      return [makeGroup(roleStyleOn(base, "status_current"), ` ${name(facts.session)} `, { kind: "session" })];
    case "windows":
      return [
        ...facts.windows.map((window) => makeWindowGroup(segment, window, { facts, isShort, base })),
        makeGroup(base, " "),
      ];
    case "agents":
      return facts.windows.flatMap(({ panes }) =>
        panes.flatMap(({ agent }) => {
          if (agent === undefined) return [];
          const needsInput = agent.state === "needs_input";
          const text = ` ${name(agent.name)} ${needsInput ? "needs you" : agent.state.replaceAll("_", " ")} `;
          return [makeGroup(needsInput ? alert : base, text, { kind: "agents" })];
        }),
      );
    case "exit": {
      const pane = activePane(facts.windows);
      const code = pane?.state === "exited" ? pane.exit_code : pane?.last_exit_code;
      return code === undefined || code === null || code === 0 ? [] : [makeGroup(alert, ` exit ${code} `)];
    }
    case "typing":
      return describeTyping(facts.windows, name).map((text) => makeGroup(base, text));
    case "people": {
      const named = facts.devices.length === 0 ? "" : ` (${facts.devices.map(name).join(", ")})`;
      return facts.people > 1 ? [makeGroup(base, ` ${facts.people} attached${named} `)] : [];
    }
    case "command":
      return segment.command === null ? [] : makeOutputGroups(facts.output(segment.command), segment, base);
    case "host":
      return [cut(makeGroup(base, ` ${oneLine(facts.host)} `))];
    case "time":
      return [cut(makeGroup(base, ` ${oneLine(timeText(facts.now, segment.format))} `))];
    case "text": {
      const text = segment.parts
        .map((part) => (typeof part === "string" ? part : formatFact(part.name, facts)))
        .join("");
      return text === "" ? [] : [cutGroup(makeGroup(base, oneLine(text)), width ?? usualSegment.width)];
    }
    case "gap":
      return [];
  }
}

function activePane(windows: readonly WindowInfo[]): PaneInfo | undefined {
  return windows.find(({ active }) => active)?.panes.find(({ active }) => active);
}

function formatFact(name: TextName, facts: StatusFacts): string {
  const window = facts.windows.find(({ active }) => active);
  const pane = activePane(facts.windows);
  switch (name) {
    case "session":
    case "host":
    case "user":
      return facts[name];
    case "window":
      return window?.name ?? "";
    case "window_index":
      return window === undefined ? "" : String(window.index);
    case "pane_index":
      return pane === undefined ? "" : String(pane.index);
    case "program":
      return pane === undefined ? "" : automaticName(pane);
    case "title":
      return pane?.title ?? "";
    case "directory": {
      const { home } = facts;
      const path = pane?.cwd ?? "";
      return home !== "" && (path === home || path.startsWith(`${home}/`)) ? `~${path.slice(home.length)}` : path;
    }
  }
}

/** Whether a window has a mark. */
function hasMark(mark: WindowMark, window: WindowInfo, { marks, marked }: StatusFacts): boolean {
  switch (mark) {
    case "current":
      return window.active;
    case "last":
      return window.last === true && !window.active;
    case "zoomed":
      return window.zoomed === true;
    case "synchronized":
      return window.synchronized === true;
    case "marked":
      return window.panes.some(({ id }) => id === marked);
    case "failed":
      return window.panes.some(({ exit_code: code, state }) => state === "exited" && code != null && code !== 0);
    case "bell":
    case "activity":
    case "finished":
      return marks(window.id)[mark];
  }
}

/** Number of panes without room in the window; in a zoomed window, hiding is intended. */
function describeHidden({ zoomed, panes }: WindowInfo): string {
  const count = zoomed === true ? 0 : panes.filter(({ hidden }) => hidden === true).length;
  return count === 0 ? "" : ` (${count} hidden)`;
}

interface WindowContext {
  readonly facts: StatusFacts;
  readonly isShort: boolean;
  readonly base: Style;
}

/** A later mark's style lies over an earlier one's, and all over that of the segment. */
function makeWindowGroup(segment: Segment, window: WindowInfo, { facts, isShort, base }: WindowContext): Group {
  const windowSigns = windowMarkNames.filter((mark) => hasMark(mark, window, facts)).map((mark) => segment.marks[mark]);
  const { index, active } = window;
  const role: ThemeRole = active ? "status_current" : "status";
  const roleStyle = active ? roleStyleOn(base, role) : base;
  const style = windowSigns.reduce((below, { style }) => (style === null ? below : applySpec(below, style)), roleStyle);
  const name = isShort && !active ? "" : `:${shorten(window.name, segment.width ?? MAX_NAME_CELLS)}`;
  const signs = windowSigns.map(({ sign }) => sign).join("");
  const text = `${index}${name}${signs}${describeHidden(window)}`;
  const spans = [
    { text: " ", style: base },
    { text, style },
  ];
  return groupSpans(spans, { kind: "window", index, active });
}

/** Callers that are typing, and their panes. */
function describeTyping(windows: readonly WindowInfo[], short: (name: string) => string): string[] {
  const hasSeveral = windows.length > 1;
  return windows.flatMap(({ index, panes }) =>
    panes.flatMap(({ typed_by: name, index: paneIndex }) => {
      if (name === undefined) return [];
      const place = hasSeveral
        ? ` in ${index}${panes.length > 1 ? `.${paneIndex}` : ""}`
        : panes.length > 1
          ? ` in ${paneIndex}`
          : "";
      return [` ${short(name)} types${place} `];
    }),
  );
}

function makeOutputGroups({ text, failure }: CommandOutput, segment: Segment, base: Style): Group[] {
  const spans = parseAnsiText(text).map(({ text, style }) => ({ text, style: applySpec(base, style) }));
  const output = cutGroup(groupSpans(spans), segment.width ?? usualSegment.width);
  const blank = { text: " ", style: base };
  const shown = output.width === 0 ? [] : [groupSpans([blank, ...output.spans, blank])];
  if (failure === "") return shown;
  const label = segment.command?.label ?? "";
  return [...shown, makeGroup(roleStyleOn(base, "status_alert"), ` ${label}: ${failure} `)];
}
