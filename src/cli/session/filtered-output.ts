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

/** Characters of a line without an end that are searched at once: a program may never end it. */
const MAX_OPEN_LINE = 1_048_576;

/** The matching lines of a text that arrives in parts, each with its newline. */
export class MatchingLines {
  private openLine = "";

  constructor(private readonly test: (line: string) => boolean) {}

  /** @returns the lines that are complete now */
  add(part: string): string {
    const lines = `${this.openLine}${part}`.split("\n");
    this.openLine = lines.pop() ?? "";
    if (this.openLine.length > MAX_OPEN_LINE) {
      lines.push(this.openLine);
      this.openLine = "";
    }
    return lines
      .filter(this.test)
      .map((line) => `${line}\n`)
      .join("");
  }

  /** The text has ended. @returns its last line */
  end(): string {
    const last = this.openLine;
    this.openLine = "";
    return last !== "" && this.test(last) ? `${last}\n` : "";
  }
}

/** The unreadable part of an output. */
export function incompleteText({ searched = "", reason = "" }: Pick<OutputResult, "searched" | "reason">): string {
  return `only part of the output was searched: ${searched} (${reason})`;
}
