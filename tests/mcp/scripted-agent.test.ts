/**
 * A scripted agent that works with the tools alone: it finds why a test fails, corrects the program in an editor, and
 * shows that the test passes. Each step depends only on the tools' earlier answers.
 */
import { expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { McpInstance } from "../support/mcp-instance.ts";

const program = `#!/bin/bash
# Adds up the numbers of a file.
total=0
while read -r number; do
  total=$((total - number))
done < "$1"
echo "$total"
`;
const check = `#!/bin/bash
printf '1\\n2\\n39\\n' > numbers.txt
got=$(./sum.sh numbers.txt)
if [ "$got" != 42 ]; then
  echo "FAIL sum of numbers.txt: expected 42, got $got" >&2
  echo "see sum.sh" >&2
  exit 1
fi
echo "ok 1 test"
`;

test("fixes a failing test in a small repository", async () => {
  await using mcp = new McpInstance();
  const repository = join(mcp.dir, "repo");
  mkdirSync(repository);
  writeFileSync(join(repository, "sum.sh"), program, { mode: 0o755 });
  writeFileSync(join(repository, "check.sh"), check, { mode: 0o755 });
  const client = await mcp.client({ args: ["--tools", "core"] });
  let calls = 0;
  let characters = 0;
  const use = async (name: string, args: object) => {
    calls++;
    const result = await client.callTool({ name, arguments: { ...args } });
    const [first] = result.content as { text: string }[];
    characters += JSON.stringify(args).length + (first?.text.length ?? 0);
    if (result.isError) throw new Error(first?.text);
    return JSON.parse(first?.text ?? "null");
  };

  // Look: the test fails, and prints where.
  const { session } = await use("wsh_create_session", { name: "fix", cwd: repository, tags: ["fix"] });
  await use("wsh_wait", { session, any_of: ["prompt"] });
  const failed = await use("wsh_exec", { session, command: "./check.sh" });
  expect(failed.exit_code).toBe(1);
  const [, expected, got, file] = /expected (\d+), got (-?\d+)[\s\S]*see (\S+)/.exec(failed.output) ?? [];
  expect([expected, got, file]).toEqual(["42", "-42", "sum.sh"]);

  // Find: the sign is wrong, so some line subtracts.
  const found = await use("wsh_exec", { session, command: `grep -n -- ' - ' ${file}` });
  const line = Number(/^(\d+):/.exec(found.output)?.[1]);
  expect(line).toBe(5);

  // Correct it in an editor that is driven by keys, and check that the editor shows it.
  await use("wsh_run_command", { session, input: `vim -u NONE -N +${line} ${file}`, submit: true });
  await use("wsh_wait", { session, any_of: ["fullscreen"] });
  expect((await use("wsh_get_status", { session })).state).toBe("fullscreen");
  const { output_cursor } = await use("wsh_send_input", { session, input: ":s/ - / + /\r" });
  await use("wsh_wait", { session, since: output_cursor, any_of: [{ type: "text", text: "total + number" }] });
  expect((await use("wsh_get_screen", { session })).screen).toContain("total + number");
  await use("wsh_send_input", { session, input: ":wq", submit: true });
  await use("wsh_wait", { session, any_of: ["prompt"] });

  // Show that it is right, and that nothing else changed.
  const passed = await use("wsh_exec", { session, steps: [{ command: "./check.sh" }, { command: "cat sum.sh" }] });
  expect(passed.steps.map((step: { exit_code: number }) => step.exit_code)).toEqual([0, 0]);
  expect(`${passed.steps[1].output}\n`).toBe(program.replace(" - ", " + "));
  expect(readFileSync(join(repository, "sum.sh"), "utf8")).toBe(program.replace(" - ", " + "));

  await use("wsh_manage_session", { session, action: "kill" });
  expect(await use("wsh_list_sessions", { tag: "fix" })).toEqual([]);
  console.log(`a failing test fixed in ${calls} calls, ${Math.ceil(characters / 4)} tokens (4 characters each)`);
});
