/** Events are typed: `tsc` fails when an error expected here does not occur. */
import { expect, test } from "bun:test";
import { Emitter } from "../../../src/base/emitter.ts";
import type { SessionEvents } from "../../../src/session/types.ts";

interface Events {
  counted: number;
  named: { readonly name: string };
}

test("listeners run in order, with the value, until they end; also while one is emitted", () => {
  const events = new Emitter<Events>();
  const seen: string[] = [];
  const end = events.on("counted", (value) => {
    seen.push(`first ${value}`);
    end();
  });
  events.on("counted", (value) => void seen.push(`second ${value}`));
  events.on("named", ({ name }) => void seen.push(name));
  expect([events.count("counted"), events.count("named")]).toEqual([2, 1]);
  events.emit("counted", 1);
  events.emit("counted", 2);
  events.emit("named", { name: "dev" });
  expect(seen).toEqual(["first 1", "second 1", "second 2", "dev"]);
  expect(events.count("counted")).toBe(1);
});

test("an unknown event, or a value of another type, does not compile", () => {
  const events = new Emitter<Events>();
  // @ts-expect-error no such event
  events.emit("connted", 1);
  // @ts-expect-error no such event
  events.on("connted", () => {});
  // @ts-expect-error no such event
  events.count("connted");
  // @ts-expect-error a number is expected
  events.emit("counted", "1");
  // @ts-expect-error a listener gets a number
  events.on("counted", (value: string) => void value);

  const session = new Emitter<SessionEvents>();
  // @ts-expect-error no such event
  session.emit("chnuk", undefined);
  // @ts-expect-error no such event
  session.on("chnuk", () => {});
  expect(events.count("named")).toBe(0);
});
