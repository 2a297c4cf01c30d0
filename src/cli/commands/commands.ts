/** `wsh commands`: lists the commands that ran at a session's prompt, and how they ended. */
import type { Command } from "commander";
import type { CommandRecord } from "../../protocol/commands.ts";
import { defined } from "../../protocol/defined.ts";
import { wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson, printText, shorten, table } from "../print.ts";
import { SessionClient } from "../session/client.ts";

/** Longest command in the table, in cells. */
const COMMAND_CELLS = 80;

interface CommandsOptions {
  readonly limit?: number;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("commands <name>")
    .description(
      "List the commands that ran at a session's prompt, oldest first; 'wsh output --command ID' prints one.",
    )
    .option("-n, --limit <n>", "only the newest N (default: 100)", wholeNumber(0))
    .option("--json", "print the records as JSON")
    .action(async (name: string, { limit, json }: CommandsOptions, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const records = await session.call("commands.list", defined({ limit }));
      if (json === true) return printJson(records);
      if (records.length === 0) return printText(`No commands in session '${session.name}' yet.\n`);
      return print(table([["ID", "EXIT", "TIME", "LINES", "COMMAND"], ...records.map(row)]));
    });
}

function row(record: CommandRecord): string[] {
  const { id, state, signal, exit_code, duration_ms, output_lines, command } = record;
  const exit = state === "running" ? "running" : (signal ?? exit_code ?? "?");
  return [
    String(id),
    String(exit),
    duration_ms === null ? "-" : duration(duration_ms),
    String(output_lines),
    command === null ? "?" : shorten(command.replaceAll("\n", "⏎"), COMMAND_CELLS),
  ];
}

function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}
