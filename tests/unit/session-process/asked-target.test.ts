/** A person decides about one pane: another one that the target selects by then is not affected. */
import { expect, test } from "bun:test";
import { operate } from "../../../src/session-process/operations/dispatch.ts";
import type { SessionParts } from "../../../src/session-process/parts.ts";
import type { PeerRequest } from "../../../src/wire/peer.ts";

test.each([
  ["input.send", { data: "x" }],
  ["buffer.paste", {}],
  ["pane.close", {}],
  ["peer.raw", {}],
  ["peer.leave", { op: "pane.move", input: { to: "theirs" } }],
])("%s", async (op, input) => {
  let pane = "@1";
  const parts = {
    paneIdFor: () => pane,
    subjectSessionId: () => () => "@s1",
    permission: {
      async require() {
        pane = "@2";
      },
    },
  };
  const request = {
    ...{ op, input, target: "theirs", access: "admin" as const, signal: new AbortController().signal },
    caller: { kind: "cli" as const, id: "x", connected: true, agent: "claude" },
  };
  const asked = operate(parts as unknown as SessionParts, request as PeerRequest);
  expect(await asked.catch((thrown) => thrown.message)).toContain("named pane '@1' when the person was asked");
});
