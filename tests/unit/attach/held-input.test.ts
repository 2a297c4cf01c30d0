/** Keys that a person presses while their terminal goes from one session process to the next. */
import { expect, test } from "bun:test";
import { HeldInput } from "../../../src/attach/held-input.ts";

function scene() {
  const sent: string[] = [];
  const input = new HeldInput({
    type: (bytes) => void sent.push(Buffer.from(bytes).toString()),
    press: ({ table, key }) => void sent.push(`${table} ${key}`),
  });
  const type = (text: string): void => input.type(Buffer.from(text));
  const press = (key: string): void => input.press({ table: "prefix", key, bytes: [] });
  return { sent, input, type, press };
}

test("text and keys of tables reach the next session process in the order typed, after earlier input", () => {
  const { sent, input, type, press } = scene();
  type("a");
  press("c");
  input.hold();
  type("b");
  press("n");
  type("d");
  expect(sent).toEqual(["a", "prefix c"]);
  input.deliver([{ table: "prefix", key: "p", bytes: [] }, { bytes: [0x78] }]);
  type("e");
  expect(sent).toEqual(["a", "prefix c", "prefix p", "x", "b", "prefix n", "d", "e"]);
});

test("after a lost connection nothing is typed that was meant for it", () => {
  const { sent, input, type, press } = scene();
  input.hold();
  type("b");
  press("n");
  input.drop();
  press("c");
  type("a");
  expect(sent).toEqual(["prefix c", "a"]);
});
