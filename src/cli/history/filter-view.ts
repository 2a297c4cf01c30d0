/**
 * The interactive filter of `wsh history`: its state, the effect of a key, and its picture. Pure.
 *
 * The first row contains the query. The commands follow, the newest first. The chosen one is marked, and the
 * last row shows where and when it ran. Invariant: the chosen command exists, unless none was found.
 */
import type { InputEvent } from "../../keys/types.ts";
import type { HistoryCommand } from "../../operations/history.ts";
import { visibleCell } from "../../protocol/harmless-text.ts";
import { insidePaste } from "../../protocol/pasted-text.ts";
import { shorten } from "../print.ts";
import { formatAge, formatDuration, formatEnd } from "./columns.ts";

/** Rows without commands: the query, and details of the chosen command. */
const OTHER_ROWS = 2;
/** Cells of the columns before the command. */
const WHEN_CELLS = 10;
const EXIT_CELLS = 5;
/** Cells that the command keeps before a column is shown: enough to recognise it. */
const COMMAND_CELLS = 32;
/** Longest query, in UTF-16 units: as over HTTP. */
const MAX_QUERY = 1_024;

export interface FilterState {
  readonly query: string;
  /** The commands found so far, the newest first. */
  readonly commands: readonly HistoryCommand[];
  /** Whether older commands match too. */
  readonly hasMore: boolean;
  readonly selectedIndex: number;
  readonly failedOnly: boolean;
}

export type FilterAction =
  | { readonly kind: "search"; readonly state: FilterState }
  | { readonly kind: "more"; readonly state: FilterState }
  | { readonly kind: "draw"; readonly state: FilterState }
  | { readonly kind: "accept"; readonly command: HistoryCommand }
  | { readonly kind: "leave" };

/** @param page commands that a screen shows */
export function press(state: FilterState, event: InputEvent, page: number): FilterAction {
  const search = (query: string): FilterAction => ({
    kind: "search",
    state: { ...state, query: query.slice(0, MAX_QUERY).toWellFormed(), selectedIndex: 0 },
  });
  if (event.kind === "paste") {
    return search(state.query + insidePaste(event.raw).replaceAll(/[\x00-\x1f\x7f]+/g, " "));
  }
  if (event.kind !== "key" || event.parsed === null) return { kind: "draw", state };
  const { key, modifiers } = event.parsed;
  const ctrl = modifiers.includes("ctrl") && !modifiers.includes("alt");
  switch (ctrl ? `Ctrl+${key.toLowerCase()}` : key) {
    case "Enter":
    case "Ctrl+m": {
      const command = state.commands[state.selectedIndex];
      return command === undefined ? { kind: "draw", state } : { kind: "accept", command };
    }
    case "Escape":
    case "Ctrl+c":
    case "Ctrl+g":
    case "Ctrl+d":
      return { kind: "leave" };
    case "ArrowUp":
    case "Ctrl+p":
      return move(state, state.selectedIndex - 1);
    case "ArrowDown":
    case "Ctrl+n":
      return move(state, state.selectedIndex + 1);
    case "PageUp":
      return move(state, state.selectedIndex - page);
    case "PageDown":
      return move(state, state.selectedIndex + page);
    case "Home":
      return move(state, 0);
    case "End":
      return move(state, state.commands.length - 1);
    case "Backspace":
    case "Ctrl+h":
      return search([...state.query].slice(0, -1).join(""));
    case "Ctrl+w":
      return search(state.query.replace(/\S+\s*$/, ""));
    case "Ctrl+u":
      return search("");
    case "Ctrl+f":
      return { kind: "search", state: { ...state, failedOnly: !state.failedOnly, selectedIndex: 0 } };
  }
  const isText =
    modifiers.every((modifier) => modifier === "shift") && [...key].length >= 1 && !/^[A-Z][A-Za-z0-9]+$/.test(key);
  return isText ? search(state.query + key) : { kind: "draw", state };
}

function move(state: FilterState, to: number): FilterAction {
  const last = state.commands.length - 1;
  const chosen = Math.max(0, Math.min(last, to));
  return { kind: to > last && state.hasMore ? "more" : "draw", state: { ...state, selectedIndex: chosen } };
}

/** Number of commands on a screen of this height. */
export function pageOf(rows: number): number {
  return Math.max(1, rows - OTHER_ROWS);
}

/** Returns the picture as text for the whole screen, with the cursor after the query. @param isPlain without colours */
export function picture(
  state: FilterState,
  size: { readonly rows: number; readonly cols: number },
  now: number,
  isPlain: boolean,
): string {
  const { rows, cols } = size;
  const page = pageOf(rows);
  const first = Math.max(0, Math.min(state.selectedIndex - Math.floor(page / 2), state.commands.length - page));
  const dim = (text: string): string => (isPlain ? text : `\x1b[2m${text}\x1b[22m`);
  const lines: string[] = [];
  const prompt = `${state.failedOnly ? "failed " : ""}› ${visibleCell(state.query)}`;
  lines.push(fitEnd(prompt, cols - 1));
  for (let index = first; index < first + page; index++) {
    const command = state.commands[index];
    if (command === undefined) {
      lines.push(index === 0 ? dim(shorten("  no match", cols)) : "");
      continue;
    }
    const isChosen = index === state.selectedIndex;
    const marked = isPlain && isChosen ? "> " : "  ";
    const line = `${columns(command, cols, now)}${marked}${visibleCell(command.command.replaceAll("\n", "⏎"))}`;
    lines.push(isChosen && !isPlain ? `\x1b[7m${shorten(line, cols)}\x1b[27m` : shorten(line, cols));
  }
  lines.push(dim(shorten(details(state), cols)));
  const cursor = Math.min(cols, Bun.stringWidth(fitEnd(prompt, cols - 1)) + 1);
  return `\x1b[H${lines
    .slice(0, rows)
    .map((line) => `${line}\x1b[K`)
    .join("\r\n")}\x1b[J\x1b[1;${cursor}H`;
}

/** The command's time and result, if there is room beside it. */
function columns(command: HistoryCommand, cols: number, now: number): string {
  const exit = formatEnd(command) === "0" ? "" : formatEnd(command).slice(0, EXIT_CELLS);
  const shown = [formatAge(command.started_at, now).padStart(WHEN_CELLS), exit.padStart(EXIT_CELLS)];
  const cellsOf = (texts: readonly string[]): number => texts.reduce((sum, text) => sum + text.length + 1, 2);
  while (shown.length > 0 && cols - cellsOf(shown) < COMMAND_CELLS) shown.shift();
  return shown.map((text) => `${text} `).join("");
}

function details({ commands, selectedIndex }: FilterState): string {
  const command = commands[selectedIndex];
  if (command === undefined) return "Esc cancels";
  const { cwd, session, duration_ms, by } = command;
  const parts = [cwd ?? "", session === null ? "" : `session ${session}`, by === "person" ? "" : by];
  parts.push(
    duration_ms === null ? "" : `took ${formatDuration(duration_ms)}`,
    "Enter accepts, Ctrl+F only failed, Esc cancels",
  );
  return visibleCell(parts.filter((part) => part !== "").join(" · "));
}

/** The end of a text that is too long. */
function fitEnd(text: string, cells: number): string {
  if (Bun.stringWidth(text) <= cells) return text;
  let shown = "";
  let remaining = Math.max(1, cells);
  for (const char of [...text].reverse()) {
    remaining -= Bun.stringWidth(char);
    if (remaining < 0) break;
    shown = char + shown;
  }
  return shown;
}
