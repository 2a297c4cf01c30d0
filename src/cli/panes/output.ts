/** Windows and panes in the output of the command line. */
import type { OperationOutput } from "../../operations/table.ts";
import { type Arrangement, changedPane } from "../../protocol/layout.ts";
import {
  commandNow,
  type PaneInfo,
  programsText,
  type RunningProgram,
  type WindowInfo,
} from "../../protocol/session.ts";
import { print, printJson, printText, shorten, table } from "../print.ts";

/** Longest command and title in a table, in cells. */
const TEXT_CELLS = 40;

/** Prints the answer to a change: the id of the changed pane or window, or everything. */
export function printChange(made: Arrangement, what: "pane" | "window", json: boolean | undefined): Promise<void> {
  return json === true ? printJson(made) : print(`${what === "pane" ? changedPane(made) : made.window}\n`);
}

/** Prints the answer to a change that has no new data. */
export function printResult(made: object, json: boolean | undefined): Promise<void> {
  return json === true ? printJson(made) : Promise.resolve();
}

/**
 * Lists the programs that a call has ended, as the end of its message. An older wsh on another machine does
 * not report them.
 */
export function endedText(ended: readonly RunningProgram[] | undefined): string {
  const programs = programsText(ended ?? []);
  return programs === "" ? "" : `; ended ${programs}`;
}

export function paneTable(panes: OperationOutput<"pane.list">, windows: readonly WindowInfo[]): string {
  const indexes = new Map(windows.map(({ id, index }) => [id, index]));
  const rows = panes.map((pane) => [
    pane.id,
    `${indexes.get(pane.window) ?? "?"}.${pane.index}`,
    pane.hidden === true ? "hidden" : `${pane.cols}x${pane.rows}`,
    stateOf(pane),
    shorten(commandOf(pane), TEXT_CELLS),
    shorten(pane.title, TEXT_CELLS),
  ]);
  return table([["PANE", "PLACE", "SIZE", "STATE", "COMMAND", "TITLE"], ...rows]);
}

export function windowTable(windows: readonly WindowInfo[]): string {
  const rows = windows.map(({ id, index, name, active, rows, cols, panes, zoomed, synchronized }) => [
    id,
    String(index),
    name,
    String(panes.length),
    `${cols}x${rows}`,
    [active ? "active" : "", zoomed === true ? "zoomed" : "", synchronized === true ? "synchronized" : ""]
      .filter((flag) => flag !== "")
      .join(", "),
  ]);
  return table([["WINDOW", "NUMBER", "NAME", "PANES", "SIZE", ""], ...rows]);
}

interface Branch {
  readonly row?: readonly Branch[];
  readonly column?: readonly Branch[];
  readonly pane?: string;
}

/** The layouts of windows as indented lines: rows and columns of panes. */
export function sayLayout(layout: OperationOutput<"layout.get">, windows: readonly WindowInfo[]): Promise<void> {
  const lines = layout.windows.flatMap(({ id, index, name, tree, floats = [] }) => {
    const window = windows.find((each) => each.id === id);
    const panes = new Map(window?.panes.map((pane) => [pane.id, pane]));
    const marks = [window?.active === true ? ", active" : "", window?.zoomed === true ? ", zoomed" : ""].join("");
    return [
      `window ${index} ${name} (${id}) ${window?.cols}x${window?.rows}${marks}`,
      ...branchLines(tree as Branch, panes, 1),
      ...(floats.length === 0 ? [] : ["  floating"]),
      ...floats.flatMap((float) => branchLines(float as Branch, panes, 2)),
    ];
  });
  return printText(`${lines.join("\n")}\n`);
}

function branchLines(branch: Branch, panes: ReadonlyMap<string, PaneInfo>, depth: number): string[] {
  const indent = "  ".repeat(depth);
  for (const axis of ["row", "column"] as const) {
    const children = branch[axis];
    if (children === undefined) continue;
    return [`${indent}${axis}`, ...children.flatMap((child) => branchLines(child, panes, depth + 1))];
  }
  const pane = panes.get(branch.pane ?? "");
  if (pane === undefined) return [`${indent}${branch.pane}`];
  const size = pane.hidden === true ? "hidden" : `${pane.cols}x${pane.rows}`;
  const active = pane.active ? ", active" : "";
  return [`${indent}${pane.id} ${size} ${stateOf(pane)}${active}: ${shorten(commandOf(pane), TEXT_CELLS)}`];
}

function stateOf({ state, exit_code, signal }: PaneInfo): string {
  return state === "exited" ? `exited: ${signal ?? exit_code ?? "?"}` : state;
}

function commandOf(pane: PaneInfo): string {
  return pane.view === undefined ? commandNow(pane) : `view of ${pane.view}`;
}
