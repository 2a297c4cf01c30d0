/** A page's terminal when another process serves its session: that process learns what the page has reported. */
import { expect, test } from "bun:test";
import type { Attach } from "../../../src/protocol/attach.ts";
import { encodeJsonMessage, MessageDecoder, messageJson, messageTypes } from "../../../src/protocol/messages.ts";
import { VERSION } from "../../../src/protocol/version.ts";
import { ViewFeed } from "../../../src/server/sessions/view-feed.ts";
import type { Dial } from "../../../src/wire/connection.ts";
import type { WireEvents } from "../../../src/wire/socket.ts";
import { until } from "../../support/until.ts";

/** A session process that answers every request. */
class FakeProcess implements Dial {
  readonly called = "fake";
  readonly requests: { readonly op: string; readonly input: unknown }[] = [];
  private events: WireEvents | null = null;

  async open(events: WireEvents) {
    this.events = events;
    const decoder = new MessageDecoder();
    queueMicrotask(() => this.send(messageTypes.hello, { wsh: 3, version: VERSION, role: "session" }));
    return {
      write: (bytes: Uint8Array) => {
        for (const message of decoder.push(bytes)) if (message.type === messageTypes.request) this.answer(message);
        return bytes.length;
      },
      pause: () => {},
      resume: () => {},
      rest: () => {},
      end: () => {},
    };
  }

  send(type: Parameters<typeof encodeJsonMessage>[0], value: unknown): void {
    this.events?.data(encodeJsonMessage(type, value));
  }

  crash(): void {
    this.events?.close();
  }

  private answer(message: Parameters<typeof messageJson>[0]): void {
    const { id, op, input } = messageJson(message) as { id: number; op: string; input: unknown };
    this.requests.push({ op, input });
    queueMicrotask(() => this.send(messageTypes.response, { id, result: {} }));
  }
}

test("colours and focus that the page has reported reach the process of the restored session", async () => {
  const [first, second] = [new FakeProcess(), new FakeProcess()];
  const info = { id: "@s1", name: "dev", pane_id: "@1" };
  const find = async () => ({ address: second, info });
  const feed = await ViewFeed.open(
    { find, pane: () => new Promise<never>(() => {}) },
    { address: first, info },
    { rows: 24, cols: 80 } as Attach,
    { caller: { kind: "ws", id: "ws:1", connected: true }, access: "operate" },
    {
      frame: () => {},
      images: () => {},
      keyboard: () => {},
      actionRequested: () => {},
      settings: () => {},
      alert: () => {},
      inputAcknowledged: () => {},
      inputLost: () => {},
      end: () => {},
    },
  );
  const background = { r: 250, g: 250, b: 250 };
  feed.colors({ background });
  feed.focus(true);
  feed.focus(false);
  first.crash();
  await until("the reports", () => second.requests.length >= 3 || null);
  expect(second.requests).toEqual([
    { op: "peer.attach", input: { rows: 24, cols: 80 } },
    { op: "peer.colors", input: { background, kitty: true } },
    { op: "peer.focus", input: { on: false } },
  ]);
  feed.close();
});
