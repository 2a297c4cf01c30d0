/** The text of the status line: named segments to the left and right of a gap. Pure. */
import { cleanText, clusters } from "../../compositor/graphemes.ts";
import type { WindowInfo } from "../../protocol/session.ts";
import type { ThemeRole } from "../../protocol/theme.ts";
import type { StatusTarget, StatusText } from "../../session/types.ts";
import type { CommandOutput } from "./status-command.ts";

/** In the order of the default line; segments after `gap` are on the right. */
export const segmentNames = [
  ...(["session", "windows", "gap", "exit", "typing", "agents", "people", "command", "time"] as const),
] as const;
export type SegmentName = (typeof segmentNames)[number];
/** The default segments, without the time, which would wake a session at rest. */
export const defaultSegments: readonly SegmentName[] = segmentNames.filter((name) => name !== "time");

/** Maximum cells of a session's, window's or agent's name. */
const LONGEST_NAME = 20;

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
  readonly windows: readonly WindowInfo[];
  readonly marks: (window: string) => Marks;
  /** People who can type here, and the devices' names of pages that show the session. */
  readonly people: number;
  readonly devices: readonly string[];
  /** Last output of the command in the settings, and how it failed. */
  readonly command: CommandOutput;
  readonly now: Date;
}

interface Segment {
  readonly text: string;
  readonly role: ThemeRole;
  /** The target of a click; absent: none. */
  readonly target?: StatusTarget;
}

const plain = (text: string): Segment => ({ text, role: "status" });

function short(text: string): string {
  const clean = cleanText(text).replace(/\s+/g, " ").trim();
  return clean.length > LONGEST_NAME ? `${clean.slice(0, LONGEST_NAME - 1)}…` : clean;
}

/** Signs after a window's name for its state and its events. */
function signs(window: WindowInfo, { bell, activity, finished }: Marks): string {
  const failed = window.panes.some(({ exit_code: code, state }) => state === "exited" && code !== null && code !== 0);
  const all = [
    ...[window.active && "*", window.zoomed === true && "Z", window.synchronized === true && "="],
    ...[bell && "!", activity && "#", finished && "+", failed && "x"],
  ];
  return all.filter((each) => each !== false).join("");
}

/** Number of panes without room in the window; in a zoomed window, hiding is intended. */
function hiddenIn({ zoomed, panes }: WindowInfo): string {
  const count = zoomed === true ? 0 : panes.filter(({ hidden }) => hidden === true).length;
  return count === 0 ? "" : ` (${count} hidden)`;
}

function windowPieces({ windows, marks }: StatusFacts, isShort: boolean): Segment[] {
  return windows.map((window) => {
    const name = isShort && !window.active ? "" : `:${short(window.name)}`;
    const { index, active } = window;
    const target = { kind: "window", index, active } as const;
    return {
      text: ` ${index}${name}${signs(window, marks(window.id))}${hiddenIn(window)}`,
      role: active ? "status_current" : "status",
      target,
    };
  });
}

function agentPieces({ windows }: StatusFacts): Segment[] {
  const agents = windows.flatMap(({ panes }) => panes.flatMap(({ agent }) => agent ?? []));
  return agents.map(({ name, state }) => {
    const needs = state === "needs_input";
    const text = ` ${short(name)} ${needs ? "needs you" : state.replaceAll("_", " ")} `;
    return { text, role: needs ? "status_alert" : "status", target: { kind: "agents" } };
  });
}

/** How the last command in the focused pane ended, if it failed. */
function exitPieces({ windows }: StatusFacts): Segment[] {
  const pane = windows.find(({ active }) => active)?.panes.find(({ active }) => active);
  const code = pane?.state === "exited" ? pane.exit_code : pane?.last_exit_code;
  return code === undefined || code === null || code === 0 ? [] : [{ text: ` exit ${code} `, role: "status_alert" }];
}

/** Callers that are typing, and their panes. */
function typingPieces({ windows }: StatusFacts): Segment[] {
  const several = windows.length > 1;
  return windows.flatMap(({ index, panes }) =>
    panes.flatMap(({ typed_by: name, index: at }) => {
      if (name === undefined) return [];
      const place = several ? ` in ${index}${panes.length > 1 ? `.${at}` : ""}` : panes.length > 1 ? ` in ${at}` : "";
      return [plain(` ${short(name)} types${place} `)];
    }),
  );
}

function piecesOf(name: SegmentName, facts: StatusFacts, isShort: boolean): Segment[] {
  switch (name) {
    case "session":
      return [{ text: ` ${short(facts.session)} `, role: "status_current", target: { kind: "session" } }];
    case "windows":
      return [...windowPieces(facts, isShort), plain(" ")];
    case "agents":
      return agentPieces(facts);
    case "exit":
      return exitPieces(facts);
    case "typing":
      return typingPieces(facts);
    case "people": {
      const named = facts.devices.length === 0 ? "" : ` (${facts.devices.map(short).join(", ")})`;
      return facts.people > 1 ? [plain(` ${facts.people} attached${named} `)] : [];
    }
    case "command":
      return commandPieces(facts.command);
    case "time":
      return [plain(` ${facts.now.toTimeString().slice(0, 5)} `)];
    case "gap":
      return [];
  }
}

function commandPieces({ text, failed }: CommandOutput): Segment[] {
  const shown = text === "" ? [] : [plain(` ${cleanText(text)} `)];
  return failed === "" ? shown : [...shown, { text: ` status_command: ${failed} `, role: "status_alert" }];
}

function widthOf(pieces: readonly Segment[]): number {
  return pieces.reduce((sum, { text }) => sum + clusters(text).reduce((own, { width }) => own + width, 0), 0);
}

/** Omits the windows farthest from the current one, then all but that one, until the rest fits. */
function aroundCurrent(pieces: readonly Segment[], cols: number): readonly Segment[] {
  const isWindow = ({ target }: Segment): boolean => target?.kind === "window";
  const all = pieces.filter(isWindow);
  const position = all.findIndex(({ target }) => target?.kind === "window" && target.active);
  if (position < 0 || widthOf(pieces) <= cols) return pieces;
  let [from, to] = [0, all.length];
  const shown = (): Segment[] =>
    pieces.flatMap((piece) => {
      const index = all.indexOf(piece);
      if (index < 0) return [piece];
      if (index < from || index >= to) return [];
      const cut = [index === from && from > 0, index === to - 1 && to < all.length];
      return [...(cut[0] ? [plain(" <")] : []), piece, ...(cut[1] ? [plain(" >")] : [])];
    });
  while (to - from > 1 && widthOf(shown()) > cols) {
    if (position - from > to - 1 - position) from++;
    else to--;
  }
  return widthOf(shown()) <= cols ? shown() : all.slice(position, position + 1);
}

/**
 * The line for a terminal of this width. The names of background windows are omitted first, then the right side, then
 * windows far from the current one.
 */
export function statusText(facts: StatusFacts, segments: readonly SegmentName[], cols: number): StatusText {
  const gap = segments.indexOf("gap");
  const [before, after] = gap < 0 ? [segments, []] : [segments.slice(0, gap), segments.slice(gap + 1)];
  const all = (names: readonly SegmentName[], isShort: boolean): Segment[] =>
    names.flatMap((name) => piecesOf(name, facts, isShort));
  let remaining: readonly Segment[] = all(before, false);
  let right = all(after, false);
  if (widthOf(remaining) + widthOf(right) > cols) remaining = all(before, true);
  while (right.length > 0 && widthOf(remaining) + widthOf(right) > cols) right = right.slice(1);
  remaining = aroundCurrent(remaining, cols);
  const blanks = plain(" ".repeat(Math.max(0, cols - widthOf(remaining) - widthOf(right))));
  const pieces = [...remaining, blanks, ...right];
  return {
    spans: pieces.map(({ text, role }) => ({ text, role })),
    targetAt(col) {
      let end = 0;
      const piece = pieces.find((each) => {
        end += widthOf([each]);
        return col < end;
      });
      return piece?.target ?? { kind: "line" };
    },
  };
}
