/** Refusals: other pages, other host names, other users, excessive requests; and the records of callers. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash, createHmac } from "node:crypto";
import fs from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { operations } from "../../src/operations/table.ts";
import { RateLimit } from "../../src/server/auth/rate-limit.ts";
import { Tickets } from "../../src/server/auth/tickets.ts";
import { Gateway, TOKEN } from "../support/server.ts";
import { Person } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";

const others = ["/auth/ws-ticket", "/mcp", "/openapi.json", "/docs", "/metrics", "/ws/json", "/sessions/s/ws/raw"];
const routes = [
  ...operations.flatMap(({ http }) =>
    http.map(({ method, path }) => [method, path.replace(":name", "s").replace(":id", "1")] as const),
  ),
  ...others.flatMap((path) =>
    (["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const).map((method) => [method, path] as const),
  ),
];

/** A request with exactly these headers: fetch does not permit a forged Host. */
function raw(
  origin: string,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const { hostname, port } = new URL(origin);
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>();
  const socket = net.connect({ host: hostname, port: Number(port) });
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes.toString();
    if (text.includes("\r\n\r\n")) socket.end();
  });
  socket.on("close", () => resolve({ status: Number(text.slice(9, 12)), text }));
  socket.on("error", reject);
  const lines = Object.entries({ Connection: "close", "Content-Length": "0", ...headers });
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
  return promise;
}

describe("other pages and other host names", () => {
  let gateway: Gateway;
  let host = "";
  beforeAll(async () => {
    gateway = await Gateway.start({ auth: false });
    host = new URL(gateway.origin).host;
    await gateway.create({ name: "s" });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });

  test.each([
    ["another name for this address", { Host: "evil.example:8080" }, "host_not_allowed"],
    ["no name", { Host: "" }, "host_not_allowed"],
    ["a page elsewhere", { Origin: "https://evil.example" }, "origin_not_allowed"],
    ["a page on another port here", { Origin: "http://127.0.0.1:1" }, "origin_not_allowed"],
    ["a page from a file", { Origin: "null" }, "origin_not_allowed"],
    ["a request that a browser marks cross-site", { "Sec-Fetch-Site": "cross-site" }, "origin_not_allowed"],
    ["a request that a browser marks same-site", { "Sec-Fetch-Site": "same-site" }, "origin_not_allowed"],
  ] as const)("%s is refused on every route and method", async (_, headers, code) => {
    const answers = await Promise.all(
      routes.map(([method, path]) => raw(gateway.origin, method, path, { Host: host, ...headers })),
    );
    for (const [index, { status, text }] of answers.entries()) {
      const where = routes[index]?.join(" ");
      // HTTP itself requires one Host.
      if ("Host" in headers && headers.Host === "" && status === 400) continue;
      expect(status, where).toBe(403);
      expect(text, where).toContain(code);
      expect(text, where).not.toMatch(/access-control-allow/i);
    }
    expect((await gateway.unix("/sessions")).status).toBe(200);
  });

  test.each([
    ["this server's own page", (own: string) => ({ Host: own, Origin: `http://${own}` })],
    ["the same behind TLS", (own: string) => ({ Host: own, Origin: `https://${own}` })],
    ["a forwarded port", () => ({ Host: "localhost:9999", Origin: "http://localhost:9999" })],
    ["a program without an origin", (own: string) => ({ Host: own })],
    ["an address that the person typed", (own: string) => ({ Host: own, "Sec-Fetch-Site": "none" })],
  ] as const)("%s is let in", async (_, headers) => {
    expect((await raw(gateway.origin, "GET", "/sessions", headers(host))).status).toBe(200);
  });

  test("a form of another page posts nothing, with any type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"]) {
      const form = { Host: host, Origin: "https://evil.example", "Content-Type": type };
      expect((await raw(gateway.origin, "POST", "/sessions/s/input", form)).status).toBe(403);
      // Without an origin JSON endpoints refuse such a type, too.
      const response = await gateway.tcp("/sessions", {
        method: "POST",
        body: "{}",
        headers: { "Content-Type": type },
      });
      expect(response.status).toBe(415);
    }
  });

  test("every answer has the security headers, including errors", async () => {
    for (const path of ["/health", "/sessions", "/nothing", "/sessions/nobody", "/docs"]) {
      const { headers } = await gateway.tcp(path);
      expect(headers.get("x-frame-options"), path).toBe("DENY");
      expect(headers.get("x-content-type-options"), path).toBe("nosniff");
      expect(headers.get("referrer-policy"), path).toBe("no-referrer");
      expect(headers.get("permissions-policy"), path).toContain("geolocation=()");
      expect(headers.get("content-security-policy"), path).toContain("frame-ancestors 'none'");
    }
  });
});

describe("allowed origins", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start({ args: ["--cors-origin", "https://app.example", "--base-prefix", "/p"] });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });

  test("may send preflights, call, and read; others may not", async () => {
    const preflight = (origin: string) =>
      gateway.tcp("/p/mcp", {
        method: "OPTIONS",
        token: null,
        headers: {
          Origin: origin,
          "Access-Control-Request-Method": "POST",
          "Access-Control-Request-Headers": "authorization,content-type,mcp-session-id",
        },
      });
    const allowed = await preflight("https://app.example");
    expect(allowed.status).toBe(204);
    expect(allowed.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(allowed.headers.get("access-control-allow-methods")).toContain("PATCH");
    expect(allowed.headers.get("access-control-allow-headers")?.toLowerCase()).toContain("mcp-session-id");
    expect((await preflight("https://evil.example")).headers.get("access-control-allow-origin")).toBeNull();

    const get = (origin: string, token: string | null = TOKEN) =>
      gateway.tcp("/p/sessions", { token, headers: { Origin: origin, "Sec-Fetch-Site": "cross-site" } });
    const answer = await get("https://app.example");
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(answer.headers.get("access-control-expose-headers")?.toLowerCase()).toContain("mcp-session-id");
    expect((await get("https://app.example", null)).status).toBe(401);
    const refused = await get("https://evil.example");
    expect(refused.status).toBe(403);
    expect(refused.headers.get("access-control-allow-origin")).toBeNull();
  });

  test("the prefix moves everything but /health", async () => {
    expect((await gateway.tcp("/health", { token: null })).status).toBe(200);
    expect((await gateway.tcp("/p/health", { token: null })).status).toBe(200);
    expect((await gateway.tcp("/sessions")).status).toBe(404);
    const { ticket } = await (await gateway.tcp("/p/auth/ws-ticket", { method: "POST" })).json();
    const ws = await gateway.ws(`/p/ws/json?ticket=${ticket}`, {});
    expect((await ws.call("list_sessions")).result).toEqual([]);
  });
});

describe("tokens over TCP", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start();
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const code = async (response: Response) => ((await response.json()) as { error: { code: string } }).error.code;

  test("every route requires one, except /health", async () => {
    const own = { Host: new URL(gateway.origin).host };
    const answers = await Promise.all(routes.map(([method, path]) => raw(gateway.origin, method, path, own)));
    for (const [index, { status }] of answers.entries()) expect(status, routes[index]?.join(" ")).toBe(401);
    expect((await gateway.tcp("/health", { token: null })).status).toBe(200);
  });

  test("a wrong one differs from a missing one, and none is read from the URL", async () => {
    const refused = await gateway.tcp("/sessions", { token: null });
    expect(refused.headers.get("www-authenticate")).toBe("Bearer");
    expect(await code(refused)).toBe("auth_required");
    expect(await code(await gateway.tcp("/sessions", { token: "wrong" }))).toBe("auth_invalid");
    expect(await code(await gateway.tcp(`/sessions?token=${TOKEN}`, { token: null }))).toBe("auth_required");
    const basic = { Authorization: `Basic ${btoa(`x:${TOKEN}`)}` };
    expect(await code(await gateway.tcp("/sessions", { token: null, headers: basic }))).toBe("auth_required");
  });

  test("a ticket opens one WebSocket and nothing else", async () => {
    const issue = async (): Promise<string> =>
      (await (await gateway.tcp("/auth/ws-ticket", { method: "POST" })).json()).ticket;
    const ticket = await issue();
    expect(ticket).toMatch(/^[A-Za-z0-9]{32}$/);
    expect((await gateway.tcp(`/sessions?ticket=${ticket}`, { token: null })).status).toBe(401);
    const ws = await gateway.ws(`/ws/json?ticket=${ticket}`, {});
    expect((await ws.call("server_info")).error).toBeUndefined();
    const upgrade = { Upgrade: "websocket" };
    expect((await gateway.tcp(`/ws/json?ticket=${ticket}`, { token: null, headers: upgrade })).status).toBe(401);
    // A token that is sent decides, right or wrong, whatever the ticket is.
    const wrong = await gateway.tcp(`/ws/json?ticket=${await issue()}`, { token: "wrong", headers: upgrade });
    expect(wrong.status).toBe(403);
  });

  test("tickets are limited in time and in number", () => {
    let now = 0;
    const tickets = new Tickets(2, () => now);
    const admitted = { ok: true, access: "observe", tokenName: "x", tokenId: "x", endSignal: null } as const;
    const [first] = [tickets.issue(admitted, null), tickets.issue(admitted, null)];
    expect(() => tickets.issue(admitted, null)).toThrow("2 tickets");
    now = 30_000;
    expect(tickets.redeem(first ?? "")).toBeNull();
    const later = tickets.issue(admitted, null);
    expect(tickets.redeem(later)).toEqual(admitted);
    expect(tickets.redeem(later)).toBeNull();
  });

  test("the token is in no process list", async () => {
    const own = await Gateway.start({ auth: true, env: { WSH_TOKEN: "another-token-of-this-run" }, args: [] });
    await using _ = own;
    const { stdout } = Bun.spawnSync(["ps", "-eo", "args"]);
    expect(stdout.toString()).not.toContain("another-token-of-this-run");
  });
});

describe("starting", () => {
  test.each([
    [["--no-auth", "--bind", "0.0.0.0:0"], "lets anyone who can reach it run commands"],
    [["--token", "short"], "has 5 bytes"],
    [["--bind", "nowhere"], "expected ADDRESS:PORT"],
    [["--tls-cert", "x"], "--tls-cert needs --tls-key"],
    [["--tls-cert", "/no/cert", "--tls-key", "/no/key", "--bind", "127.0.0.1:0"], "certificate cannot be read"],
  ])("%j is refused", async (args, message) => {
    await using wsh = await Gateway.start({ args: ["--bind", "none"] });
    await wsh.end();
    const { code, stderr } = await wsh.run("server", ...args);
    expect(code).toBeGreaterThan(0);
    expect(stderr).toContain(message);
  });

  test("without a token beyond this machine only by force", async () => {
    await using gateway = await Gateway.start({ auth: false, args: ["--bind", "0.0.0.0:0", "--force"] });
    const port = new URL(gateway.origin).port;
    const host = (name: string) => raw(`http://127.0.0.1:${port}`, "GET", "/sessions", { Host: `${name}:${port}` });
    expect((await host("192.0.2.7")).status).toBe(200);
    expect((await host("[2001:db8::1]")).status).toBe(200);
    expect((await host("evil.example")).status).toBe(403);
  });
});

describe("excessive requests", () => {
  test("N at once are allowed, then N a second", () => {
    let now = 0;
    const limit = new RateLimit(5, () => now);
    const take = (): (number | null)[] => Array.from({ length: 7 }, () => limit.admit("a"));
    expect(take()).toEqual([null, null, null, null, null, 1, 1]);
    now = 400;
    expect(take().filter((wait) => wait === null)).toHaveLength(2);
    expect(limit.admit("b")).toBeNull();
    now = 60_000;
    expect(take().filter((wait) => wait === null)).toHaveLength(5);
  });

  test("get 429 with Retry-After before the token is checked; sockets and the Unix socket are not counted", async () => {
    await using gateway = await Gateway.start({ args: ["--rate-limit", "5"] });
    await gateway.create({ name: "s" });
    const ws = await gateway.ws("/ws/json");
    const began = performance.now();
    const answers = await Promise.all(Array.from({ length: 40 }, () => gateway.tcp("/sessions", { token: "wrong" })));
    const seconds = (performance.now() - began) / 1_000;
    const limited = answers.filter(({ status }) => status === 429);
    expect(answers.length - limited.length).toBeLessThanOrEqual(5 + Math.ceil(5 * seconds));
    expect(limited[0]?.headers.get("retry-after")).toBe("1");
    expect(await limited[0]?.json()).toMatchObject({ error: { code: "rate_limited" } });
    for (let i = 0; i < 20; i++) expect((await ws.call("list_sessions")).error).toBeUndefined();
    for (let i = 0; i < 20; i++) expect((await gateway.unix("/sessions")).status).toBe(200);
    expect((await gateway.tcp("/health")).status).toBe(200);
    await until("the bucket to fill", async () => (await gateway.tcp("/sessions")).status === 200);
  });
});

describe("records", () => {
  let gateway: Gateway;
  beforeAll(async () => {
    gateway = await Gateway.start({ args: ["--audit", "--log-format", "json"] });
    await gateway.create({ name: "s" });
  });
  afterAll(async () => {
    await gateway[Symbol.asyncDispose]();
  });
  const path = (): string => join(gateway.instance.stateDir, "t.audit.log");
  const lines = (): Record<string, unknown>[] =>
    fs
      .readFileSync(path(), "utf8")
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));

  test("contain caller, action, target and result, but not the input", async () => {
    const token = (await gateway.ok("token", "create", "robot", "--access", "operate")).trim();
    await gateway.tcp("/sessions/s/input", { method: "POST", body: "echo the-secret\r", token });
    await gateway.tcp("/server/persist", { method: "PUT", json: { persistent: false }, token });
    const ws = await gateway.ws("/sessions/s/ws/json", { Authorization: `Bearer ${token}` });
    await ws.call("send_input", { data: "another-secret" });
    await ws.call("subscribe", { events: ["lines"] });
    await ws.call("subscribe", { events: ["nonsense"] });
    const rawSocket = await gateway.ws("/sessions/s/ws/raw");
    rawSocket.socket.send("raw-secret\r");
    rawSocket.close();
    await until("the raw connection's line", () => lines().some(({ msg }) => msg === "ws.raw"));
    const said = lines();
    expect(said.find(({ msg, ...line }) => msg === "input.send" && line.interface === "http")).toMatchObject({
      token: "robot",
      peer: "127.0.0.1",
      target: "s",
      session_id: expect.stringMatching(/^@s\d+$/),
      pane_id: expect.stringMatching(/^@\d+$/),
      result: "ok",
      input_hmac: expect.stringMatching(/^[0-9a-f]{64}$/),
      ts: expect.stringMatching(/Z$/),
    });
    expect(said.find(({ msg }) => msg === "server.persist.set")).toMatchObject({ result: "access_denied" });
    expect(said.find(({ msg, ...line }) => msg === "input.send" && line.interface === "ws")).toMatchObject({
      token: "robot",
    });
    const subscribed = said
      .filter(({ msg }) => msg === "ws.subscribe")
      .map(({ result, target }) => ({ result, target }));
    expect(subscribed).toEqual([
      { result: "ok", target: "s" },
      { result: "invalid_request", target: "s" },
    ]);
    expect(said.find(({ msg }) => msg === "sessions.create")).toMatchObject({ token: "socket", peer: null });
    const raw = said.find(({ msg }) => msg === "ws.raw");
    expect(raw).toMatchObject({ token: "own", target: "s", input_bytes: 11 });
    // With the key a value can be verified; with the log alone it cannot be guessed.
    const keyFile = join(gateway.instance.stateDir, "t.audit.key");
    const key = fs.readFileSync(keyFile, "utf8").trim();
    expect(raw?.input_hmac).toBe(createHmac("sha256", key).update("raw-secret\r").digest("hex"));
    expect(fs.statSync(keyFile).mode & 0o777).toBe(0o600);
    expect(raw?.input_hmac).not.toBe(createHash("sha256").update("raw-secret\r").digest("hex"));
    expect(fs.readFileSync(path(), "utf8")).not.toMatch(/secret/);
    expect(fs.statSync(path()).mode & 0o777).toBe(0o600);
  });

  test("contain no password that a person types, and neither does any log", async () => {
    // Of its own: what others typed may still be read.
    await gateway.create({ name: "typed" });
    await gateway.shows("typed", /\$/);
    using person = await Person.attach(gateway.instance, "typed");
    person.type("stty -echo; read -r pw; stty echo; echo done\r");
    await until(
      "the prompt",
      async () => (await (await gateway.unix("/sessions/typed/status")).json()).state === "password",
    );
    person.type("tr0ub4dor\r");
    await gateway.shows("typed", /^done$/m);
    const { stateDir } = gateway.instance;
    for (const entry of fs.readdirSync(stateDir, { recursive: true, withFileTypes: true })) {
      if (!entry.isFile()) continue;
      const name = join(entry.parentPath, entry.name);
      expect(fs.readFileSync(name, "utf8"), name).not.toContain("tr0ub4dor");
    }
    expect(await gateway.log()).not.toContain("tr0ub4dor");
  });

  test("of the server are JSON lines on request", async () => {
    const said = (await gateway.log())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(said[0]).toMatchObject({ level: "info", msg: "server listens", ts: expect.stringMatching(/Z$/) });
  });

  test("are off by default", async () => {
    await using quiet = await Gateway.start();
    await quiet.create();
    expect(fs.existsSync(join(quiet.instance.stateDir, "t.audit.log"))).toBe(false);
  });
});

test("metrics are readable for Prometheus", async () => {
  await using gateway = await Gateway.start();
  await gateway.create({ name: "s" });
  await gateway.tcp("/sessions/s");
  await gateway.tcp("/sessions", { token: "wrong" });
  const ws = await gateway.ws("/ws/json");
  await ws.call("list_sessions");
  const response = await gateway.tcp("/metrics");
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await response.text();
  for (const line of text.trim().split("\n")) {
    expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? [0-9.e+-]+)$/);
  }
  expect(text).toContain("wsh_sessions_running 1\n");
  expect(text).toContain("wsh_websockets 1\n");
  expect(text).toContain('wsh_refused_total{code="auth_invalid"} 1\n');
  expect(text).toContain('wsh_calls_total{operation="session.get",interface="http",result="ok"} 1\n');
  expect(text).toContain('wsh_calls_total{operation="sessions.list",interface="ws",result="ok"} 1\n');
  expect(text).toMatch(/wsh_call_duration_seconds_bucket\{operation="session\.get",le="\+Inf"\} 1\n/);
});

describe("another user of this machine", () => {
  const isRoot = process.getuid?.() === 0 && fs.existsSync("/usr/bin/setpriv");
  if (!isRoot) console.warn("SKIPPED: tests with a second user need root and setpriv");

  test.skipIf(!isRoot)("reaches neither sockets nor files", async () => {
    await using gateway = await Gateway.start({ args: ["--audit"] });
    await gateway.create({ name: "s" });
    fs.chmodSync(gateway.dir, 0o755);
    const as = (...command: string[]) =>
      Bun.spawnSync(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", ...command], { cwd: "/" });
    const { instance } = gateway;
    for (const path of [instance.runtimeDir, instance.stateDir]) {
      expect(fs.statSync(path).mode & 0o777, path).toBe(0o700);
      expect(as("ls", path).exitCode, path).not.toBe(0);
    }
    for (const path of [instance.httpSocket, instance.mcpSocket, join(instance.sessionsDir, "1.sock")]) {
      expect(fs.lstatSync(path).isSocket(), path).toBe(true);
      expect(fs.statSync(path).mode & 0o077, path).toBe(0);
    }
    expect(as("curl", "-s", "--unix-socket", instance.httpSocket, "http://x/sessions").exitCode).not.toBe(0);
    // Over TCP the token is required.
    expect(
      as("curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", `${gateway.origin}/sessions`).stdout.toString(),
    ).toBe("401");
    // Nor is a directory used that another user prepared.
    const trap = fs.mkdtempSync("/tmp/wsh-trap-");
    fs.mkdirSync(join(trap, "wsh"));
    fs.chownSync(join(trap, "wsh"), 65534, 65534);
    const { code, stderr } = await gateway.runWith({ env: { XDG_RUNTIME_DIR: trap } }, "new", "x");
    fs.rmSync(trap, { recursive: true });
    expect(code).toBe(1);
    expect(stderr).toContain("belongs to user 65534");
  });

  test("a directory that is open to others or a link is refused before anything is written to it", async () => {
    await using gateway = await Gateway.start({ args: ["--bind", "none"] });
    for (const prepare of [
      (path: string) => {
        fs.mkdirSync(path);
        fs.chmodSync(path, 0o755);
      },
      (path: string) => {
        fs.mkdirSync(`${path}.elsewhere`, { mode: 0o700 });
        fs.symlinkSync(`${path}.elsewhere`, path);
      },
    ]) {
      const trap = fs.mkdtempSync("/tmp/wsh-trap-");
      prepare(join(trap, "wsh"));
      const { code, stderr } = await gateway.runWith({ env: { XDG_RUNTIME_DIR: trap } }, "new", "x");
      expect(code).toBe(1);
      expect(stderr).toMatch(/accessible to others|symbolic link/);
      expect(fs.existsSync(join(trap, "wsh/t"))).toBe(false);
      fs.rmSync(trap, { recursive: true });
    }
  });
});
