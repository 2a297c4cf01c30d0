/** `exec` of a single command keeps the holder of its port beside what else is doubtful about the result. */
import { expect, test } from "bun:test";
import { inputSchema } from "../../../src/operations/table.ts";
import type { Pane } from "../../../src/pane/pane.ts";
import { parse } from "../../../src/protocol/parse.ts";
import { commandHandlers } from "../../../src/session-process/operations/commands.ts";

const doubt = "the shell's report was late";
const step = {
  state: "finished",
  exit_code: 1,
  signal: null,
  output: "Error: listen EADDRINUSE: address already in use :::3000",
  omitted_lines: 0,
  duration_ms: 5,
  cwd: "/",
  command_id: null,
  output_cursor: 9,
  warnings: [doubt],
} as const;

test("the warning about the port joins the command's own", async () => {
  const pane = {
    command: "bash",
    giveCursor: () => 9,
    lifetime: { noteEndReported: () => {} },
    commands: {
      exec: async () => ({ steps: [step], warnings: [doubt], decision: null }),
      hidesFromHistory: () => false,
    },
  } as unknown as Pane;
  const context = {
    session: "a",
    caller: { kind: "http", id: "http:t", connected: false },
    signal: new AbortController().signal,
    findPortHolder: async () => ({ port: 3000, session: "web", pane: "@1", pid: 7, program: "node", since: null }),
  };
  const input = parse(inputSchema("exec"), { command: "node server.js" });
  const { warnings = [] } = await commandHandlers.exec(pane, input as never, context as never);
  expect(warnings).toEqual([doubt, "port 3000 is held by node (pid 7), session web, pane @1"]);
});
