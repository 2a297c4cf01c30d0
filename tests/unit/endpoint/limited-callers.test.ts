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

test("a stream keeps the limits of each of its requests, is ended once, and takes none for another target", async () => {
  const limited = new LimitedCallers();
  const peer = {};
  const ended: string[] = [];
  const register = (op: string, target: string, owner: () => string, only?: string): void => {
    const caller = only === undefined ? { kind: "cli", id: "x", agent: "claude" } : { kind: "http", id: "x", only };
    const request = { op, target, input: {}, caller, access: "operate" } as unknown as PeerRequest;
    limited.registerStream(peer, request, owner, ({ code }) => ended.push(`${op} ${code}`));
  };
  const denyReading = async ({ op }: PeerRequest) =>
    op === "peer.client" ? null : new WshError("access_denied", "the session is private now");
  register("peer.subscribe", "@7", () => "@s1");
  register("peer.raw", "@7", () => "@s1");
  // It needs no permission itself, and leaves the stream as it is.
  register("peer.client", "@7", () => "@s1");
  await limited.recheckPermissions(denyReading);
  expect(ended).toEqual(["peer.subscribe access_denied"]);
  register("peer.raw", "@7", () => "@s1");
  limited.releaseStream(peer);
  await limited.recheckPermissions(denyReading);
  expect(ended).toHaveLength(1);

  let owner = "@s1";
  register("peer.raw", "@7", () => owner, "@s1");
  expect(() => register("peer.subscribe", "@8", () => "@s1", "@s1")).toThrow("a stream of '@7'");
  owner = "@s2";
  await limited.recheckOwners(async () => null);
  expect(ended.slice(1)).toEqual(["peer.raw session_not_found"]);

  owner = "@s1";
  register("peer.subscribe", "@9", () => "@s1");
  register("peer.raw", "@9", () => owner);
  await limited.recheckOwners(denyReading);
  expect(ended).toHaveLength(2);
  // What a permission for the first session allowed.
  owner = "@s2";
  await limited.recheckOwners(denyReading);
  expect(ended.slice(2)).toEqual(["peer.raw access_denied"]);
});
