/** `wsh doctor`: checks everything that wsh needs and reports what is wrong and what to do; then the exit code is 1. */
import type { Command } from "commander";
import { WshError } from "../../protocol/errors.ts";
import { visibleCell } from "../../protocol/visible.ts";
import { checks } from "../doctor/checks.ts";
import type { Finding } from "../doctor/finding.ts";
import { instanceOf } from "../instance.ts";
import { print, printJson } from "../print.ts";

const marks = { ok: "ok", note: "note", wrong: "WRONG" } as const;

export function register(program: Command): void {
  program
    .command("doctor")
    .description("Check this installation; say what is wrong and what to do. Changes nothing.")
    .option("--json", "print the findings as JSON")
    .action(async ({ json }: { readonly json?: boolean }, command: Command) => {
      const instance = instanceOf(command);
      const findings: Finding[] = [];
      for (const [subject, check] of checks) {
        try {
          findings.push(...(await check(instance)));
        } catch (thrown) {
          const error = WshError.from(thrown);
          findings.push({ subject, state: "wrong", text: error.message, advice: error.hintAt("cli") });
        }
      }
      if (findings.some(({ state }) => state === "wrong")) process.exitCode = 1;
      if (json === true) return printJson(findings);
      await print(findings.map(line).join(""));
    });
}

function line({ subject, state, text, advice }: Finding): string {
  const more = advice === undefined ? "" : `${" ".repeat(27)}${visibleCell(advice)}\n`;
  return `${marks[state].padEnd(7)}${subject.padEnd(20)}${visibleCell(text)}\n${more}`;
}
