/** The picture of `wsh agents` on a terminal: one row per agent, cut to the terminal's size. Pure. */
import { agentWords } from "../../protocol/agent.ts";
import { visibleCell } from "../../protocol/harmless-text.ts";
import { plural } from "../../protocol/plural.ts";
import { shorten } from "../print.ts";
import { type AgentRow, age, conversationWords, needsPerson, reason, shortPath } from "./rows.ts";

interface PictureOptions {
  readonly rows: number;
  readonly cols: number;
  readonly color: boolean;
  readonly selected: number;
  /** Unix time in ms. */
  readonly now: number;
  readonly home: string | undefined;
}

/** Maximum widths of session, agent and directory, in columns. */
const SESSION_CELLS = 20;
const AGENT_CELLS = 14;
const DIRECTORY_CELLS = 30;
const TITLE_CELLS = 30;
/** Narrowest terminal that shows directories. */
const WIDE_COLS = 100;
/** Columns that a message needs to be worth showing. */
const MESSAGE_CELLS = 12;
const HELP = "Up Down select  Enter attach  q quit";

/** One line for each row of the terminal, at most. */
export function picture(agents: readonly AgentRow[], options: PictureOptions): string[] {
  const { rows, cols, color } = options;
  const waiting = agents.filter(({ agent }) => needsPerson(agent)).length;
  const count = plural(agents.length, "agent");
  const title = agents.length === 0 ? "No agents are running." : `${count}, ${waiting} waiting for you`;
  const lines = [style(shorten(title, cols), "1", color)];
  // The title, a blank line, the help.
  const room = Math.max(0, rows - 3);
  const first = Math.max(0, Math.min(options.selected - room + 1, agents.length - room));
  const cells = agents.map((row) => cellsOf(row, options));
  const widths = [0, 1, 2, 3].map((column) => Math.max(0, ...cells.map((row) => Bun.stringWidth(row[column] ?? ""))));
  for (const [at, row] of cells.entries()) {
    if (at < first || at >= first + room) continue;
    const agent = agents[at]?.agent;
    const isSelected = at === options.selected;
    const text = lineOf(row, widths, cols, isSelected);
    const colors = agent === undefined || !needsPerson(agent) ? "" : agent.state === "done" ? "32" : "33";
    lines.push(isSelected && color ? style(text.padEnd(cols), "7", color) : style(text, colors, color));
  }
  if (rows >= 3) lines.push("", style(shorten(HELP, cols), "2", color));
  return lines.slice(0, rows);
}

function cellsOf({ target, cwd, agent }: AgentRow, { cols, now, home }: PictureOptions): string[] {
  const cells = [
    agentWords(agent),
    age(now - agent.since),
    shorten(visibleCell(agent.name), AGENT_CELLS),
    shorten(visibleCell(target), SESSION_CELLS),
  ];
  const where = cols >= WIDE_COLS ? [fromEnd(visibleCell(shortPath(cwd, home)), DIRECTORY_CELLS)] : [];
  const title = shorten(visibleCell(conversationWords(agent, now)), TITLE_CELLS);
  return [...cells, [...where, ...(title === "" ? [] : [title]), visibleCell(reason(agent))].join("  ")];
}

function lineOf(cells: readonly string[], widths: readonly number[], cols: number, isSelected: boolean): string {
  const [state = "", since = "", name = "", session = "", rest = ""] = cells;
  const padded = [state, since, name, session].map(
    (cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - Bun.stringWidth(cell))),
  );
  const line = `${isSelected ? ">" : " "} ${padded.join("  ")}`;
  const room = cols - Bun.stringWidth(line) - 2;
  return shorten((room < MESSAGE_CELLS ? line : `${line}  ${shorten(rest, room)}`).trimEnd(), cols);
}

/** Shortens a path at its start: its end names the project. */
function fromEnd(text: string, cells: number): string {
  return Bun.stringWidth(text) <= cells ? text : `…${text.slice(1 - cells)}`;
}

function style(text: string, codes: string, color: boolean): string {
  return !color || codes === "" ? text : `\x1b[${codes}m${text}\x1b[0m`;
}
