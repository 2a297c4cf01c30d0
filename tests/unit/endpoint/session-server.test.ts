/** Requests of AI agents at a session's socket: what ends them, and whose answers they get. */
import { expect, test } from "bun:test";
import type { ServedSession } from "../../../src/endpoint/served-session.ts";
import { SessionServer } from "../../../src/endpoint/session-server.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import type { Peer, PeerRequest } from "../../../src/wire/peer.ts";

test("a request for the settings ends no call that a person has allowed once; taking permissions back does", async () => {
  const server = new SessionServer(
    { clients: 8, waiters: 8 },
    { settings: {}, reload: () => ({ fault: null }) } as unknown as ConstructorParameters<typeof SessionServer>[1],
    () => null,
  );
  const denied = new WshError("access_denied", "claude may no longer exec in 'dev'");
  server.serve({
    session: { name: "dev", id: "@s1", events: { on: () => () => {} } },
    watchEvents: () => {},
    subjectSessionId: () => () => "@s1",
    operate: () => new Promise(() => {}),
    findDenial: async () => denied,
  } as unknown as ServedSession);
  const peer = { isServer: true } as Peer;
  const ask = (op: string, input: object, agent?: string): Promise<unknown> => {
    const caller = { kind: "cli", id: "x", agent, connected: true };
    const request = { op, input, caller, access: "admin", signal: new AbortController().signal };
    return server.request(request as unknown as PeerRequest, peer);
  };
  let end = "";
  const running = ask("exec", { command: "make" }, "claude").catch((thrown) => {
    end = WshError.from(thrown).code;
  });
  await ask("peer.reload", { ask: true });
  await new Promise(setImmediate);
  expect(end).toBe("");
  await ask("peer.reload", {});
  await running;
  expect(end).toBe("access_denied");
});

test("an agent gets no answer of a person's request with its id", async () => {
  const server = new SessionServer(
    { clients: 8, waiters: 8 },
    { settings: {} } as unknown as ConstructorParameters<typeof SessionServer>[1],
    () => null,
  );
  server.serve({
    session: { name: "dev", id: "@s1", events: { on: () => () => {} } },
    watchEvents: () => {},
    subjectSessionId: () => () => "@s1",
    operate: async ({ caller }: PeerRequest) => ({ by: caller.agent ?? "person" }),
  } as unknown as ServedSession);
  const ask = (agent?: string): Promise<unknown> => {
    const caller = { kind: "cli", id: "x", agent, connected: true };
    const once = { key: "0".repeat(32), digest: "1".repeat(32) };
    const request = { op: "exec", input: {}, caller, access: "admin", once, signal: new AbortController().signal };
    return server.request(request as unknown as PeerRequest, { isServer: true } as Peer);
  };
  expect([await ask(), await ask("claude"), await ask("codex")]).toEqual([
    { by: "person" },
    { by: "claude" },
    { by: "codex" },
  ]);
});
