/** The page's control connection across a server that stalls: every call is answered or fails. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { ControlSocket } from "../../../src/web/connection/control-socket.ts";
import type { Server } from "../../../src/web/connection/server.ts";
import { until } from "../../support/until.ts";

/** A browser's WebSocket whose network the test is. */
class FakeSocket extends EventTarget {
  static readonly OPEN = 1;
  static all: FakeSocket[] = [];
  readyState = 0;

  constructor() {
    super();
    FakeSocket.all.push(this);
  }

  send(text: string): void {
    const { id, method } = JSON.parse(text);
    if (id === undefined) return;
    const data = JSON.stringify({ id, method, result: "answered" });
    queueMicrotask(() => this.dispatchEvent(new MessageEvent("message", { data })));
  }

  close(): void {
    this.readyState = 2;
  }

  opened(): void {
    this.readyState = FakeSocket.OPEN;
    this.dispatchEvent(new Event("open"));
  }

  closed(): void {
    this.readyState = 3;
    this.dispatchEvent(new Event("close"));
  }
}

const browsers = globalThis.WebSocket;
beforeEach(() => {
  FakeSocket.all = [];
  globalThis.WebSocket = FakeSocket as unknown as typeof WebSocket;
});
afterEach(() => {
  globalThis.WebSocket = browsers;
});

const connection = (index: number) => until(`connection ${index}`, () => FakeSocket.all[index] ?? null);

test("a connection that was given up and closes late begins no second one beside the next", async () => {
  const states: string[] = [];
  const server = { socketUrl: async () => "ws://server/ws/json" } as unknown as Server;
  const control = new ControlSocket(server, { state: (state) => states.push(state), event: () => {} });
  control.start();
  const stalled = await connection(0);
  stalled.opened();
  (control as unknown as { disconnect(why: string): void }).disconnect("the server does not answer");
  const next = await connection(1);
  stalled.closed();
  next.opened();
  const answer = control.call<string>("list_sessions");
  // Longer than the longest pause before a connection.
  await Bun.sleep(300);
  for (const other of FakeSocket.all.slice(2)) other.opened();
  expect(await answer).toBe("answered");
  expect([FakeSocket.all.length, states]).toEqual([2, ["live", "lost", "live"]]);
  next.closed();
  (await connection(2)).opened();
  expect(await control.call<string>("list_sessions")).toBe("answered");
});
