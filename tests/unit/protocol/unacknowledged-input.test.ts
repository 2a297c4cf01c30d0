/** Input across connections: sent again until it is acknowledged, never typed twice. */
import { expect, test } from "bun:test";
import { MAX_WAITING, UnacknowledgedInput } from "../../../src/protocol/unacknowledged-input.ts";

const bytes = new Uint8Array(1);
const numbers = (pieces: readonly { readonly number: number }[]): number[] => pieces.map(({ number }) => number);

/** Four pieces, of which three were sent to a session with this record. */
function sent(record?: string): UnacknowledgedInput<object> {
  const input = new UnacknowledgedInput<object>();
  if (record !== undefined) input.opened({ took: 0, record });
  for (let count = 0; count < 4; count++) expect(input.add(bytes, {})).toBe(true);
  input.sent = 3;
  return input;
}

test("acknowledged pieces go, also by a new connection; the others wait", () => {
  const input = sent("first");
  expect(numbers(input.took({ n: 1 }))).toEqual([1]);
  const { taken, lost } = input.opened({ took: 2, record: "first" });
  expect([numbers(taken), numbers(lost), numbers(input.waiting)]).toEqual([[2], [], [3, 4]]);
});

test("a session with another record does not know sent pieces; unsent ones are typed", () => {
  const input = sent("first");
  const { taken, lost } = input.opened({ took: 1, record: "second" });
  expect([numbers(taken), numbers(lost), numbers(input.waiting)]).toEqual([[1], [2, 3], [4]]);
  const other = sent("first");
  expect(numbers(other.lost({ type: "lost", n: 2, record: "second" }))).toEqual([1, 2]);
  expect(numbers(other.opened({ took: 2, record: "second" }).lost)).toEqual([]);
});

test("a session without a record, of another version, loses nothing", () => {
  const input = sent();
  expect(numbers(input.opened({ took: 0 }).lost)).toEqual([]);
  expect(numbers(input.opened({ took: 0, record: "first" }).lost)).toEqual([]);
  expect(numbers(input.waiting)).toEqual([1, 2, 3, 4]);
});

test("unsent input can be dropped, and its numbers are used again; too much is refused", () => {
  const input = sent("first");
  input.dropUnsent();
  expect(input.add(bytes, {})).toBe(true);
  expect(numbers(input.waiting)).toEqual([1, 2, 3, 4]);
  expect(input.add(new Uint8Array(MAX_WAITING), {})).toBe(false);
});

test("an acknowledgement names a restored session's record: input sent to it since is sent again", () => {
  const input = sent("first");
  expect(numbers(input.took({ n: 3, record: "second" }))).toEqual([1, 2, 3]);
  input.sent = 4;
  const { lost } = input.opened({ took: 3, record: "second" });
  expect([numbers(lost), numbers(input.waiting)]).toEqual([[], [4]]);
});
