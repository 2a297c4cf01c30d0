/** Tokens of less access: made and shown once, kept as digests, limited to their access, refused at once after revocation. */
import { beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import { operations } from "../../src/operations/table.ts";
import { accessCovers } from "../../src/protocol/caller.ts";
import { contentOf } from "../support/content-of.ts";
import { sharedGateway } from "../support/shared.ts";
import { until } from "../support/until.ts";

const tokens: Record<"observe" | "operate" | "admin", string> = { observe: "", operate: "", admin: "" };
const gateway = sharedGateway();
beforeAll(async () => {
  await gateway.create({ name: "one" });
  await gateway.create({ name: "two" });
  for (const access of ["observe", "operate", "admin"] as const) {
    tokens[access] = (await gateway.ok("token", "create", `t-${access}`, "--access", access)).trim();
  }
});

describe("wsh token", () => {
  test("shows a new token once and keeps only its digest", async () => {
    const token = (await gateway.ok("token", "create", "once")).trim();
    expect(token).toMatch(/^[A-Za-z0-9]{32}$/);
    const listed = JSON.parse(await gateway.ok("token", "list", "--json"));
    expect(listed.find((one: { name: string }) => one.name === "once")).toMatchObject({ access: "operate" });
    expect(await gateway.ok("token", "list")).toMatch(/^once +token +operate +all/m);
    const state = `${gateway.env.HOME}/.local/state/wsh`;
    for (const name of fs.readdirSync(state, { recursive: true, encoding: "utf8" })) {
      const found = fs.statSync(`${state}/${name}`, { throwIfNoEntry: false });
      // A checkpoint was replaced meanwhile.
      if (found === undefined) continue;
      if (found.isFile()) expect(contentOf(`${state}/${name}`), name).not.toContain(token);
      expect(found.mode & 0o077, name).toBe(0);
    }
    expect(await gateway.log()).not.toContain(token);
  });

  test.each([
    [["create", "once"], "a token 'once' already exists"],
    [["create", "own"], "is reserved"],
    [["create", "no name"], "is not a tag"],
    [["create", "x", "--session", "no name"], "no session 'no name'"],
    [["create", "x", "--session", "no~name"], "is not a session name"],
    [["create", "x", "--session", "nobody"], "no session 'nobody'"],
    [["create", "x", "--access", "root"], "unknown access 'root'"],
    [["create"], "needs the token's name"],
    [["revoke", "nobody"], "no token 'nobody'"],
    [["steal"], "unknown action 'steal'"],
  ])("%j is refused", async (args, message) => {
    const { code, stderr } = await gateway.run("token", ...args);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });
});

describe("each access permits the operations that it covers and no others", () => {
  // Generated from the table: an added operation is tested without a change here.
  for (const { name, access, http } of operations) {
    for (const { method, path } of http) {
      test(`${method} ${path} (${name}) needs ${access}`, async () => {
        for (const held of ["observe", "operate", "admin"] as const) {
          // An unknown target, and an invalid body: the access is checked before either.
          const target = path.replace(":name", "nobody").replace(":id", "1");
          const ends = name === "server.stop" && held === "admin";
          if (ends) continue;
          const json = method === "GET" || method === "DELETE" ? {} : { json: { persistent: "no boolean", name: "?" } };
          const response = await gateway.tcp(target, { method, ...json, token: tokens[held] });
          const body = response.status === 204 ? null : await response.json();
          const denied = body?.error?.code === "access_denied";
          if (accessCovers(held, access)) {
            expect(denied, held).toBe(false);
          } else {
            expect(response.status, held).toBe(403);
            expect(denied, held).toBe(true);
          }
        }
      });
    }
  }

  test("over a WebSocket, every method", async () => {
    const ws = await gateway.ws("/ws/json", { Authorization: `Bearer ${tokens.observe}` });
    for (const { ws: names, access, scope } of operations) {
      for (const method of names) {
        const params = {
          name: "one",
          new_name: "?",
          session: "one",
          persistent: true,
          rows: "x",
          any_of: [],
          id: "none",
        };
        const extra = scope !== "server" ? { session: "one" } : {};
        const answer = await ws.call(method, params, extra);
        expect(answer.error?.code === "access_denied", method).toBe(!accessCovers("observe", access));
      }
    }
    const input = await ws.call("subscribe", { events: ["input"] }, { session: "one" });
    expect(input.error?.code).toBe("access_denied");
    expect((await ws.call("subscribe", { events: ["lines"] }, { session: "one" })).error).toBeUndefined();
  });

  test("an observer's raw WebSocket receives and may not type", async () => {
    const ws = await gateway.ws("/sessions/one/ws/raw?snapshot=1", { Authorization: `Bearer ${tokens.observe}` });
    await ws.wait("the snapshot", () => ws.text.includes("$"));
    ws.socket.send("echo typed\r");
    expect(await ws.closed).toMatchObject({ code: 1008 });
    expect(await gateway.screen("one")).not.toContain("typed");
  });

  test("over MCP, an observer sees no tool that acts", async () => {
    const call = (token: string) =>
      gateway.tcp("/mcp", {
        token,
        json: {
          jsonrpc: "2.0",
          id: 1,
          method: "initialize",
          params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
        },
      });
    const session = (await call(tokens.observe)).headers.get("mcp-session-id") ?? "";
    const list = async (token: string) =>
      gateway.tcp("/mcp", {
        token,
        headers: { "Mcp-Session-Id": session },
        json: { jsonrpc: "2.0", id: 2, method: "tools/list", params: {} },
      });
    const names = (await (await list(tokens.observe)).json()).result.tools.map((tool: { name: string }) => tool.name);
    expect(names).toContain("wsh_get_screen");
    expect(names).not.toContain("wsh_send_input");
    // Another token's MCP session does not exist for it.
    expect((await list(tokens.admin)).status).toBe(404);
  });
});

describe("a token for one session", () => {
  let token = "";
  beforeAll(async () => {
    token = (await gateway.ok("token", "create", "for-one", "--session", "one", "--access", "admin")).trim();
  });
  const code = async (response: Response) => (await response.json()).error?.code;

  test("is bound to the session that has the name now", async () => {
    const { id } = await (await gateway.tcp("/sessions/one", { token })).json();
    const listed = JSON.parse(await gateway.ok("token", "list", "--json"));
    expect(listed.find((one: { name: string }) => one.name === "for-one")).toMatchObject({ session: id });
    expect(await gateway.ok("token", "list")).toContain(`one (${id})`);
  });

  test("grants access to that session, by name and id", async () => {
    const { id } = await (await gateway.tcp("/sessions/one", { token })).json();
    expect((await gateway.tcp(`/sessions/${id}/screen`, { token })).status).toBe(200);
    const ws = await gateway.ws("/ws/json", { Authorization: `Bearer ${token}` });
    for (const session of ["one", id]) {
      expect((await ws.call("subscribe", { events: ["lines"] }, { session })).error, session).toBeUndefined();
    }
  });

  test("treats other sessions like unknown ones", async () => {
    const { id } = await (await gateway.unix("/sessions/two")).json();
    const ws = await gateway.ws("/ws/json", { Authorization: `Bearer ${token}` });
    /** The answer about a target, without its name. */
    const answers = async (target: string): Promise<string[]> => {
      const said: string[] = [];
      for (const path of ["", "/screen", "/ws/json", "/ws/raw"]) {
        const headers = path.includes("/ws/") ? { Upgrade: "websocket" } : {};
        const response = await gateway.tcp(`/sessions/${target}${path}`, { token, headers });
        said.push(`${response.status} ${await response.text()}`);
      }
      const typed = await gateway.tcp(`/sessions/${target}/input`, { method: "POST", body: "x", token });
      said.push(`${typed.status} ${await typed.text()}`);
      said.push(JSON.stringify((await ws.call("subscribe", { events: ["lines"] }, { session: target })).error));
      said.push(JSON.stringify((await ws.call("get_screen", {}, { session: target })).error));
      said.push(JSON.stringify((await ws.call("kill_session", { name: target })).error));
      return said.map((text) => text.replaceAll(target, "TARGET"));
    };
    const ofNobody = await answers("nobody");
    for (const said of ofNobody) expect(said).toContain("session_not_found");
    expect(await answers("two")).toEqual(ofNobody);
    expect(await answers("two:0.0")).toEqual(await answers("nobody:0.0"));
    expect(await answers("two:7")).toEqual(await answers("nobody:7"));
    expect(await answers(id)).toEqual(await answers("@s999"));
    for (const name of ["two", "free"]) {
      const renamed = await gateway.tcp("/sessions/one", { token, method: "PATCH", json: { name } });
      expect(await code(renamed), name).toBe("access_denied");
    }
    for (const path of ["/server/info", "/servers/HOST", "/servers"]) {
      const { hostname } = await (await gateway.tcp("/server/info")).json();
      const info = await (await gateway.tcp(path.replace("HOST", hostname), { token })).json();
      expect((Array.isArray(info) ? info[0] : info).sessions, path).toBe(1);
    }
    expect(await code(await gateway.tcp("/metrics", { token }))).toBe("access_denied");
  });

  test("lists it alone, and makes, stops and waits for nothing else", async () => {
    const listed = await (await gateway.tcp("/sessions", { token })).json();
    expect(listed.map((info: { name: string }) => info.name)).toEqual(["one"]);
    for (const [path, json] of [
      ["/sessions", {}],
      ["/exec", { command: "true" }],
      ["/server/stop", {}],
      ["/server/persist", { persistent: false }],
      ["/wait", { any_of: ["exited"], max_wait_ms: 0 }],
    ] as const) {
      expect(await code(await gateway.tcp(path, { json, token })), path).toBe("access_denied");
    }
  });

  test("receives only its events", async () => {
    const ws = await gateway.ws("/ws/json", { Authorization: `Bearer ${token}` });
    await gateway.unix("/sessions/two", { method: "PATCH", json: { add_tags: ["x"] } });
    await gateway.unix("/sessions/one", { method: "PATCH", json: { add_tags: ["y"] } });
    const event = await ws.next("an event", (message) => message.event !== undefined);
    expect(event).toMatchObject({ event: "session_tags_changed", params: { name: "one" } });
  });

  test("follows it through a rename, and not its name's next owner", async () => {
    const { id } = await gateway.create({ name: "before" });
    const held = (await gateway.ok("token", "create", "follows", "--session", "before")).trim();
    const ws = await gateway.ws("/ws/json", { Authorization: `Bearer ${held}` });
    await ws.call("subscribe", { events: ["lines"], format: "plain" }, { session: "before" });
    await gateway.unix("/sessions/before", { method: "PATCH", json: { name: "after" } });
    await gateway.create({ name: "before" });
    expect(await code(await gateway.tcp("/sessions/before", { token: held }))).toBe("session_not_found");
    expect((await (await gateway.tcp("/sessions/after", { token: held })).json()).id).toBe(id);
    expect((await ws.call("subscribe", { events: ["lines"] }, { session: "before" })).error.code).toBe(
      "session_not_found",
    );
    await gateway.type("after", "echo still-here\r");
    await ws.next("its output", (message) => message.event === "line" && message.line === "still-here");
    await gateway.unix("/sessions/after", { method: "DELETE" });
    await until(
      "its end",
      async () => (await code(await gateway.tcp("/sessions/after", { token: held }))) !== undefined,
    );
    expect(await gateway.ok("token", "list")).toContain(`gone (${id})`);
  });

  test("sees no resource of others", async () => {
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const made = await gateway.tcp("/mcp", { token, json: { jsonrpc: "2.0", id: 0, method: "initialize", params } });
    const headers = { "Mcp-Session-Id": made.headers.get("mcp-session-id") ?? "" };
    const ask = async (uri: string, method: string) => {
      const json = { jsonrpc: "2.0", id: 1, method, params: { uri } };
      return (await gateway.tcp("/mcp", { token, headers, json })).text();
    };
    const uri = (name: string): string => `wsh://sessions/${name}/screen`;
    const listed = await ask("", "resources/list");
    expect([listed.includes(uri("one")), listed.includes("sessions/two")]).toEqual([true, false]);
    for (const method of ["resources/subscribe", "resources/read"]) {
      const said = await ask(uri("two"), method);
      expect(said).toContain("-32602");
      expect(said.replaceAll("two", "X")).toBe((await ask(uri("nobody"), method)).replaceAll("nobody", "X"));
      expect(await ask(uri("one"), method)).toContain('"result"');
    }
  });
});

describe("revocation", () => {
  test("ends at once everything that the token opened, and could open", async () => {
    const token = (await gateway.ok("token", "create", "brief", "--access", "admin")).trim();
    const headers = { Authorization: `Bearer ${token}` };
    const sockets = [await gateway.ws("/ws/json", headers), await gateway.ws("/sessions/one/ws/raw", headers)];
    const { ticket } = await (await gateway.tcp("/auth/ws-ticket", { method: "POST", token })).json();
    const initialize = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } };
    const made = await gateway.tcp("/mcp", {
      token,
      json: { jsonrpc: "2.0", id: 1, method: "initialize", params: initialize },
    });
    const stream = await gateway.tcp("/mcp", {
      token,
      headers: { Accept: "text/event-stream", "Mcp-Session-Id": made.headers.get("mcp-session-id") ?? "" },
    });
    expect(stream.status).toBe(200);
    const heard = stream.text().catch(() => "broken off");
    const waiting = gateway.tcp("/sessions/one/wait", { token, json: { any_of: ["exited"], max_wait_ms: 60_000 } });
    await until("the wait to begin", async () => (await gateway.tcp("/sessions/one", { token })).status === 200);
    await gateway.ok("token", "revoke", "brief");
    for (const ws of sockets) expect(await ws.closed).toMatchObject({ code: 1008, reason: "token revoked" });
    expect((await waiting).status).toBe(403);
    await heard;
    expect((await gateway.tcp("/sessions", { token })).status).toBe(403);
    expect(
      (await gateway.tcp(`/ws/json?ticket=${ticket}`, { token: null, headers: { Upgrade: "websocket" } })).status,
    ).toBe(401);
    expect((await gateway.tcp("/sessions", { token: tokens.observe })).status).toBe(200);
  });

  test("a later token of its name gets no answer of the first one", async () => {
    const { dir } = gateway;
    const named = async (access: string): Promise<string> =>
      (await gateway.ok("token", "create", "bob", "--access", access)).trim();
    const ask = async (token: string, path: string, body: object) => {
      const headers = { "Wsh-Request": "the-same" };
      const response = await gateway.tcp(path, { token, json: body, headers });
      return (await response.json()).error?.code ?? "done";
    };
    const command = `echo >> ${dir}/times`;
    const link = { op: "exec.fresh", input: { command }, caller: { kind: "cli", id: "cli:1" } };
    for (const [times, access] of [
      [2, "operate"],
      [2, "observe"],
      [4, "operate"],
    ] as const) {
      const token = await named(access);
      const expected = access === "operate" ? "done" : "access_denied";
      expect(await ask(token, "/exec", { command })).toBe(expected);
      expect(await ask(token, "/exec", { command })).toBe(expected);
      expect(await ask(token, "/link/call", link)).toBe(expected);
      expect(fs.readFileSync(`${dir}/times`, "utf8").length).toBe(times);
      await gateway.ok("token", "revoke", "bob");
    }
  });

  test("a file that others can read grants nothing", async () => {
    const path = `${gateway.env.HOME}/.local/state/wsh/t.tokens.json`;
    fs.chmodSync(path, 0o644);
    expect((await gateway.tcp("/sessions", { token: tokens.admin })).status).toBe(403);
    expect((await gateway.tcp("/sessions")).status).toBe(200);
    fs.chmodSync(path, 0o600);
    expect((await gateway.tcp("/sessions", { token: tokens.admin })).status).toBe(200);
  });
});
