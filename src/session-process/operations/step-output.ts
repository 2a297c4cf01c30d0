/**
 * The output of an exec's steps as requested: filtered over the full output, shown only for failed steps, or omitted;
 * unreadable parts are named first.
 */

import type { HandlerContext } from "../../endpoint/operations/context.ts";
import { groupByLine } from "../../pane/output/overwritten.ts";
import { type OutputReading, readOutput } from "../../pane/output/read-output.ts";
import { StoredOutput } from "../../pane/output/stored-output.ts";
import type { Pane } from "../../pane/pane.ts";
import type { StepResult } from "../../protocol/commands.ts";
import { present } from "../../protocol/defined.ts";
import type { StepFilter } from "../../protocol/output-filter.ts";
import { holderText, refusedPort } from "../../protocol/ports.ts";

/** @param limit maximum UTF-8 bytes of the output */
export async function stepOutput<R extends StepResult>(
  pane: Pane,
  result: R,
  { query, mode }: StepFilter,
  limit: number,
  signal?: AbortSignal,
): Promise<R> {
  if (result.state === "skipped") return result;
  using storedOutput = storedOutputOf(pane, result);
  const { totalLines } = storedOutput;
  const succeeded = result.state === "finished" && result.exit_code === 0;
  if (mode === "none" || (mode === "on_failure" && succeeded)) {
    return { ...result, output: "", omitted_lines: 0, total_lines: totalLines };
  }
  if (query !== null) {
    const reading = await readOutput(storedOutput, query, limit, signal, overwrittenIn(pane, result.command_id));
    const { matches } = reading;
    const matchCount = present({ matches });
    const outputFields = {
      output: reading.text,
      omitted_lines: reading.omittedLines,
      ...matchCount,
      total_lines: totalLines,
    };
    return { ...incomplete(reading.missing), ...result, ...outputFields };
  }
  if (result.omitted_lines === 0) return result;
  return { ...incomplete(storedOutput.missingIn({ from: 1, to: totalLines })), ...result, total_lines: totalLines };
}

/** A command's overwritten output, by line; without that of later commands in its lines. */
export function overwrittenIn(pane: Pane, id: number | null): ReturnType<typeof groupByLine> {
  const record = id === null ? null : pane.commands.log.get(id);
  if (record === null) return new Map();
  const { output_start, output_end, first_line_id: first, last_line_id: last } = record;
  const texts = pane.commands.overwritten.textsSince(output_start);
  const isOwn = ({ line, sliceStart }: (typeof texts)[number]): boolean =>
    line >= first && (last === null || line <= last) && (output_end === null || sliceStart < output_end);
  return groupByLine(texts.filter(isOwn), first);
}

/** For a failed command that could not get a port, according to its output, names the port's holder. */
export async function withPortHolder<R extends StepResult>(
  pane: Pane,
  result: R,
  { findPortHolder }: Pick<HandlerContext, "findPortHolder">,
): Promise<R> {
  const { state, exit_code, output, command_id, warnings = [] } = result;
  if (state !== "finished" || exit_code === 0) return result;
  const record = command_id === null ? null : pane.commands.log.get(command_id);
  const port = refusedPort(output, record?.command ?? pane.command);
  const holder = port === null ? null : await findPortHolder(port);
  return holder === null ? result : { ...result, warnings: [...warnings, holderText(holder)] };
}

/** Unreadable parts of a reading, in the form for results. */
export function incomplete(missing: OutputReading["missing"]) {
  if (missing === null) return {};
  return { incomplete: true, searched: missing.searched, reason: missing.reason } as const;
}

/** A step without a record has only the text of its result. */
function storedOutputOf(pane: Pane, { command_id: id, output, omitted_lines: omitted }: StepResult): StoredOutput {
  const storedOutput = id === null ? null : pane.commands.log.storedOutput(id);
  if (storedOutput !== null) return storedOutput;
  const lines = output === "" ? [] : output.split("\n");
  const why = "no command was recorded; only the beginning and end of the output were kept";
  if (omitted === 0) return new StoredOutput({ head: lines, tail: [], omitted }, null, 0, why);
  const cut = lines.indexOf(`[${omitted} lines omitted]`);
  if (cut < 0) return new StoredOutput({ head: lines, tail: [], omitted }, null, 0, why);
  return new StoredOutput({ head: lines.slice(0, cut), tail: lines.slice(cut + 1), omitted }, null, 0, why);
}
