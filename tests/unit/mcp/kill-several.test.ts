/** The end of several sessions reports each failure with its way out, as a single call's error does. */
import { expect, test } from "bun:test";
import { manageSession } from "../../../src/mcp/tools/sessions.ts";
import type { Ask } from "../../../src/mcp/tools/tool.ts";
import { WshError } from "../../../src/protocol/errors.ts";

test("a session that cannot be ended has the error's hint in the words of MCP", async () => {
  const missing = new WshError("session_not_found", "no session 'b'");
  const ask = (async (name: string, _: object, session: string) => {
    if (session === "b") throw missing;
    return name === "session.get" ? { state: "prompt" } : { ended: [] };
  }) as unknown as Ask;
  const given = { session: ["a", "b"], action: "kill" };
  const { hint } = missing.bodyAt("mcp");
  expect(hint).not.toBe("");
  expect(await manageSession.call(given, ask, { kind: "agent", name: "mcp" } as never)).toEqual({
    success: false,
    sessions: [
      { status: "killed", session: "a", ended: [] },
      { status: "failed", session: "b", code: "session_not_found", message: "no session 'b'", hint },
    ],
  });
});
