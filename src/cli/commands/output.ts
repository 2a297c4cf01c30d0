/** `wsh output`: prints rendered output: the newest lines, a command's, or everything after a cursor. */

import type { Command } from "commander";
import { defined } from "../../protocol/defined.ts";
import { outputRules } from "../../protocol/option-rules.ts";
import { linePattern } from "../../protocol/pattern.ts";
import { requireOptions, wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { complain, print, printJson, printRendered } from "../print.ts";
import { SessionClient } from "../session/client.ts";
import { incompleteText, MatchingLines } from "../session/filtered-output.ts";

/** Longest single wait of --follow, in ms; the next begins immediately. */
const FOLLOW_WAIT_MS = 30_000;
/** Bytes per request: the operation's maximum. */
const MOST_BYTES = 1_048_576;

interface OutputOptions {
  readonly lines?: number | string;
  readonly since?: number;
  readonly command?: number;
  readonly grep?: string;
  readonly context?: number;
  readonly head?: number;
  readonly tail?: number;
  readonly lineNumber?: boolean;
  readonly maxBytes?: number;
  readonly follow?: boolean;
  readonly raw?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("output <name>")
    .description(
      "Print a session's output as text: the newest lines, a command's output, or everything after a cursor.",
    )
    .option("-n, --lines <n>", "the newest N lines (default: 100); with --command, lines A-B of it", linesOrRange)
    .option("--since <cursor>", "output after this cursor", wholeNumber(0))
    .option("--command <id>", "output of one command", wholeNumber(1))
    .option("--grep <pattern>", "only matching lines (RE2); with --command, numbered and from its whole output")
    .option("-C, --context <n>", "with --grep: lines before and after each match", wholeNumber(0))
    .option("--head <n>", "only the first N lines, or matches", wholeNumber(1))
    .option("--tail <n>", "only the last N lines, or matches", wholeNumber(1))
    .option("--line-number", "number the lines")
    .option("--max-bytes <n>", "output limit in bytes; beyond it, print head and tail", wholeNumber(0))
    .option("-f, --follow", "keep printing new output until the session ends or Ctrl+C")
    .option("--raw", "with --command, if exec or run started it: the exact bytes that it wrote")
    .option("--json", "print the whole result as JSON")
    .action(async (name: string, options: OutputOptions, command: Command) => {
      requireOptions(
        [{ option: "since", excludes: ["command_id"] }, ...outputRules],
        { ...options, command_id: options.command },
        {
          command_id: "--command",
        },
      );
      using session = await SessionClient.open(instanceOf(command), name);
      const { lines, grep, context, head, tail, lineNumber } = options;
      const result = await session.call("output.get", {
        ...defined({ since: options.since, command_id: options.command }),
        ...(lines === undefined ? {} : typeof lines === "number" ? { lines } : { range: lines }),
        grep,
        context,
        head,
        tail,
        line_numbers: lineNumber,
        raw: options.raw,
        max_bytes: options.maxBytes ?? MOST_BYTES,
      });
      for (const warning of result.warnings ?? []) complain(warning);
      if (options.json === true) return printJson(result);
      if (options.raw === true) return print(Buffer.from(result.base64 ?? "", "base64"));
      if (result.incomplete === true) complain(incompleteText(result));
      // Further output continues the last line; matching lines are whole.
      const isOpen = options.follow === true && grep === undefined;
      await printRendered(withLineEnd(result.text ?? "", isOpen));
      if (options.follow === true) await followOutput(session, result.output_cursor, grep);
    });
}

function linesOrRange(text: string): number | string {
  return text.includes("-") ? text : wholeNumber(0)(text);
}

/** Ends with a newline, unless more follows on the same line. */
function withLineEnd(text: string, open: boolean): string {
  return open || text === "" || text.endsWith("\n") ? text : `${text}\n`;
}

async function followOutput(session: SessionClient, from: number, grep: string | undefined): Promise<void> {
  const matching = grep === undefined ? null : new MatchingLines((await linePattern(grep)).test);
  for (let since = from; ; ) {
    let more = await session.call("output.get", { since, wait_ms: FOLLOW_WAIT_MS, max_bytes: MOST_BYTES });
    if (matching === null) await printRendered(more.text ?? "");
    else if (more.omitted_lines === 0) await printRendered(matching.add(more.text ?? ""));
    else {
      // More than one answer holds: the session searches it.
      await printRendered(matching.end());
      more = await session.call("output.get", { since, grep, max_bytes: MOST_BYTES });
      await printRendered(withLineEnd(more.text ?? "", false));
    }
    const { omitted_lines: missing = 0 } = more;
    if (missing > 0) complain(`${missing} lines are missing: the output was faster than its reader`);
    if (more.output_cursor === since && !(await session.call("session.get", {})).running) {
      return matching === null ? undefined : printRendered(matching.end());
    }
    since = more.output_cursor;
  }
}
