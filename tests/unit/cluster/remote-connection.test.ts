/** A connection to another machine that is lost or silent during set-up: it is made again, and the fault is named. */
import { expect, test } from "bun:test";
import { openRemote } from "../../../src/cluster/remote-connection.ts";
import { WshError } from "../../../src/protocol/errors.ts";
import { encodeJsonMessage, messageTypes, PROTOCOL_VERSION } from "../../../src/protocol/messages.ts";
import { VERSION } from "../../../src/protocol/version.ts";
import type { Dial } from "../../../src/wire/connection.ts";
import type { WireEvents } from "../../../src/wire/socket.ts";

type Way = (events: WireEvents) => void;
const hello = encodeJsonMessage(messageTypes.hello, { wsh: PROTOCOL_VERSION, version: VERSION, role: "session" });
const answers: Way = ({ data }) => data(hello);
const isCut: Way = ({ close }) => close(true);
const ends: Way = ({ close }) => close(false);
const silent: Way = () => {};

/** Each opening uses the next connection; the last one stays. */
function waysOf(...ways: readonly Way[]): Dial & { opened(): number } {
  let opened = 0;
  return {
    called: "m1/dev",
    opened: () => opened,
    async open(events) {
      const way = ways[Math.min(opened++, ways.length - 1)];
      setTimeout(() => way?.(events));
      return { write: (bytes) => bytes.length, pause() {}, resume() {}, rest() {}, end() {} };
    },
  };
}

const there = { hello: async () => ({}) as never };
const away = {
  hello: async (): Promise<never> => {
    throw new WshError("machine_unreachable", "machine 'm1' does not answer");
  },
};

test("a connection lost before the process has answered is made again", async () => {
  const dial = waysOf(isCut, answers);
  expect((await openRemote(there, dial)).hello.role).toBe("session");
  expect(dial.opened()).toBe(2);
});

test("a process that has ended is not waited for", async () => {
  const dial = waysOf(ends);
  expect(await openRemote(there, dial).catch(({ code }) => code)).toBe("session_not_found");
  expect(dial.opened()).toBe(1);
});

test("on a silent connection the machine is queried: it, and not its process, does not answer", async () => {
  const dial = waysOf(silent, answers);
  expect((await openRemote(away, dial)).hello.role).toBe("session");
  expect(dial.opened()).toBe(2);
}, 30_000);
