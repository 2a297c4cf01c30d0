/** What a connection of an AI agent hears of a private session follows the permission at that moment. */
import { expect, test } from "bun:test";
import { Watchers } from "../../../src/endpoint/watchers.ts";
import { emptySession } from "../../../src/protocol/concealed.ts";
import type { SessionInfo } from "../../../src/protocol/session.ts";
import type { Peer } from "../../../src/wire/peer.ts";

const info: SessionInfo = {
  ...emptySession,
  ...{ id: "@s1", pane_id: "@1", name: "hidden", server: "here", running: true, state: "prompt", created_at: 0 },
  ...{ command: "secret", private: true, owner: { kind: "person", name: "wsh" } },
};

test("an answer for longer than once reaches an open connection, and so does its end", () => {
  const heard: unknown[] = [];
  const peer = { send: (_type: number, event: unknown) => heard.push(event) } as unknown as Peer;
  const watchers = new Watchers(() => info);
  watchers.add(peer);
  let isAllowed = false;
  watchers.limitToAgent(peer, { kind: "agent", name: "claude" }, () => isAllowed);
  const commandNow = (): string => {
    watchers.send({ event: "info", info });
    const last = heard.at(-1) as { info: SessionInfo };
    expect(last.info.command).toBe(watchers.visibleInfo(peer, info).command);
    return last.info.command;
  };
  expect(commandNow()).toBe("");
  isAllowed = true;
  expect(commandNow()).toBe("secret");
  isAllowed = false;
  expect(commandNow()).toBe("");
});
