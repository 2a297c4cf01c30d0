/** Framing of session sockets: data arrives unchanged in any pieces, and invalid frames are refused. */
import { expect, test } from "bun:test";
import {
  encodeJsonMessage,
  encodeMessage,
  MAX_MESSAGE_BYTES,
  MessageDecoder,
  messageJson,
  messageTypes,
} from "../../../src/protocol/messages.ts";
import { Outbox } from "../../../src/wire/outbox.ts";

const hello = encodeJsonMessage(messageTypes.hello, { wsh: 1, text: "żółw" });
const output = encodeMessage(messageTypes.output, new Uint8Array([0, 255, 128]));
const stream = new Uint8Array(Buffer.concat([hello, output, encodeMessage(messageTypes.end, new Uint8Array())]));

test("frames split at every byte arrive complete and in order", () => {
  for (let at = 0; at <= stream.length; at++) {
    const decoder = new MessageDecoder();
    const frames = [...decoder.push(stream.subarray(0, at)), ...decoder.push(stream.subarray(at))];
    expect(frames.map((frame) => frame.type)).toEqual([messageTypes.hello, messageTypes.output, messageTypes.end]);
    expect(frames[0] && messageJson(frames[0])).toEqual({ wsh: 1, text: "żółw" });
    expect([...(frames[1]?.payload ?? [])]).toEqual([0, 255, 128]);
  }
});

test("frames written byte by byte arrive complete", () => {
  const decoder = new MessageDecoder();
  const frames = [...stream].flatMap((byte) => decoder.push(new Uint8Array([byte])));
  expect(frames).toHaveLength(3);
});

test("an unknown type is refused", () => {
  expect(() => new MessageDecoder().push(new Uint8Array([0x7f, 0, 0, 0, 0]))).toThrow("unknown message type 127");
});

test("a length over the limit is refused before its payload is waited for", () => {
  const header = new Uint8Array(5);
  header[0] = messageTypes.output;
  new DataView(header.buffer).setUint32(1, MAX_MESSAGE_BYTES + 1);
  expect(() => new MessageDecoder().push(header)).toThrow("exceeds the limit");
});

test("a control frame that is not JSON is an error with a code", () => {
  const [frame] = new MessageDecoder().push(encodeMessage(messageTypes.request, new Uint8Array([123])));
  expect(() => frame && messageJson(frame)).toThrow(expect.objectContaining({ code: "invalid_request" }));
});

test("an outbox keeps the data that the socket did not accept, in order", () => {
  const taken: number[] = [];
  let room = 3;
  const outbox = new Outbox((bytes) => {
    const some = bytes.subarray(0, room);
    taken.push(...some);
    room -= some.length;
    return some.length;
  });
  outbox.write(new Uint8Array([1, 2]));
  outbox.write(new Uint8Array([3, 4]));
  outbox.write(new Uint8Array([5]));
  expect(outbox.pending).toBe(2);
  room = 1;
  expect(outbox.drain()).toBe(false);
  room = 10;
  expect(outbox.drain()).toBe(true);
  expect(taken).toEqual([1, 2, 3, 4, 5]);
});
