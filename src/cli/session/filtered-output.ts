/** Options of `wsh exec` that select the printed part of a command's output. */

import type { OutputResult } from "../../protocol/commands.ts";
import { stepFilters } from "../../protocol/output-filter.ts";

export interface FilterOptions {
  readonly grep?: string;
  readonly context?: number;
  readonly head?: number;
  readonly tail?: number;
  readonly output?: "all" | "on_failure" | "none";
}

/** Whether the output is printed at the end instead of as it arrives. @throws WshError invalid_request */
export async function checkFilter(options: FilterOptions): Promise<boolean> {
  await stepFilters(options, [{}]);
  const { grep, head, tail, output } = options;
  return grep !== undefined || head !== undefined || tail !== undefined || (output !== undefined && output !== "all");
}

/** The unreadable part of an output. */
export function incompleteText({ searched = "", reason = "" }: Pick<OutputResult, "searched" | "reason">): string {
  return `only part of the output was searched: ${searched} (${reason})`;
}
