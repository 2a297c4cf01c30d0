/** Hints name what exists on their transport. */
import { expect, test } from "bun:test";
import { machineTools, tools } from "../../../src/mcp/tools/tools.ts";
import { errorCodes, WshError } from "../../../src/protocol/errors.ts";

const names = new Set([...tools, ...machineTools].map((tool) => tool.name));

test("every code's hint is in the words of each transport", () => {
  for (const code of errorCodes) {
    const error = new WshError(code, "");
    const [http, cli, mcp] = (["http", "cli", "mcp"] as const).map((transport) => error.hintAt(transport));
    for (const hint of [http, cli, mcp]) expect(hint).not.toMatch(/\{\w+\}/);
    expect(`${http} ${cli}`).not.toMatch(/wsh_\w+/);
    expect(mcp).not.toMatch(/\/docs|--clear-line|`wsh (run|list|info|commands)/);
    expect([...(mcp ?? "").matchAll(/wsh_\w+/g)].map(([name]) => name).filter((name) => !names.has(name))).toEqual([]);
  }
});

test("an error from another process keeps the words for the last transport", () => {
  const sent = new WshError("not_at_prompt", "busy", { hint: "Type with {run}." }).toBody();
  const received = WshError.fromBody(JSON.parse(JSON.stringify(sent)));
  expect(received.bodyAt("mcp").hint).toBe("Type with wsh_run_command.");
  expect(received.bodyAt("http").hint).toBe("Type with `run`.");
  expect(received.hintAt("cli")).toBe("Type with `wsh run`.");
});
