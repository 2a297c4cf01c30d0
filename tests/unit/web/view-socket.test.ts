/** A page's view knows whether its input has arrived: until then a hidden page keeps it. */
import { afterEach, expect, test } from "bun:test";
import type { Server } from "../../../src/web/connection/server.ts";
import { ViewSocket } from "../../../src/web/connection/view-socket.ts";

class FakeSocket extends EventTarget {
  static readonly OPEN = 1;
  readyState = 1;
  readonly sent: unknown[] = [];

  send(data: unknown): void {
    this.sent.push(data);
  }

  close(): void {}

  says(message: object): void {
    this.dispatchEvent(new MessageEvent("message", { data: JSON.stringify(message) }));
  }
}

const browsers = globalThis.WebSocket;
afterEach(() => {
  globalThis.WebSocket = browsers;
});

test("input is pending until the session has acknowledged it", async () => {
  const socket = new FakeSocket();
  globalThis.WebSocket = Object.assign(
    function fake() {
      return socket;
    },
    { OPEN: 1 },
  ) as unknown as typeof WebSocket;
  const server = { socketUrl: async () => "ws://server/view" } as unknown as Server;
  const events = { state: () => {}, sessionOpened: () => {}, inputLost: () => {}, inputPending: () => {} };
  const view = new ViewSocket(server, "dev", events as unknown as ConstructorParameters<typeof ViewSocket>[2]);
  view.start(24, 80, "fit");
  await Bun.sleep(0);
  socket.says({ type: "opened", session: "@s1", name: "dev", access: "admin", took: 0, record: "first" });
  expect(view.hasPendingInput).toBe(false);
  expect(view.type(Buffer.from("ls\r"))).toBe(true);
  expect(view.hasPendingInput).toBe(true);
  socket.says({ type: "took", n: 1 });
  expect(view.hasPendingInput).toBe(false);
  view.type(Buffer.from("x"));
  view.close();
  expect(view.hasPendingInput).toBe(false);
});
