/** A request to another machine whose connection was lost is repeated with its true age, however long that takes. */
import { expect, test } from "bun:test";
import { HttpLink } from "../../../src/cluster/http-link.ts";
import type { Base, Transport } from "../../../src/cluster/transport.ts";
import { PROTOCOL_VERSION } from "../../../src/protocol/messages.ts";
import { REQUEST_AGE_HEADER, REQUEST_FIRST_HEADER } from "../../../src/protocol/requests.ts";
import { VERSION } from "../../../src/protocol/version.ts";

/** Time that the machine takes to identify itself after the connection was lost, in ms. */
const SLOW_MS = 1_500;
/** Rounding of two clocks of one machine, in ms. */
const ROUNDING_MS = 20;

test("a repeated request has the time of its first sending, not of the last connection attempt", async () => {
  const came: { readonly at: number; readonly headers: Headers }[] = [];
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch(request) {
      if (new URL(request.url).pathname !== "/link/call") {
        if (came.length > 0) await Bun.sleep(SLOW_MS);
        return Response.json(hello());
      }
      came.push({ at: Date.now(), headers: request.headers });
      return came.length > 1 ? Response.json({ result: {} }) : new Response(broken());
    },
  });
  const base: Base = { url: `http://127.0.0.1:${server.port}`, headers: {} };
  const way: Transport = {
    base,
    open: async () => base,
    connectionLost() {},
    async *examine() {},
    close: async () => {},
  };
  const link = new HttpLink("remote", way);
  const caller = { kind: "cli", id: "test", connected: true } as const;
  await link.call("overlay.clear", {}, { session: "dev", caller });
  const [first, second] = came;
  expect([first?.headers.has(REQUEST_AGE_HEADER), first?.headers.has(REQUEST_FIRST_HEADER)]).toEqual([false, false]);
  const since = (second?.at ?? 0) - (first?.at ?? 0);
  expect(since).toBeGreaterThan(SLOW_MS);
  expect(Number(second?.headers.get(REQUEST_AGE_HEADER))).toBeGreaterThan(SLOW_MS - ROUNDING_MS);
  expect(Number(second?.headers.get(REQUEST_FIRST_HEADER))).toBeLessThan((first?.at ?? 0) + ROUNDING_MS);
});

test("a server that ends while it is asked is replaced by the next one; one that cuts each connection is reported", async () => {
  using ending = Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data: (socket) => socket.terminate() } });
  await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(hello()) });
  const link = linkOver(...Array<Base>(5).fill(at(ending.port)), at(server.port));
  expect((await link.hello()).server_id).toBe("remote");
  expect(link.state.health).toBe("healthy");
  await expect(linkOver(at(ending.port)).hello()).rejects.toThrow(
    "machine 'remote' does not answer: the connection was cut",
  );
});

test("a stream to a server that has been replaced is opened at the next one", async () => {
  const replaced = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(hello()) });
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request, gateway) => (gateway.upgrade(request) ? undefined : Response.json(hello())),
    websocket: { open: (socket) => void socket.send(JSON.stringify({ open: true })), message() {} },
  });
  const link = linkOver(at(replaced.port), at(server.port));
  await link.hello();
  await replaced.stop(true);
  const events = { data() {}, drain() {}, close() {} };
  const carrier = await link.dial("dev").open(events);
  carrier.end();
  await link.close();
});

test("an answer without an end is given up", async () => {
  const piece = new Uint8Array(1024 * 1024).fill(32);
  await using server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: (request) =>
      new URL(request.url).pathname === "/link/call"
        ? new Response(new ReadableStream({ pull: (controller) => controller.enqueue(piece) }))
        : Response.json(hello()),
  });
  const caller = { kind: "cli", id: "test", connected: true } as const;
  const call = linkOver(at(server.port)).call("overlay.clear", {}, { session: "dev", caller });
  await expect(call).rejects.toThrow(/the answer exceeds \d+ bytes/);
});

function at(port: number | undefined): Base {
  return { url: `http://127.0.0.1:${port}`, headers: {} };
}

/** A link whose transport opens these, one after the other. */
function linkOver(...bases: Base[]): HttpLink {
  let base: Base | null = null;
  return new HttpLink("remote", {
    get base() {
      return base;
    },
    async open() {
      base = bases.shift() ?? base;
      if (base === null) throw new Error("no base");
      return base;
    },
    connectionLost() {},
    async *examine() {},
    close: async () => {},
  });
}

function hello(): object {
  return { wsh: PROTOCOL_VERSION, version: VERSION, server_id: "remote", hostname: "remote", now: Date.now() };
}

/** A body that breaks off. */
function broken(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.error(new Error("the way is cut")) });
}
