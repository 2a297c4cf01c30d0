/** Who reads a person's terminal, where the process that it was lent to is slow, late or refuses. */
import { expect, test } from "bun:test";
import { Lending } from "../../../src/endpoint/attach/lending.ts";
import type { Loan } from "../../../src/endpoint/attach/shown.ts";
import type { LentBack } from "../../../src/protocol/attach.ts";
import { until } from "../../support/until.ts";

const DEVICE = { path: "/dev/pts/0", device: 1, inode: 2, number: 3, pid: 4 };

function lender() {
  const events: string[] = [];
  const loans: { id: number; give(back: LentBack | null): void }[] = [];
  let take: ((bytes: Uint8Array) => void) | null = null;
  const terminal = {
    hasInput: false,
    async read(keys: (bytes: Uint8Array) => void) {
      events.push("reads");
      take = keys;
    },
    stopReading() {
      take = null;
    },
  };
  const shown = {
    lend({ loan: id }: { loan: number }): Loan {
      const { promise, resolve } = Promise.withResolvers<LentBack | null>();
      loans.push({ id, give: resolve });
      events.push("lent");
      return { over: promise, recall: () => events.push("asked back") };
    },
  };
  const lending = new Lending(terminal, DEVICE, shown, {
    keys: (bytes) => events.push(`key ${Buffer.from(bytes)}`),
    ended() {},
    lost() {},
    isPlain: () => true,
    typed() {},
    unknown: () => events.push("unknown"),
  });
  lending.begin();
  /** A key whose echo is the whole picture. */
  const type = (key: string): void => {
    take?.(Buffer.from(key));
    lending.echoed();
  };
  return { lending, terminal, events, loans, type };
}

test("keys that come back are read before those that wait at the terminal, which it then reads again", async () => {
  const { events, loans, type } = lender();
  type("a");
  loans[0]?.give({ keys: [0x1b] });
  await until("the key", () => events.includes("key \x1b"));
  expect(events).toEqual(["reads", "key a", "lent", "reads", "key \x1b"]);
});

test("one that does not answer loses it, and keeps no key: what it writes then is painted over", async () => {
  const { lending, events, loans, type } = lender();
  type("a");
  const [{ id, give } = { id: 0, give() {} }] = loans;
  expect(lending.wrote(id)).toBe("expected");
  expect(lending.wrote(id + 1)).toBeNull();
  lending.recall();
  expect(lending.wrote(id)).toBe("surprise");
  await until("the terminal to be read again", () => events.filter((event) => event === "reads").length === 2);
  expect(lending.isLent).toBe(false);
  expect(lending.wrote(id)).toBe("surprise");
  give({ keys: [0x62] });
  await until("the late key", () => events.includes("key b"));
  expect(events).toEqual(["reads", "key a", "lent", "asked back", "unknown", "reads", "key b"]);
});

test("keys that nobody reads are not left to it", async () => {
  const { terminal, events, type } = lender();
  type("a");
  terminal.hasInput = true;
  await until("it to be asked back", () => events.includes("asked back"));
});

test("one that cannot open it is not asked twice; pictures that are no echo put the next loan off", async () => {
  const { lending, events, loans, type } = lender();
  lending.recall();
  type("a");
  expect(loans).toEqual([]);
  await until("the next loan", () => {
    type("b");
    return loans.length === 1;
  });
  loans[0]?.give({ keys: [], refused: true });
  await until("the terminal to be read again", () => events.at(-1) === "reads");
  type("c");
  expect(loans.length).toBe(1);
});
