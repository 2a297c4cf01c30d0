/** Input on its way to a terminal that accepts it in pieces, late, or not at all. */
import { expect, test } from "bun:test";
import { INPUT_LIMIT_BYTES, InputQueue } from "../../../src/pty/input-queue.ts";
import { manualClock } from "../../support/manual-clock.ts";

/** A terminal with room for so many bytes; `room` may be changed, -1 is a terminal that is gone. */
function terminal(room: number) {
  const state = { room, text: "" };
  const offer = (bytes: Uint8Array) => {
    if (state.room < 0) return -1;
    const taken = bytes.subarray(0, state.room);
    state.room -= taken.length;
    state.text += new TextDecoder().decode(taken);
    return taken.length;
  };
  return { state, offer };
}

const bytes = (text: string) => new TextEncoder().encode(text);
const refused = { code: "input_send_failed" };

test("input that fits is accepted at once, and the promise is resolved", async () => {
  const { state, offer } = terminal(10);
  await new InputQueue(offer).write(bytes("abc"));
  expect(state.text).toBe("abc");
});

test("pieces continue in the order of the calls, and each promise resolves when its own bytes are accepted", async () => {
  const { state, offer } = terminal(4);
  const queue = new InputQueue(offer);
  const done: string[] = [];
  const writes = ["abcdef", "", "gh", "ijklm"].map((text) => queue.write(bytes(text)).then(() => done.push(text)));
  expect(queue.pendingBytes).toBe(9);
  state.room = 5;
  queue.retryNow();
  await writes[2];
  expect(done).toEqual(["abcdef", "", "gh"]);
  expect(state.text).toBe("abcdefghi");
  state.room = 100;
  await Promise.all(writes);
  expect(state.text).toBe("abcdefghijklm");
  expect(queue.pendingBytes).toBe(0);
});

test("the caller may use its buffer again", async () => {
  const { state, offer } = terminal(1);
  const queue = new InputQueue(offer);
  const buffer = Buffer.from("xyz");
  const write = queue.write(buffer);
  buffer.fill("!");
  state.room = 10;
  await write;
  expect(state.text).toBe("xyz");
});

test("a terminal that accepts nothing fails every writer, and a later one starts afresh", async () => {
  const { state, offer } = terminal(1);
  const queue = new InputQueue(offer, 40);
  const writes = await Promise.allSettled([queue.write(bytes("abc")), queue.write(bytes("def"))]);
  expect(writes).toEqual([
    { status: "rejected", reason: expect.objectContaining(refused) },
    { status: "rejected", reason: expect.objectContaining(refused) },
  ]);
  expect(queue.pendingBytes).toBe(0);
  state.room = 10;
  await queue.write(bytes("later"));
  expect(state.text).toBe("alater");
});

test("a terminal that accepts a byte from time to time does not fail", async () => {
  const { state, offer } = terminal(0);
  const clock = manualClock();
  const queue = new InputQueue(offer, 60, undefined, clock);
  const text = "slow but steady";
  const write = queue.write(bytes(text));
  for (const _ of text) {
    state.room += 1;
    // Twice: the longest pause before the next offer is longer than one of these.
    clock.pass(20);
    clock.pass(20);
  }
  await write;
  expect(state.text).toBe(text);
});

test("the queue has a limit, and input over it is refused completely", async () => {
  const { offer } = terminal(0);
  const queue = new InputQueue(offer);
  const first = queue.write(new Uint8Array(INPUT_LIMIT_BYTES));
  await expect(queue.write(bytes("x"))).rejects.toMatchObject(refused);
  expect(queue.pendingBytes).toBe(INPUT_LIMIT_BYTES);
  queue.close("the terminal is closed");
  await expect(first).rejects.toMatchObject(refused);
  await expect(queue.write(bytes("x"))).rejects.toMatchObject(refused);
  expect(queue.pendingBytes).toBe(0);
});

test("a closed terminal fails pending input", async () => {
  const { state, offer } = terminal(0);
  const queue = new InputQueue(offer);
  const write = queue.write(bytes("abc"));
  state.room = -1;
  queue.retryNow();
  await expect(write).rejects.toMatchObject(refused);
  await expect(queue.write(bytes("x"))).rejects.toMatchObject(refused);
});
