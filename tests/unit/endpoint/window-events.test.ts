/** A client that does not read: layout events wait in a queue of fixed length, and the missed ones are counted. */
import { expect, test } from "bun:test";
import { Emitter } from "../../../src/base/emitter.ts";
import { WindowStream } from "../../../src/endpoint/window-stream.ts";
import { MAX_QUEUED_EVENTS } from "../../../src/protocol/events.ts";
import type { LayoutEvent } from "../../../src/protocol/layout-events.ts";
import type { Session } from "../../../src/session/session.ts";
import type { Peer } from "../../../src/wire/peer.ts";

const MISSED = 5;

test("a client that falls behind gets the oldest events, the number of missed ones, and all windows again", () => {
  const events = new Emitter<{ layout: LayoutEvent; exited: object; destroyed: object }>();
  const session = { events, windows: [], openStream: () => () => {} } as unknown as Session;
  const sent: Record<string, unknown>[] = [];
  const outbox = { pending: 0 };
  const peer = {
    outbox,
    send: (_type: number, event: Record<string, unknown>) => sent.push(event),
    onDrain: () => {},
  } as unknown as Peer & { onDrain(): void };
  const open = () => ({ id: "@w1", shown: {}, dispose() {} }) as never;
  const stream = new WindowStream(session, peer, { events: ["layout"] }, open);
  expect(sent).toEqual([{ event: "windows", seq: 0, windows: [] }]);

  outbox.pending = 1;
  sent.length = 0;
  const event = { event: "pane_selected", window_id: "@w1", pane_id: "@1" } as unknown as LayoutEvent;
  for (let n = 0; n < MAX_QUEUED_EVENTS + MISSED; n++) events.emit("layout", event);
  expect(sent).toEqual([]);

  outbox.pending = 0;
  peer.onDrain();
  expect(sent.slice(0, MAX_QUEUED_EVENTS).map(({ seq }) => seq)).toEqual(
    Array.from({ length: MAX_QUEUED_EVENTS }, (_, n) => n + 1),
  );
  expect(sent.slice(MAX_QUEUED_EVENTS)).toEqual([
    { type: "lagged", skipped: MISSED },
    { event: "windows", seq: 0, windows: [] },
  ]);
  stream.close();
});
