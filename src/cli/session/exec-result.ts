/** The result of a command that `wsh exec` ran, as JSON. */
import { type CommandRecord, type ExecState, MAX_OUTPUT_LIMIT } from "../../protocol/commands.ts";
import { WshError } from "../../protocol/errors.ts";
import type { SessionClient } from "./client.ts";
import type { ExecOptions, PipelineStep } from "./exec-options.ts";
import { filteredOutput } from "./filtered-output.ts";

/** In the form that the operation `exec` returns. */
export async function resultOf(
  session: SessionClient,
  record: CommandRecord,
  state: ExecState,
  options: ExecOptions,
): Promise<PipelineStep> {
  const shown = await filteredOutput(session, record, options);
  const { incomplete, searched, reason, text, omitted_lines, matches, total_lines } = shown ?? {};
  const { output_cursor } = shown ?? { output_cursor: record.output_end };
  const isShort = options.isFiltered === true || (omitted_lines ?? 0) > 0;
  const { duration_ms, cwd, id } = record;
  const until = session.info?.tags.includes("exec") === true ? await readableUntil(session, isShort) : undefined;
  const isOther = record.sent !== undefined;
  return {
    ...(incomplete === true ? { incomplete, searched, reason } : {}),
    session: session.name,
    state: isOther ? "lost" : state,
    exit_code: isOther ? null : record.exit_code,
    signal: isOther ? null : record.signal,
    output: text ?? "",
    omitted_lines: omitted_lines ?? 0,
    ...(matches === undefined ? {} : { matches }),
    ...(isShort ? { total_lines: total_lines ?? record.output_lines } : {}),
    duration_ms,
    cwd,
    command_id: id,
    output_cursor,
    ...(until === undefined ? {} : { readable_until: until }),
    ...(isOther ? { verified: false, ran: record.command } : {}),
  };
}

/** Until when an ended command's own session can be read: for longer where not all of its output is shown. */
async function readableUntil(session: SessionClient, isShort: boolean): Promise<string | undefined> {
  const left = isShort ? { output: "none" as const } : { output_limit: MAX_OUTPUT_LIMIT };
  try {
    return (await session.call("process.wait", { max_wait_ms: 1, ...left })).readable_until;
  } catch (thrown) {
    // Nobody waits for it any more: a session whose time is over has none.
    if (!(thrown instanceof WshError) || thrown.code !== "host_unavailable") throw thrown;
    return undefined;
  }
}
