/** An MCP call that waits for a person says so in its progress, also where another session's process asks the person. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { McpInstance } from "../support/mcp-instance.ts";
import { isDialogOpen } from "../support/terminals/dialog-answer.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const wsh = new McpInstance({}, { config: "# agents_may has its default\n" });
let client: Client;
let terminal: EmulatorTerminal;
beforeAll(async () => {
  await wsh.session("theirs", "--", "sh", "-c", "echo begun; exec cat");
  client = await wsh.client({ name: "claude" });
  for (const name of ["own", "lone"])
    await client.callTool({ name: "wsh_create_session", arguments: { name, command: "sleep 300" } });
  await client.callTool({ name: "wsh_create_pane", arguments: { session: "own", command: "sleep 300" } });
  terminal = await EmulatorTerminal.attach(wsh, "theirs", { seen: "begun", rows: 24, cols: 100 });
});
afterAll(async () => {
  await terminal[Symbol.asyncDispose]();
  await wsh[Symbol.asyncDispose]();
});

test.each([
  ["moving a pane there", "wsh_layout", { session: "own", action: "move", to: "theirs" }],
  ["moving one from there", "wsh_layout", { session: "theirs", action: "move", to: "own" }],
  ["a view of it", "wsh_create_pane", { session: "own", view: "theirs" }],
  ["a view in a new window", "wsh_create_pane", { session: "own", view: "theirs", window: "new" }],
  ["a floating view", "wsh_create_pane", { session: "own", view: "theirs", window: "float" }],
  ["a popup", "wsh_create_pane", { session: "theirs", command: "sleep 300", window: "popup" }],
  ["a layout with a view", "wsh_layout", { session: "own", action: "set", tree: { view: "theirs" } }],
  ["moving a window there", "wsh_manage_window", { session: "lone", action: "move", to: "theirs" }],
  ["exchanging windows", "wsh_manage_window", { session: "lone", action: "swap", to: "theirs:0" }],
  ["ending several", "wsh_manage_session", { session: ["lone", "theirs"], action: "kill" }],
])("%s", async (_what, name, given) => {
  const heard: string[] = [];
  const asked = client.callTool(
    { name, arguments: given },
    { onprogress: ({ message = "" }) => void heard.push(message) },
  );
  await until("its progress says it", () => heard.join().includes("waiting for a person at session 'theirs'"));
  // Not refused: the agent would not be heard after three refusals.
  await terminal.sees(isDialogOpen);
  const [{ ask_id }] = JSON.parse(await wsh.ok("ask", "--list", "--session", "theirs", "--json"));
  await wsh.ok("ask", "--cancel", ask_id, "--session", "theirs");
  expect(JSON.stringify(await asked)).toContain("access_denied");
  await terminal.sees((text) => !isDialogOpen(text));
});
