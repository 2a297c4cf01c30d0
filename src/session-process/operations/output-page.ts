/**
 * Pages of output: of the pane since a cursor, its newest lines, or of one command; filtered by `grep`, and cut to
 * `tail` lines and `max_bytes`. Each page counts the omitted lines and bytes.
 */

import type { HandlerContext } from "../../endpoint/operations/context.ts";
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import { type OutputReading, readOutput } from "../../pane/output/read-output.ts";
import { StoredOutput } from "../../pane/output/stored-output.ts";
import type { Pane } from "../../pane/pane.ts";
import { requireOwnCursor, unsavedSince } from "../../pane/text/own-cursor.ts";
import type { RetainedLines } from "../../pane/text/retained-lines.ts";
import { defined, present } from "../../protocol/defined.ts";
import { WshError } from "../../protocol/errors.ts";
import { type OutputFilter, type OutputQuery, outputQuery } from "../../protocol/output-filter.ts";
import { type Format, type Line, lineText } from "../../protocol/screen.ts";
import { incomplete, overwrittenIn } from "./step-output.ts";

/** Default number of newest lines. */
const DEFAULT_LINES = 100;
const LEFT_HISTORY = "older lines have left the history (scrollback_lines, scrollback_bytes)";

type Output = OperationOutput<"output.get">;
type Filter = OutputFilter & {
  readonly format: Format;
  readonly max_bytes: number;
  readonly raw?: boolean | undefined;
  readonly since?: number | undefined;
};

/** @throws WshError invalid_cursor, command_not_found, invalid_request, regex_too_slow */
export async function getOutput(
  pane: Pane,
  input: ParsedInput<"output.get">,
  { signal }: HandlerContext,
): Promise<Output> {
  if (input.command_id !== undefined) {
    const { lines = 0, tail = lines > 0 ? lines : undefined } = input;
    return commandOutput(pane, input.command_id, { ...input, tail }, signal);
  }
  const query = await outputQuery(input, false);
  const { since } = input;
  if (since === undefined) {
    const count = input.lines ?? (input.grep === undefined ? DEFAULT_LINES : Number.POSITIVE_INFINITY);
    const rows = await pane.terminal.whenAtRest(() => newestRows(pane, input.format, count, query.test !== null));
    return filteredOutput(pane, rows, input, query, signal);
  }
  requireOwnCursor(pane.text, since);
  if (input.wait_ms > 0 && since === pane.outputCursor && pane.exit === null) {
    await pane.outputAfter(since, input.wait_ms, signal);
  }
  const rows = await pane.terminal.whenAtRest(() => {
    const range = pane.textSince(since, input.format);
    const dropped = range.dropped === 0 ? "" : `: ${range.dropped} lines are not`;
    const searched = `the stored output since the cursor${dropped}`;
    const [reason = range.dropped === 0 ? null : LEFT_HISTORY] = unsavedSince(pane.text, since);
    return { ...range, ...cursorAndScreen(pane), unread: reason === null ? null : { searched, reason } };
  });
  return filteredOutput(pane, rows, input, query, signal);
}

/** Lines, or rows of the alternate screen. */
interface Rows {
  readonly lines: readonly { readonly id: number | null; readonly line: Line }[];
  /** Requested lines that are no longer stored. */
  readonly dropped: number;
  /** Parts of the lines that the search did not cover. */
  readonly unread: { readonly searched: string; readonly reason: string } | null;
  readonly output_cursor: number;
  readonly alternate: boolean;
}

type PrintedRows = Pick<Rows, "lines" | "dropped">;

function cursorAndScreen(pane: Pane): Pick<Rows, "output_cursor" | "alternate"> {
  return { output_cursor: pane.giveCursor(), alternate: pane.terminal.alternate };
}

/**
 * The newest lines; while the alternate screen is shown, its rows down to the last that is not blank. A search covers
 * all lines; otherwise only the requested number is read.
 */
function newestRows(pane: Pane, format: Format, count: number, isSearch: boolean): Rows {
  const { terminal } = pane;
  if (terminal.alternate) {
    const { lines } = terminal.screen(format);
    const end = lines.findLastIndex((line) => line.length > 0) + 1;
    const rows = lines.slice(Math.max(0, end - count), end).map((line) => ({ id: null, line }));
    const searched = `${rows.length} rows of the alternate screen`;
    const unread = isSearch && count < end ? { searched: `the last ${searched}`, reason: `lines=${count}` } : null;
    return { lines: rows, dropped: 0, unread, ...cursorAndScreen(pane) };
  }
  const { firstLine, lastLine } = terminal;
  const firstRequested = Math.max(0, lastLine + 1 - count);
  const from = Math.max(firstLine, firstRequested);
  const { lines } = terminal.text({ line: from, col: 0 }, undefined, format);
  const searched = `${from + 1}–${lastLine + 1} of ${lastLine + 1}`;
  const isRead = from === 0 || (!isSearch && from === firstRequested);
  const reason = from > firstRequested ? LEFT_HISTORY : `lines=${count}`;
  return {
    lines,
    dropped: from - firstRequested,
    unread: isRead ? null : { searched, reason },
    ...cursorAndScreen(pane),
  };
}

/** @throws WshError command_not_found, invalid_cursor, invalid_request, regex_too_slow */
export async function commandOutput(pane: Pane, id: number, input: Filter, signal?: AbortSignal): Promise<Output> {
  const query = await outputQuery(input, true);
  if (input.raw === true) return rawOutput(pane, id);
  const record = pane.commands.log.require(id);
  const { exit_code, first_line_id, warnings } = record;
  const base = { exit_code, first_line_id, ...defined({ warnings }) };
  using storedOutput = pane.commands.log.storedOutput(id);
  if (storedOutput === null)
    throw new WshError("command_not_found", `pane '${pane.id}' keeps no output of command ${id}`);
  if (input.format === "styled") {
    if (query.lines !== null || query.context > 0 || input.line_numbers === true) {
      throw new WshError("invalid_request", "'range', 'context' and 'line_numbers' need the format 'plain'");
    }
    const { terminal } = pane;
    const { retained, totalLines } = storedOutput;
    const to = record.last_line_id === null ? undefined : { line: record.last_line_id + 1, col: 0 };
    const currentRows = terminal.text({ line: record.first_line_id, col: 0 }, to, "styled");
    const range = isDropped(retained)
      ? { lines: [], dropped: retained.omitted, unread: storedOutput.missingIn({ from: 1, to: totalLines }) }
      : rowsWithReason(unchangedLines(currentRows, retained), record.output_lines);
    return {
      ...(await filteredOutput(pane, { ...range, ...cursorAndScreen(pane) }, input, query, signal)),
      ...base,
    };
  }
  const { output_cursor } = cursorAndScreen(pane);
  const reading = await readOutput(storedOutput, query, input.max_bytes, signal, overwrittenIn(pane, id));
  return { ...outputResult(reading), total_lines: reading.totalLines, output_cursor, ...base };
}

/** @throws WshError invalid_request if the exact bytes of the command's output are unknown */
function rawOutput(pane: Pane, id: number): Output {
  const { exit_code, first_line_id } = pane.commands.log.require(id);
  const base64 = Buffer.from(pane.commands.rawOutputs.outputOf(id)).toString("base64");
  return { base64, output_cursor: cursorAndScreen(pane).output_cursor, omitted_bytes: 0, exit_code, first_line_id };
}

/** Whether all of an output was dropped: the lines that now stand in its place may be of other commands. */
function isDropped({ head, tail, omitted }: RetainedLines): boolean {
  return omitted > 0 && head.length === 0 && tail.length === 0;
}

function rowsWithReason(rows: PrintedRows, total: number): Omit<Rows, "output_cursor" | "alternate"> {
  if (rows.dropped === 0) return { ...rows, unread: null };
  const reason = `${LEFT_HISTORY}; the plain format has them`;
  return { ...rows, unread: { searched: `${total - rows.dropped} of ${total} lines`, reason } };
}

/**
 * Lines with their styles, if they are still those that the command printed; otherwise the stored text without styles.
 */
function unchangedLines(range: PrintedRows, retained: RetainedLines): PrintedRows {
  const { head, tail, omitted } = retained;
  const { lines } = range;
  const isOwn = (line: { readonly line: Line } | undefined, text: string): boolean =>
    line !== undefined && lineText(line.line).trimEnd() === text.trimEnd();
  const missing = head.length + omitted + tail.length - lines.length;
  const isSame =
    missing >= 0 &&
    head.every((text, index) => index < missing || isOwn(lines[index - missing], text)) &&
    tail.every((text, index) => tail.length - index > lines.length || isOwn(lines.at(index - tail.length), text));
  if (isSame) return range;
  const storedLines = [...head, ...tail].map((text) => ({ id: null, line: text === "" ? [] : [{ text }] }));
  return { lines: storedLines, dropped: omitted };
}

/** A reading in the form of the operation. Incompleteness is reported first. */
function outputResult({ missing, text, matches, omittedBytes, omittedLines }: OutputReading) {
  return {
    ...incomplete(missing),
    ...present({ matches }),
    text,
    omitted_bytes: omittedBytes,
    omitted_lines: omittedLines,
  };
}

/** Returns lines for a reader: filtered, and cut to head and tail when they exceed the limit. */
async function filteredOutput(
  pane: Pane,
  rows: Rows,
  input: Filter,
  query: OutputQuery,
  signal: AbortSignal | undefined,
): Promise<Output> {
  const { unread, output_cursor } = rows;
  const incompleteFields = unread === null ? {} : ({ incomplete: true, ...unread } as const);
  const base = {
    output_cursor,
    first_line_id: rows.lines[0]?.id ?? null,
    exit_code: pane.exit?.code ?? null,
    ...(rows.alternate ? { alternate_screen: true } : {}),
  };
  if (input.format === "styled") return { ...incompleteFields, ...styledOutput(rows, query, input.max_bytes), ...base };
  const texts = rows.lines.map(({ line }) => lineText(line));
  using storedOutput = new StoredOutput({ head: texts, tail: [], omitted: 0 }, null, 0, "");
  const { matches, text, omitted_bytes, omitted_lines } = outputResult(
    await readOutput(storedOutput, query, input.max_bytes, signal, overwrittenOf(pane, rows, input)),
  );
  const matchCount = defined({ matches });
  return {
    ...incompleteFields,
    ...matchCount,
    text,
    omitted_bytes,
    omitted_lines: omitted_lines + rows.dropped,
    ...base,
  };
}

/** Text that was printed and overwritten in these lines, by position. */
function overwrittenOf(pane: Pane, { lines }: Rows, { since }: Filter): ReadonlyMap<number, readonly string[]> {
  const positions = new Map(lines.map(({ id }, index) => [id, index + 1]));
  const textsByLine = new Map<number, string[]>();
  for (const { line, text } of pane.commands.overwritten.textsSince(since ?? 0)) {
    const position = positions.get(line);
    if (position !== undefined) textsByLine.set(position, [...(textsByLine.get(position) ?? []), text]);
  }
  return textsByLine;
}

/** The last lines within the limit, as spans. */
function styledOutput({ lines, dropped }: Rows, { test, head, tail }: OutputQuery, maxBytes: number) {
  const matching = test === null ? lines : lines.filter(({ line }) => test(lineText(line)));
  const bounded = head === null ? matching : matching.slice(0, head);
  const requestedLines = tail === null ? bounded : matching.slice(-tail);
  let remainingBytes = maxBytes;
  const from = requestedLines.findLastIndex(({ line }) => {
    remainingBytes -= JSON.stringify(line).length;
    return remainingBytes < 0;
  });
  const omitted = requestedLines.slice(0, from + 1);
  return {
    lines: requestedLines.slice(from + 1).map(({ line }) => line),
    omitted_bytes: omitted.reduce((sum, { line }) => sum + Buffer.byteLength(lineText(line)) + 1, 0),
    omitted_lines: omitted.length + dropped,
    ...(test === null ? {} : { matches: matching.length }),
  };
}
