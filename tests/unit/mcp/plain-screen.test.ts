/** Unit tests of src/mcp/tools/plain-screen.ts. */
import { expect, test } from "bun:test";
import { shownRun } from "../../../src/mcp/tools/plain-screen.ts";

const cut = {
  state: "prompt",
  decided_by: "command_finished",
  generation: 1,
  since: 40,
  output_cursor: 90,
  output: "1\n[9 lines omitted]\n11",
  omitted_lines: 9,
  command_id: 2,
} as const;

test("omitted lines of several commands are read from the cursor, those of one by its id", () => {
  const two = [1, 2].map((command_id) => ({ command_id, command: "seq 11", exit_code: 0 }));
  expect(shownRun({ ...cut, commands: two }, undefined, "plain").warnings).toEqual([
    "9 lines omitted: wsh_get_output with since 40 (grep, max_bytes) has them",
  ]);
  expect(shownRun(cut, undefined, "plain").warnings).toEqual([
    "9 lines omitted: wsh_get_output with command_id 2 (grep, range, max_bytes) has them",
  ]);
});
