/** The audit record of a page's terminal: only input that has reached the session counts. */
import { expect, test } from "bun:test";
import type { Access, Caller } from "../../../src/protocol/caller.ts";
import { encodeInput } from "../../../src/protocol/numbered-input.ts";
import { TypedInputRecord } from "../../../src/server/websocket/typed-input-record.ts";
import { ViewSocket } from "../../../src/server/websocket/view-socket.ts";
import type { WebSocketPeer } from "../../../src/server/websocket/websockets.ts";

test("input that is queued when the page leaves was not typed", () => {
  const records: { readonly bytes: number; readonly hmac: string }[] = [];
  const nothing = new Bun.CryptoHasher("sha256").digest("hex");
  const pending = new Promise<never>(() => {});
  const caller: Caller = { kind: "ws", id: "ws:1", connected: true };
  const access: Access = "operate";
  const view = new ViewSocket({
    sources: { find: () => pending, pane: () => pending },
    source: { address: "/nonexistent", info: { id: "@s1", name: "dev", pane_id: "@1" } },
    context: { caller, access },
    viewer: "a page",
    follows: false,
    keys: () => pending,
    record: new TypedInputRecord(new Bun.CryptoHasher("sha256"), (typed) => records.push(typed)),
  });
  view.open({ sendText: () => 0, close: () => {} } as unknown as WebSocketPeer);
  view.message(JSON.stringify({ type: "open", client: "page-0001", rows: 24, cols: 80, size: "fit", prefix: true }));
  view.message(encodeInput({ number: 1, bytes: Buffer.from("never typed") }));
  view.close();
  expect(records).toEqual([{ bytes: 0, hmac: nothing }]);
});
