/** Unit tests of src/mcp/tools/shown-exec.ts. */
import { expect, test } from "bun:test";
import { shownParallel } from "../../../src/mcp/tools/shown-exec.ts";
import type { StepResult } from "../../../src/protocol/commands.ts";

const good = {
  session: "exec-1",
  state: "finished",
  exit_code: 0,
  signal: null,
  output: "",
  omitted_lines: 0,
  duration_ms: 5,
  cwd: "/",
  command_id: 1,
  output_cursor: 9,
} as const;

test("parallel commands that have succeeded keep their doubts and their number of matches", () => {
  const doubts: Pick<StepResult, "warnings" | "incomplete" | "searched" | "reason" | "matches" | "total_lines">[] = [
    { warnings: ["no terminal is attached: it ran without a visible pane"] },
    { incomplete: true, searched: "5-9 of 9", reason: "older ones are not kept" },
    { matches: 0, total_lines: 9 },
  ];
  const steps = doubts.map((doubt) => ({ ...good, ...doubt }));
  expect(shownParallel({ steps }, undefined)).toMatchObject({ steps: doubts });
});
