/** `wsh screen`: prints a session's screen, as text, with colours, or as JSON. */
import { type Command, Option } from "commander";
import { defined } from "../../protocol/defined.ts";
import { visibleRendered } from "../../protocol/harmless-text.ts";
import type { Screen } from "../../protocol/screen.ts";
import { spansToAnsi } from "../ansi.ts";
import { wholeNumber } from "../arguments.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson } from "../print.ts";
import { SessionClient } from "../session/client.ts";

interface ScreenOptions {
  readonly format: "plain" | "styled" | "ansi";
  readonly tail?: number;
  readonly cursor?: boolean;
  readonly json?: boolean;
}

export function register(program: Command): void {
  program
    .command("screen <name>")
    .description("Print a session's screen.")
    .addOption(
      new Option("--format <format>", "plain text, ansi with colours, or styled: spans as JSON")
        .choices(["plain", "styled", "ansi"])
        .default("plain"),
    )
    .option("--tail <n>", "only the last N non-blank rows", wholeNumber(1))
    .option("--cursor", "print the cursor's position and the selection below it")
    .option("--json", "print all details of the screen as JSON")
    .action(async (name: string, { format, tail, cursor, json }: ScreenOptions, command: Command) => {
      using session = await SessionClient.open(instanceOf(command), name);
      const screen = await session.call("screen.get", {
        format: format === "plain" ? "plain" : "styled",
        ...defined({ tail }),
      });
      if (json === true || format === "styled") return printJson(screen);
      const lines = screen.lines.map((line) =>
        typeof line === "string" ? visibleRendered(line.trimEnd()) : spansToAnsi(line),
      );
      const marks = cursor === true ? [`[${marksOf(screen)}]`] : [];
      return print(`${[...lines, ...marks].join("\n")}\n`);
    });
}

function marksOf({ cursor, selected }: Pick<Screen, "cursor" | "selected">): string {
  const place = `cursor ${cursor.visible ? "at" : "hidden, at"} row ${cursor.row + 1}, column ${cursor.col + 1}`;
  return selected === undefined ? place : `${place}; selected: ${visibleRendered(selected.text)}`;
}
