/**
 * Pages of output: of the pane since a cursor, its newest lines, or of one command; filtered by `grep`, and cut to
 * `tail` lines and `max_bytes`. Each page counts the lines and bytes that it leaves out.
 */
import type { OperationOutput, ParsedInput } from "../../operations/table.ts";
import type { Pane } from "../../pane/pane.ts";
import { cutOutput, grepLines, tailLines } from "../../pane/text/cut-output.ts";
import type { KeptLines } from "../../pane/text/kept-lines.ts";
import type { CommandRecord } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import type { Format } from "../../protocol/screen.ts";
import type { TextRange } from "../../terminal/history/transcript.ts";
import type { HandlerContext } from "./context.ts";

/** @throws WshError invalid_cursor, command_not_found */
export async function output(
  pane: Pane,
  input: ParsedInput<"output.get">,
  { signal }: HandlerContext,
): Promise<OperationOutput<"output.get">> {
  if (input.command_id !== undefined) return commandOutput(pane, input.command_id, input);
  const { terminal } = pane;
  const matches = matcher(input.grep);
  if (input.since === undefined) {
    return terminal.atRest(() =>
      terminal.alternate
        ? shown(pane, alternateRows(pane, input.format, input.lines), input, matches)
        : shown(pane, newestLines(pane, input.format, input.lines), input, matches),
    );
  }
  if (input.since > pane.outputCursor) throw invalidCursor(input.since, pane.outputCursor);
  if (input.wait_ms > 0 && input.since === pane.outputCursor && pane.exit === null) {
    await pane.outputAfter(input.since, input.wait_ms, signal);
  }
  const { since } = input;
  return terminal.atRest(() => shown(pane, pane.textSince(since, input.format), input, matches));
}

function newestLines(pane: Pane, format: Format, count: number): TextRange {
  const { terminal } = pane;
  const from = { line: Math.max(terminal.firstLine, terminal.lastLine + 1 - count), col: 0 };
  return terminal.text(from, undefined, format);
}

/** The alternate screen down to its last row that is not blank; its rows are no lines and have no ids. */
function alternateRows(pane: Pane, format: Format, count: number): Rows {
  const { lines } = pane.terminal.screen(format);
  const end = lines.findLastIndex((line) => line.length > 0) + 1;
  return { lines: lines.slice(Math.max(0, end - count), end).map((line) => ({ id: null, line })), dropped: 0 };
}

/** @throws WshError command_not_found */
export function commandOutput(
  pane: Pane,
  id: number,
  input: { format: "plain" | "styled"; grep?: string | undefined; max_bytes: number; tail?: number | undefined },
): OperationOutput<"output.get"> {
  const record = recordOf(pane, id);
  const matches = matcher(input.grep);
  const base = {
    output_cursor: pane.giveCursor(),
    exit_code: record.exit_code,
    first_line_id: record.first_line_id,
  };
  if (input.format === "styled") {
    const { terminal } = pane;
    const to = record.last_line_id === null ? undefined : { line: record.last_line_id + 1, col: 0 };
    const range = terminal.text({ line: record.first_line_id, col: 0 }, to, "styled");
    return { ...shown(pane, range, input, matches), ...base };
  }
  const kept = pane.commands.log.output(id);
  if (kept === null) throw unknownCommand(pane, id);
  const filtered = matches === null ? kept : grepLines(kept, matches);
  const lines: KeptLines = input.tail === undefined ? filtered : tailLines(filtered, input.tail);
  const cut = cutOutput(lines, input.max_bytes);
  const all = [...lines.head, ...lines.tail].reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  return {
    text: cut.text,
    omitted_bytes: cut.omittedLines === 0 ? 0 : Math.max(0, all - Buffer.byteLength(cut.text)),
    omitted_lines: cut.omittedLines,
    ...base,
  };
}

/** Lines, or rows of the alternate screen. */
interface Rows {
  readonly lines: readonly { readonly id: number | null; readonly line: TextRange["lines"][number]["line"] }[];
  readonly dropped: number;
}

/** Returns lines for a reader: filtered, and cut to head and tail when they exceed the limits. */
function shown(
  pane: Pane,
  range: Rows,
  input: { format: "plain" | "styled"; max_bytes: number; tail?: number | undefined },
  matches: ((line: string) => boolean) | null,
): OperationOutput<"output.get"> {
  const text = (line: TextRange["lines"][number]["line"]): string =>
    typeof line === "string" ? line : line.map((span) => span.text).join("");
  const matching = matches === null ? range.lines : range.lines.filter(({ line }) => matches(text(line)));
  const lines = input.tail === undefined ? matching : matching.slice(-input.tail);
  const base = {
    output_cursor: pane.giveCursor(),
    first_line_id: lines[0]?.id ?? null,
    exit_code: pane.exit?.code ?? null,
    ...(pane.terminal.alternate ? { alternate_screen: true } : {}),
  };
  const whole = lines.map(({ line }) => text(line));
  const bytes = whole.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0);
  if (input.format === "styled") {
    const size = (line: unknown): number => JSON.stringify(line).length;
    let left = input.max_bytes;
    const from = lines.findLastIndex(({ line }) => {
      left -= size(line);
      return left < 0;
    });
    const kept = lines.slice(from + 1);
    return {
      lines: kept.map(({ line }) => line),
      omitted_bytes: whole.slice(0, from + 1).reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
      omitted_lines: from + 1 + range.dropped,
      ...base,
    };
  }
  const cut = cutOutput({ head: whole, tail: [], omitted: 0 }, input.max_bytes);
  return {
    text: cut.text,
    omitted_bytes: cut.omittedLines === 0 ? 0 : Math.max(0, bytes - Buffer.byteLength(cut.text)),
    omitted_lines: cut.omittedLines + range.dropped,
    ...base,
  };
}

/** @throws WshError command_not_found */
export function recordOf(pane: Pane, id: number): CommandRecord {
  const record = pane.commands.log.get(id);
  if (record === null) throw unknownCommand(pane, id);
  return record;
}

function unknownCommand(pane: Pane, id: number): WshError {
  return new WshError("command_not_found", `pane '${pane.id}' keeps no command ${id}`);
}

function invalidCursor(since: number, now: number): WshError {
  return new WshError("invalid_cursor", `output cursor ${since} is ahead of the output (${now})`);
}

function matcher(grep: string | undefined): ((line: string) => boolean) | null {
  return grep === undefined ? null : (line) => line.includes(grep);
}
