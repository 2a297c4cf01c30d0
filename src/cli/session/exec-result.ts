/** The result of a command that `wsh exec` followed: the same as the operation `exec` would have returned. */
import { type CommandRecord, MAX_OUTPUT_LIMIT } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import type { SessionClient } from "./client.ts";
import type { ExecOptions, PipelineStep } from "./exec-options.ts";

/** @param stopped how it was stopped at the deadline */
export async function resultOf(
  session: SessionClient,
  { id }: Pick<CommandRecord, "id">,
  stopped: "interrupted" | "killed" | undefined,
  { isFiltered, json, grep, context, head, tail, output }: ExecOptions,
): Promise<PipelineStep> {
  // Output already printed is not requested again.
  const shown = isFiltered === true || json === true ? output : "none";
  const filter = { grep, context, head, tail, output: shown, output_limit: MAX_OUTPUT_LIMIT };
  const result = await session.call("commands.result", {
    id,
    ...defined({ stopped }),
    ...filter,
  });
  return { ...result, session: session.name };
}
