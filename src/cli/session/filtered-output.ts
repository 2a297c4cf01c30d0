/** Options of `wsh exec` that choose what is printed of a command's output, and the output that they choose. */

import { type CommandRecord, MAX_OUTPUT_LIMIT, type OutputResult } from "../../protocol/commands.ts";
import { stepFilters } from "../../protocol/output-filter.ts";
import type { SessionClient } from "./client.ts";

export interface FilterOptions {
  readonly grep?: string;
  readonly context?: number;
  readonly head?: number;
  readonly tail?: number;
  readonly output?: "all" | "on_failure" | "none";
}

/** Whether the output is printed at the end instead of as it comes. @throws WshError invalid_request */
export async function checkFilter(options: FilterOptions): Promise<boolean> {
  await stepFilters(options, [{}]);
  const { grep, head, tail, output } = options;
  return grep !== undefined || head !== undefined || tail !== undefined || (output !== undefined && output !== "all");
}

/** The output of an ended command, filtered; null when it is not to be shown. */
export async function filteredOutput(
  session: SessionClient,
  { id, state, exit_code }: CommandRecord,
  { grep, context, head, tail, output = "all" }: FilterOptions,
): Promise<OutputResult | null> {
  const succeeded = state === "finished" && exit_code === 0;
  if (output === "none" || (output === "on_failure" && succeeded)) return null;
  return session.call("commands.output", { id, max_bytes: MAX_OUTPUT_LIMIT, grep, context, head, tail });
}

/** What could not be seen of an output. */
export function incompleteText({ searched = "", reason = "" }: OutputResult): string {
  return `not all of it could be read: ${searched} (${reason})`;
}
