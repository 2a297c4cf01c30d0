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
  const way: Transport = { base, open: async () => base, lost() {}, async *examine() {}, close: async () => {} };
  const link = new HttpLink("remote", way);
  const caller = { kind: "cli", id: "test", connected: true } as const;
  await link.call("overlay.clear", {}, { session: "dev", caller });
  const [first, second] = came;
  expect([first?.headers.has(REQUEST_AGE_HEADER), first?.headers.has(REQUEST_FIRST_HEADER)]).toEqual([false, false]);
  const since = (second?.at ?? 0) - (first?.at ?? 0);
  expect(since).toBeGreaterThan(SLOW_MS);
  expect(Number(second?.headers.get(REQUEST_AGE_HEADER))).toBeGreaterThan(since - ROUNDING_MS);
  expect(Number(second?.headers.get(REQUEST_FIRST_HEADER))).toBeLessThan((first?.at ?? 0) + ROUNDING_MS);
});

test("a server that ends while it is asked is replaced by the next one; one that cuts each connection is reported", async () => {
  using ending = Bun.listen({ port: 0, hostname: "127.0.0.1", socket: { data: (socket) => socket.terminate() } });
  await using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(hello()) });
  const at = (port: number | undefined): Base => ({ url: `http://127.0.0.1:${port}`, headers: {} });
  const linkOver = (...bases: Base[]): HttpLink => {
    let base: Base | null = null;
    const open = async (): Promise<Base> => {
      base = bases.shift() ?? at(ending.port);
      return base;
    };
    return new HttpLink("remote", {
      get base() {
        return base;
      },
      open,
      lost() {},
      async *examine() {},
      close: async () => {},
    });
  };
  const link = linkOver(at(ending.port), at(server.port));
  expect((await link.hello()).server_id).toBe("remote");
  expect(link.state.health).toBe("healthy");
  await expect(linkOver().hello()).rejects.toThrow("machine 'remote' does not answer: the connection was cut");
});

function hello(): object {
  return { wsh: PROTOCOL_VERSION, version: VERSION, server_id: "remote", hostname: "remote", now: Date.now() };
}

/** A body that breaks off. */
function broken(): ReadableStream {
  return new ReadableStream({ start: (controller) => controller.error(new Error("the way is cut")) });
}
