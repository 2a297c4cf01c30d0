/**
 * Screens and outputs after an input, in the form for a model: one text without trailing blank rows, the decision
 * first, and either the program's output or its screen, whichever shows the effect. Pure.
 */

import type { OperationOutput } from "../../operations/table.ts";
import { defined } from "../../protocol/defined.ts";
import { type Line, lineText, type Screen } from "../../protocol/screen.ts";

/** The rows as one text; styled rows stay unchanged. */
function rowsOf({ lines }: Pick<Screen, "lines">): string {
  return withoutBlankEnd(lines).map(lineText).join("\n");
}

/** Lines down to the last that is not blank. */
export function withoutBlankEnd(lines: readonly Line[]): Line[] {
  return lines.slice(0, lines.findLastIndex((line) => line.length > 0) + 1);
}

export function shownScreen(screen: OperationOutput<"screen.get">, format: "plain" | "styled") {
  if (format === "styled") return screen;
  const { title, state, cursor, rows, cols, alternate_active, output_cursor, generation } = screen;
  const { disorder } = screen;
  const facts = { state, title, rows, cols, cursor, alternate_active, output_cursor, generation };
  return { ...facts, ...selectionOf(screen), ...defined({ disorder }), screen: rowsOf(screen) };
}

export type RunPart = "output" | "screen";

function selectionOf({ selected }: Pick<Screen, "selected">) {
  return selected === undefined ? {} : { selected: selected.text };
}

/** The cursor and the selected part, which a screen's text does not show. */
function markedScreen(screen: Screen): object {
  const { row, col, visible } = screen.cursor;
  const cursor = visible ? { row, col } : { visible };
  return { cursor, ...selectionOf(screen), screen: rowsOf(screen) };
}

/**
 * The result of a run; without `include`, the output of a line program, or the screen of a full-screen one and the
 * output before it.
 */
export function shownRun(
  result: OperationOutput<"run">,
  include: readonly RunPart[] | undefined,
  format: "plain" | "styled",
) {
  const { screen, output, omitted_lines = 0, since: _since, signal, warnings = [], ...decided } = result;
  const isFull = screen?.alternate_active === true;
  const parts = new Set<RunPart>(include ?? (isFull ? ["screen", "output"] : ["output"]));
  const hasOutput = parts.has("output") && output !== undefined && (output !== "" || include !== undefined || !isFull);
  const cut = hasOutput && omitted_lines > 0;
  const allWarnings = cut ? [...warnings, whereTheRestIs(omitted_lines, result)] : warnings;
  return {
    ...decided,
    ...(signal === null || signal === undefined ? {} : { signal }),
    ...(cut ? { omitted_lines } : {}),
    ...(allWarnings.length > 0 ? { warnings: allWarnings } : {}),
    ...(hasOutput ? { output } : {}),
    ...(parts.has("screen") && screen !== undefined ? (format === "plain" ? markedScreen(screen) : { screen }) : {}),
  };
}

function whereTheRestIs(omitted: number, { command_id: id, commands, since }: OperationOutput<"run">): string {
  // The id is the newest command's; the output may be all of theirs.
  const isOfOne = id !== undefined && commands === undefined;
  const from = isOfOne ? `command_id ${id} (grep, range, max_bytes)` : `since ${since} (grep, max_bytes)`;
  return `${omitted} lines omitted: wsh_get_output with ${from} has them`;
}
