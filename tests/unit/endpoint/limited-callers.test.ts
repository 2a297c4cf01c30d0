/** What callers with limited rights have open ends when they may no longer use it. */
import { expect, test } from "bun:test";
import { LimitedCallers } from "../../../src/endpoint/limited-callers.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import type { PeerRequest } from "../../../src/wire/peer.ts";

test("an agent's streams end if it cannot be found out whether it may go on, and so do those after them", async () => {
  const limited = new LimitedCallers();
  const ended: string[] = [];
  const names = ["claude", "codex", "gemini"];
  for (const agent of names) {
    const caller = { kind: "cli", id: agent, agent, connected: true };
    const request = { op: "peer.subscribe", input: {}, caller } as unknown as PeerRequest;
    limited.register(
      request,
      () => "@s1",
      ({ code }) => ended.push(`${agent} ${code}`),
    );
  }
  await limited.recheckPermissions(async ({ caller }) => {
    if (caller.agent === "claude") throw new WshError("unsafe_path", "the list of allowed agents cannot be read");
    return caller.agent === "codex" ? new WshError("access_denied", "the session is private now") : null;
  });
  expect(ended).toEqual(["claude access_denied", "codex access_denied"]);
});
