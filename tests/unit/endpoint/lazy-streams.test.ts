/** The first terminal at a session, for which its process loads code: nothing sent meanwhile is lost or reordered. */
import { expect, test } from "bun:test";
import { LazyStreams } from "../../../src/endpoint/lazy-streams.ts";
import { messageTypes } from "../../../src/protocol/messages.ts";
import { parseTarget } from "../../../src/protocol/names.ts";
import { findSession } from "../../../src/registry/registry.ts";
import { Connection } from "../../../src/wire/connection.ts";
import { attachment, personContext } from "../../support/terminals/attached-peer.ts";
import { Wsh } from "../../support/wsh.ts";

test("keys typed before the terminal is attached reach the program, in order", async () => {
  await using wsh = new Wsh();
  await wsh.session("one");
  const { connection } = await Connection.open(findSession(wsh.instance, parseTarget("one")).socket, "attach");
  const attached = connection.request("peer.attach", attachment, personContext);
  for (const key of "echo $((40+2))\r") connection.sendBytes(messageTypes.input, new TextEncoder().encode(key));
  await attached;
  await wsh.shows("one", /^42$/m);
  connection.close();
});

test("a connection that asks for two streams at once gets one", async () => {
  await using wsh = new Wsh();
  await wsh.session("one");
  const { connection } = await Connection.open(findSession(wsh.instance, parseTarget("one")).socket, "attach");
  const asked = [1, 2].map(() => connection.request("peer.attach", attachment, personContext));
  const answers = await Promise.allSettled(asked);
  expect(answers.map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  connection.close();
});

test("a connection that ends while the code is loaded leaves nothing behind", async () => {
  await using wsh = new Wsh();
  await wsh.session("one");
  const { connection } = await Connection.open(findSession(wsh.instance, parseTarget("one")).socket, "attach");
  connection.request("peer.attach", attachment, personContext).catch(() => {});
  connection.close();
  const [session] = await wsh.list();
  expect(session).toMatchObject({ name: "one", attached: 0, clients: 0 });
});

test("an invalid message meanwhile ends its own connection, and nothing else", async () => {
  await using wsh = new Wsh();
  const { pid } = await wsh.session("one");
  const ended = Promise.withResolvers<void>();
  const { socket } = findSession(wsh.instance, parseTarget("one"));
  const { connection } = await Connection.open(socket, "attach", { close: () => ended.resolve() });
  connection.request("peer.attach", attachment, personContext).catch(() => {});
  connection.send(messageTypes.resize, { rows: "x" });
  await ended.promise;
  expect(await wsh.list()).toMatchObject([{ name: "one", pid, running: true }]);
});

test("requests that wait for the code are processed after those that do not", async () => {
  const code = new LazyStreams(async () => ({ request: async () => ({}) }));
  const order: string[] = [];
  code.deliverInOrder(() => order.push("nothing waits"));
  const requests = [1, 2].map(async (at) => {
    if (code.loaded === null) await code.load();
    order.push(`request ${at}`);
  });
  code.deliverInOrder(() => order.push("frame"));
  await Promise.all(requests);
  await new Promise<void>((served) => code.deliverInOrder(served));
  expect(order).toEqual(["nothing waits", "request 1", "request 2", "frame"]);
  code.deliverInOrder(() => order.push("at once"));
  expect(order.at(-1)).toBe("at once");
});
