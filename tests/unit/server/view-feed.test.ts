/** A page's terminal when another process serves its session: that process learns what the page has reported. */
import { expect, test } from "bun:test";
import type { Attach } from "../../../src/protocol/attach.ts";
import { AGAIN_POLL_MS } from "../../../src/protocol/control.ts";
import { encodeJsonMessage, MessageDecoder, messageJson, messageTypes } from "../../../src/protocol/messages.ts";
import { decodeInput } from "../../../src/protocol/numbered-input.ts";
import { VERSION } from "../../../src/protocol/version.ts";
import { ViewFeed } from "../../../src/server/sessions/view-feed.ts";
import type { Dial } from "../../../src/wire/connection.ts";
import type { WireEvents } from "../../../src/wire/socket.ts";
import { until } from "../../support/until.ts";

/** A session process that answers every request. */
class FakeProcess implements Dial {
  readonly called = "fake";
  readonly requests: { readonly op: string; readonly input: unknown }[] = [];
  readonly typed: string[] = [];
  connections = 0;
  /** Whether it crashes at the first request. */
  crashes = false;
  private events: WireEvents | null = null;

  async open(events: WireEvents) {
    this.events = events;
    this.connections++;
    const decoder = new MessageDecoder();
    queueMicrotask(() => this.send(messageTypes.hello, { wsh: 3, version: VERSION, role: "session" }));
    return {
      write: (bytes: Uint8Array) => {
        for (const message of decoder.push(bytes)) {
          if (message.type === messageTypes.request) this.answer(message);
          const input = message.type === messageTypes.input ? decodeInput(message.payload) : null;
          if (input !== null) this.typed.push(`${input.number} ${Buffer.from(input.bytes)}`);
        }
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
    if (this.crashes) {
      queueMicrotask(() => this.crash());
      return;
    }
    queueMicrotask(() => this.send(messageTypes.response, { id, result: {} }));
  }
}

const info = { id: "@s1", name: "dev", pane_id: "@1" };

/** A page's terminal at a process, and the process that serves the session after it. */
async function scene(events: Partial<Parameters<typeof ViewFeed.open>[4]> = {}) {
  const [first, second] = [new FakeProcess(), new FakeProcess()];
  const restored = Promise.withResolvers<void>();
  const find = async () => {
    await restored.promise;
    return { address: second, info };
  };
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
      ...events,
    },
  );
  return { first, second, feed, restored: restored.resolve };
}

test("colours and focus that the page has reported reach the process of the restored session", async () => {
  const { first, second, feed, restored } = await scene();
  restored();
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

test("input typed after a crash reaches the restored session; only that sent before may be lost", async () => {
  const lost: number[] = [];
  const { first, second, feed, restored } = await scene({ inputLost: (n) => lost.push(n) });
  first.send(messageTypes.event, { event: "took", n: 0, record: "first" });
  feed.type({ number: 1, bytes: Buffer.from("sent") });
  expect(first.typed).toEqual(["1 sent"]);
  first.crash();
  feed.type({ number: 2, bytes: Buffer.from("typed meanwhile") });
  restored();
  await until("the new process", () => second.requests.length > 0 || null);
  second.send(messageTypes.event, { event: "took", n: 0, record: "second" });
  await until("the input", () => second.typed.length > 0 || lost.length > 0 || null);
  expect([lost, second.typed]).toEqual([[1], ["2 typed meanwhile"]]);
  feed.close();
});

test("a process that crashes while the page attaches leaves one connection: that of the next process", async () => {
  const { first, second, feed, restored } = await scene();
  second.crashes = true;
  restored();
  first.crash();
  await until("the crash", () => second.requests.length > 0 || null);
  second.crashes = false;
  await until("the next one", () => second.requests.length > 1 || null);
  // Longer than the pause between two attempts.
  await Bun.sleep(3 * AGAIN_POLL_MS);
  expect([second.connections, second.requests.map(({ op }) => op)]).toEqual([2, ["peer.attach", "peer.attach"]]);
  feed.close();
});
