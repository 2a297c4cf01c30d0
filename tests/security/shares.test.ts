/** A token can use up only its share of each limit, and the account itself still finds room. */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { encodeJsonMessage, messageTypes, PROTOCOL_VERSION } from "../../src/protocol/messages.ts";
import { requireRoom } from "../../src/protocol/shares.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";

setDefaultTimeout(60_000);

const config = ["max_clients = 8", "max_websockets = 8", "max_tickets = 8", "max_waiters = 8"].join("\n");
const upgrade = { Upgrade: "websocket" };
const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };

let guest = "";
let gone: Promise<void>;
const gateway = sharedGateway({ config });
beforeAll(async () => {
  await gateway.create({ name: "s" });
  guest = (await gateway.ok("token", "create", "guest", "--access", "observe", "--session", "s")).trim();
  // That takes a while.
  await gateway.create({ name: "t" });
  const other = (await gateway.ok("token", "create", "other", "--access", "observe", "--session", "t")).trim();
  gone = guestWaits(gateway, "t", other, byMcp);
  gone.catch(() => {});
});

test("one token has at most half of the places, all tokens together three quarters", () => {
  const taken: (string | null)[] = [];
  const take = (share: string | null): boolean => {
    try {
      requireRoom(8, share, taken, "places");
      return taken.push(share) > 0;
    } catch {
      return false;
    }
  };
  const all = (share: string | null): number => Array.from({ length: 10 }, () => take(share)).filter(Boolean).length;
  expect([all("a"), all("b"), all("c"), all(null)]).toEqual([4, 2, 0, 2]);
});

test("of a machine's places by its token, one token there has half again", () => {
  const taken: (string | null)[] = [];
  const take = (share: string | null): number => {
    for (let count = 0; ; count++) {
      try {
        requireRoom(16, share, taken, "places");
        taken.push(share);
      } catch {
        return count;
      }
    }
  };
  expect([take("hub/guest"), take("hub/other"), take("hub/third"), take("hub"), take("else"), take(null)]).toEqual([
    4, 4, 0, 0, 4, 4,
  ]);
});

/** Number of successes until it is refused as one too many, at most `most`. */
async function countOf(most: number, take: () => Promise<number>): Promise<number> {
  for (let count = 0; count < most; count++) if ((await take()) === 429) return count;
  return most;
}

test("tickets", async () => {
  const ticket = (token?: string) => async () =>
    (await gateway.tcp("/auth/ws-ticket", { method: "POST", ...(token === undefined ? {} : { token }) })).status;
  expect(await countOf(8, ticket(guest))).toBe(4);
  expect(await countOf(8, ticket())).toBe(4);
});

test.each(["/ws/json", "/sessions/s/ws/json", "/sessions/s/ws/raw", "/sessions/s/ws/view"])("%s", async (path) => {
  const opened: TestSocket[] = [];
  const open = async (headers: Readonly<Record<string, string>>): Promise<number> => {
    const refused = await gateway.tcp(path, { token: null, headers: { ...headers, ...upgrade } });
    if (refused.status === 429) return 429;
    const socket = await gateway.ws(path, headers);
    opened.push(socket);
    if (!path.endsWith("view")) return 200;
    socket.send({ type: "open", client: crypto.randomUUID(), rows: 24, cols: 80, size: "fit" });
    const { type } = await socket.next("an answer", (message) => ["opened", "error"].includes(message.type));
    return type === "error" ? 429 : 200;
  };
  const bearer = { Authorization: `Bearer ${guest}` };
  expect(await countOf(8, () => open(bearer))).toBe(4);
  expect(await countOf(4, () => open(gateway.bearer))).toBe(4);
  for (const socket of opened) socket.close();
  await until("no clients", async () => (await (await gateway.tcp("/sessions/s")).json()).clients === 0);
});

const waits = { any_of: ["exited"], max_wait_ms: 300_000 };

/** Eight waits of a guest: four continue until they are ended, the account's own still find room. */
async function guestWaits(at: Gateway, place: string, token: string, wait: Wait): Promise<void> {
  const ended = new AbortController();
  let refused = 0;
  for (let count = 0; count < 8; count++) {
    wait(at, place, token, ended.signal).then(
      (text) => text.includes("resource_limit_reached") && refused++,
      () => {},
    );
  }
  await until("four to be refused", () => refused === 4);
  const path = `/sessions/${encodeURIComponent(place)}/wait`;
  const look = { any_of: [{ type: "idle", ms: 1 }], max_wait_ms: 100 };
  expect((await at.tcp(path, { json: look })).status).toBe(200);
  ended.abort();
  await until("the guest's own place to be free", async () => (await at.tcp(path, { json: look, token })).ok);
}
type Wait = (at: Gateway, place: string, token: string, signal: AbortSignal) => Promise<string>;

const byHttp: Wait = async (at, place, token, signal) =>
  (await at.tcp(`/sessions/${encodeURIComponent(place)}/wait`, { json: waits, token, signal })).text();

const byMcp: Wait = async (at, session, token, signal) => {
  const headers = { Accept: "application/json, text/event-stream" };
  const begun = await at.tcp("/mcp", {
    json: { jsonrpc: "2.0", id: 0, method: "initialize", params: initialize },
    token,
    headers,
  });
  const params = { name: "wsh_wait", arguments: { session, ...waits } };
  const json = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const own = { ...headers, "Mcp-Session-Id": begun.headers.get("mcp-session-id") ?? "" };
  return (await at.tcp("/mcp", { json, token, headers: own, signal })).text();
};

test("waits", async () => {
  await guestWaits(gateway, "s", guest, byHttp);
});

test("waits on another machine", async () => {
  await using hub = await Gateway.start();
  await hub.ok("servers", "add", gateway.origin, "--name", "m1", "--token", TOKEN);
  const token = (await hub.ok("token", "create", "guest", "--access", "observe")).trim();
  await guestWaits(hub, "m1/s", token, byHttp);
});

test("MCP sessions: a token's newest ends its own oldest, and nobody else's", async () => {
  const json = { jsonrpc: "2.0", id: 0, method: "initialize", params: initialize };
  const begin = async (token?: string): Promise<string> => {
    const response = await gateway.tcp("/mcp", { json, ...(token === undefined ? {} : { token }) });
    return response.headers.get("mcp-session-id") ?? "";
  };
  const isOpen = async (id: string, token?: string): Promise<boolean> => {
    const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
    const headers = { "Mcp-Session-Id": id };
    return (await gateway.tcp("/mcp", { json: ping, headers, ...(token === undefined ? {} : { token }) })).ok;
  };
  const own = await begin();
  const first = await begin(guest);
  for (let count = 0; count < 128; count++) await begin(guest);
  expect([await isOpen(own), await isOpen(first, guest)]).toEqual([true, false]);
});

test("streams of links", async () => {
  const url = `${gateway.origin.replace(/^http/, "ws")}/link/stream?target=s`;
  const hello = { wsh: PROTOCOL_VERSION, version: "0", role: "cli" };
  const open = async (token: string): Promise<number> => {
    const socket = new TestSocket(url, { Authorization: `Bearer ${token}` });
    const said = await socket.next("an answer", () => true);
    // The session process ends a silent stream before all others are open.
    if (said.error === undefined) socket.socket.send(Buffer.from(encodeJsonMessage(messageTypes.hello, hello)));
    opened.push(socket);
    return said.error === undefined ? 200 : 429;
  };
  const opened: TestSocket[] = [];
  expect(await countOf(1_024, () => open(guest))).toBe(512);
  expect(await open(gateway.bearer.Authorization?.slice("Bearer ".length) ?? "")).toBe(200);
  for (const socket of opened) socket.close();
});

test("waits over MCP whose client is gone", async () => {
  await gone;
});
