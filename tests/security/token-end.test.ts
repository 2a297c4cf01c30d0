/** Everything that was opened with a token ends with it, within a second, whether it is revoked or expires. */
import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { createToken, revokeToken } from "../../src/secrets/named-tokens.ts";
import { stopProcess } from "../support/processes.ts";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { TestView } from "../support/view.ts";

setDefaultTimeout(60_000);

/** Time within which everything has ended, in ms. */
const SECOND = 1_000;
/** Lifetime of a token that expires, in ms: everything is opened meanwhile. */
const LIFE = 10_000;
const kinds = ["http", "ws", "mcp", "link"] as const;
const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const gateway = sharedGateway({ config: 'agents_may = "everything"\n' });
beforeAll(async () => {
  // The oldest.
  for (const name of ["stopped", "s"]) await gateway.create({ name });
  for (const kind of kinds) await gateway.create({ name: `keys-${kind}`, command: "cat" });
});

async function modeOf(session: string): Promise<string> {
  return (await (await gateway.unix(`/sessions/${session}/input/mode`)).json()).mode;
}

/** Opens one of each. @returns the end of each, and events that may never happen afterwards */
async function openAll(token: string, round: string) {
  const headers = { Authorization: `Bearer ${token}` };
  const file = (name: string): string => join(gateway.dir, `${round}-${name}`);
  const ended = new Map<string, Promise<unknown>>();
  const settled = (asked: Promise<Response>): Promise<unknown> =>
    asked
      .then((response) => response.text())
      .then(
        () => "answered",
        () => "broken off",
      );
  const post = (path: string, json: unknown, extra: Readonly<Record<string, string>> = {}) =>
    gateway.tcp(path, { token, json, headers: extra });
  const held = { any_of: ["exited"], max_wait_ms: 60_000 };

  for (const path of ["/ws/json", "/sessions/s/ws/json", "/sessions/s/ws/raw", "/link/stream?target=s"]) {
    ended.set(path, (await gateway.ws(path, headers)).closed);
  }
  const view = await gateway.ws("/sessions/s/ws/view", headers);
  await TestView.open(view);
  ended.set("a view", view.closed);

  const waits = await gateway.ws("/ws/json", headers);
  waits.call("wait", held, { session: "s" }).catch(() => {});
  ended.set("a socket that waits", waits.closed);
  ended.set("an HTTP wait", settled(post("/sessions/s/wait", held)));
  const link = (op: string, session: string, input: object) =>
    post("/link/call", { op, session, input, caller: { kind: "cli", id: "cli:1" } });
  ended.set("a link's wait", settled(link("wait", "s", held)));
  const id = { "Wsh-Request": `${round}-once` };
  const exec = (name: string) => ({
    steps: [{ command: `until test -e ${file("go")}; do sleep 0.05; done` }, { command: `touch ${file(name)}` }],
  });
  ended.set("an exec with an id", settled(post("/exec", exec("once"), id)));

  const made = await post("/mcp", { jsonrpc: "2.0", id: 0, method: "initialize", params: initialize });
  const mcp = { "Mcp-Session-Id": made.headers.get("mcp-session-id") ?? "" };
  let next = 1;
  const tool = (name: string, args: object, extra: Readonly<Record<string, string>> = mcp, meta = {}) =>
    post(
      "/mcp",
      { jsonrpc: "2.0", id: next++, method: "tools/call", params: { name, arguments: args, ...meta } },
      extra,
    );
  const sse = { ...mcp, Accept: "application/json, text/event-stream" };
  const noSession = { "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call" };
  ended.set("an MCP wait", settled(tool("wsh_wait", { session: "s", ...held })));
  ended.set("an MCP wait as a stream", settled(tool("wsh_wait", { session: "s", ...held }, sse)));
  const stateless = { ...noSession, "Mcp-Name": "wsh_wait" };
  ended.set("a stateless MCP wait", settled(tool("wsh_wait", { session: "s", ...held }, stateless, { _meta: modern })));
  ended.set("an MCP exec", settled(tool("wsh_exec", exec("exec"))));
  const steps = [{ expect: `${round}-go` }, { input: `touch ${file("run")}`, submit: true }];
  ended.set("an MCP run", settled(tool("wsh_run_command", { session: "s", input: "", steps, max_wait_ms: 60_000 })));
  const listen = await gateway.tcp("/mcp", { token, headers: { ...mcp, Accept: "text/event-stream" } });
  expect(listen.status).toBe(200);
  ended.set("an event stream", settled(Promise.resolve(listen)));

  const keys = await gateway.ws("/sessions/keys-ws/ws/json", headers);
  expect((await keys.call("capture_input")).error).toBeUndefined();
  expect((await post("/sessions/keys-http/input/capture", {})).ok).toBe(true);
  expect((await tool("wsh_input_mode", { session: "keys-mcp", mode: "capture" })).ok).toBe(true);
  expect((await link("input.capture", "keys-link", {})).ok).toBe(true);
  for (const kind of kinds) expect([kind, await modeOf(`keys-${kind}`)]).toEqual([kind, "capture"]);

  // Admitted while the session process does not answer, so that it is opened only after the token's end.
  const stopped = gateway.hosts()[0] ?? Number.NaN;
  await stopProcess(stopped);
  const late = (["raw", "json"] as const).map((kind) =>
    settled(gateway.tcp(`/sessions/stopped/ws/${kind}`, { token, headers: upgrade })),
  );
  for (const [index, one] of late.entries()) ended.set(`a late socket ${index}`, one);
  const { ticket } = await (await gateway.tcp("/auth/ws-ticket", { method: "POST", token })).json();
  return { ended, file, ticket, resume: () => process.kill(stopped, "SIGCONT") };
}

const upgrade = {
  Upgrade: "websocket",
  Connection: "Upgrade",
  "Sec-WebSocket-Version": "13",
  "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
};

test.each(["revoked", "expired"])("a token that is %s ends everything that it had open", async (how) => {
  const { instance } = gateway;
  const end = Date.now() + LIFE;
  const expires = how === "expired" ? { expiresAt: end } : {};
  const token = await createToken(instance, { name: how, access: "operate", ...expires });
  const { ended, file, ticket, resume } = await openAll(token, how);
  if (how === "revoked") await revokeToken(instance, how);
  else await Bun.sleep(end - Date.now());
  const late: string[] = [];
  const over = performance.now() + SECOND;
  await Promise.all(
    [...ended].map(async ([name, one]) => {
      const left = Math.max(0, over - performance.now());
      if ((await Promise.race([one.then(() => "ended"), Bun.sleep(left)])) !== "ended") late.push(name);
    }),
  );
  resume();
  expect(late).toEqual([]);
  for (const kind of kinds)
    await until(`the keyboard of ${kind}`, async () => (await modeOf(`keys-${kind}`)) === "passthrough");
  const redeemed = await gateway.tcp(`/ws/json?ticket=${ticket}`, { token: null, headers: upgrade });
  expect(redeemed.status).toBe(401);

  // A request that waited for this may not continue.
  fs.writeFileSync(file("go"), "");
  await gateway.type("s", `echo ${how}-go\r`);
  await gateway.shows("s", `${how}-go\n`);
  await until("no session of exec", async () => !(await gateway.list()).some(({ name }) => name.startsWith("exec-")));
  expect(["once", "exec", "run"].filter((name) => fs.existsSync(file(name)))).toEqual([]);
});
