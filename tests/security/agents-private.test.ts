/** What AI agents have open over TCP, with a token and over MCP, delivers nothing more once a session is private. */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { TestView } from "../support/view.ts";

setDefaultTimeout(60_000);

const gateway = sharedGateway({ config: "# agents_may has its default\n" });
let token: string;
beforeAll(async () => {
  await gateway.create({ name: "s" });
  token = (await gateway.ok("token", "create", "looker", "--access", "observe")).trim();
});

test("WebSockets of every kind, waits and subscriptions of an agent end; a person's continue", async () => {
  const agent = { Authorization: `Bearer ${token}`, "Wsh-Agent": "claude" };
  const sockets = async (headers: Readonly<Record<string, string>>) => {
    const paths = ["/sessions/s/ws/json", "/sessions/s/ws/raw", "/sessions/s/ws/view", "/ws/json", "/ws/json"];
    const all = await Promise.all(paths.map((path) => gateway.ws(path, headers)));
    const [own, raw, view, server, windows] = all;
    expect((await own?.call("subscribe", { events: ["lines", "commands"] }))?.error).toBeUndefined();
    const shown = view === undefined ? null : await TestView.open(view);
    expect((await server?.call("subscribe", { events: ["lines"] }, { session: "s" }))?.error).toBeUndefined();
    expect((await windows?.call("subscribe_window", { events: ["frames"] }, { session: "s" }))?.error).toBeUndefined();
    /** Whether each shows a text. */
    const show = (text: string): boolean[] => {
      shown?.update();
      return all.map(({ messages, text: bytes }) => `${JSON.stringify(messages)}${bytes}`.includes(text));
    };
    return { all, ends: [own, raw, view], show };
  };
  const its = await sockets(agent);
  const persons = await sockets(gateway.bearer);
  const held = { any_of: ["exited"], max_wait_ms: 60_000 };
  const post = (path: string, json: unknown, extra: Readonly<Record<string, string>> = {}) =>
    gateway.tcp(path, { token, json, headers: { "Wsh-Agent": "claude", ...extra } });
  const waits = post("/sessions/s/wait", held);
  const clientInfo = { name: "claude", version: "1" };
  const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
  const made = await post("/mcp", { jsonrpc: "2.0", id: 0, method: "initialize", params: initialize });
  const mcp = { "Mcp-Session-Id": made.headers.get("mcp-session-id") ?? "" };
  let next = 1;
  const ask = async (method: string, params: object): Promise<string> =>
    (await post("/mcp", { jsonrpc: "2.0", id: next++, method, params }, mcp)).text();
  const listen = await gateway.tcp("/mcp", { token, headers: { ...mcp, Accept: "text/event-stream" } });
  let updates = "";
  void (async () => {
    for await (const piece of listen.body ?? []) updates += Buffer.from(piece).toString();
  })().catch(() => {});
  const uri = "wsh://sessions/s/screen";
  expect(await ask("resources/subscribe", { uri })).not.toContain("error");
  const byMcp = ask("tools/call", { name: "wsh_wait", arguments: { session: "s", ...held } });
  // The first output may precede the watch.
  await until("an update", async () => {
    await gateway.type("s", " ");
    return updates.includes(uri);
  });
  await gateway.type("s", "\x15echo open-$((40+2))\r");
  for (const { show } of [its, persons]) await until("everybody sees it", () => show("open-42").every(Boolean));
  // A watch that begins after all output tells of its end alone.
  await gateway.shows("s", /^open-42\n\$/m);
  expect(await ask("resources/unsubscribe", { uri })).not.toContain("error");
  const still = "wsh://sessions/s/scrollback";
  expect(await ask("resources/subscribe", { uri: still })).not.toContain("error");

  await gateway.ok("private", "s", "on");
  for (const socket of its.ends) expect(await socket?.closed).toMatchObject({ code: 1008 });
  expect((await waits).status).toBe(403);
  expect(await byMcp).toContain("access_denied");
  await gateway.type("s", "echo hid-$((40+3))\r");
  await until("the person sees it", () => persons.show("hid-43").every(Boolean));
  expect(its.show("hid-43")).toEqual(its.all.map(() => false));
  await until("the subscription has told of its end", () => updates.includes(still));
  const after = updates.length;
  await gateway.type("s", "echo veiled-$((40+4))\r");
  await until("the person sees it", () => persons.show("veiled-44").every(Boolean));
  expect(updates.length).toBe(after);
  // Nobody was asked.
  expect(await (await gateway.unix("/sessions/s/ask")).json()).toEqual([]);
});

test("so they do for a pane in it that another session's process runs, and when such a pane comes to a private session", async () => {
  const agent = { Authorization: `Bearer ${token}`, "Wsh-Agent": "claude" };
  for (const name of ["desk", "safe", "work"]) await gateway.create({ name });
  await gateway.ok("private", "safe", "on");
  const opened = async () => {
    const pane = (await gateway.ok("split", "work", "--", "cat")).trim();
    const all = ["raw", "json"].map((kind) => `/sessions/${encodeURIComponent(pane)}/ws/${kind}`);
    const its = await Promise.all(all.map((path) => gateway.ws(path, agent)));
    expect((await its[1]?.call("subscribe", { events: ["lines"] }))?.error).toBeUndefined();
    const own = await gateway.ws(all[0] ?? "", gateway.bearer);
    return { pane, its, own };
  };
  const [one, other] = [await opened(), await opened()];
  await gateway.ok("pane", "move", one.pane, "--to", "desk");
  await gateway.ok("private", "desk", "on");
  await gateway.ok("pane", "move", other.pane, "--to", "safe");
  for (const { pane, its, own } of [one, other]) {
    for (const socket of its) expect(await socket.closed).toMatchObject({ code: 1008 });
    await gateway.type(pane, "hid-43\r");
    await until("the person sees it", () => own.text.includes("hid-43"));
  }
});
