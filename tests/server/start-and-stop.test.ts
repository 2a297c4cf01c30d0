/** The server as a process: its addresses, admission, uniqueness, and its end. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import net from "node:net";
import { join } from "node:path";
import { readServerInfo } from "../../src/registry/server-info.ts";
import { failure, Http } from "../support/http.ts";
import { PATIENCE_MS, until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const full = process.env.WSH_TEST_FULL === "1";

function socketOf(wsh: Wsh): Http {
  return new Http({ unix: wsh.instance.httpSocket });
}

/** The base URL of the server's first TCP address. */
function address(wsh: Wsh): string {
  const [first] = readServerInfo(wsh.instance)?.addresses ?? [];
  if (first === undefined) throw new Error("the server has no TCP address");
  return first;
}

/** Runs `wsh server`, which must fail; returns its message. */
async function failing(wsh: Wsh, ...args: readonly string[]): Promise<string> {
  const { code, stderr } = await wsh.run("server", ...args);
  expect({ code, stderr }).toMatchObject({ code: 1 });
  return stderr;
}

describe("over TCP", () => {
  test("a token is needed, on loopback too; wsh token prints it, and only its owner can read it", async () => {
    await using wsh = new Wsh();
    await wsh.server("--bind", "127.0.0.1:0");
    const token = (await wsh.ok("token")).trim();
    expect(fs.statSync(wsh.instance.tokenFile).mode & 0o777).toBe(0o600);
    const tcp = (headers: Record<string, string> = {}) => new Http({ unix: null, base: address(wsh), headers });
    expect(await tcp().get("/health")).toMatchObject({ status: 200, body: { status: "ok" } });
    for (const [method, path] of [
      ["GET", "/sessions"],
      ["POST", "/sessions"],
      ["GET", "/server/info"],
      ["PUT", "/server/persist"],
      ["GET", "/idle?timeout_ms=0"],
      ["GET", "/sessions/x/screen"],
      ["POST", "/sessions/x/input"],
    ] as const) {
      expect(await tcp().send(method, path)).toMatchObject({ status: 401, body: failure("auth_required") });
      const wrong = tcp({ authorization: "Bearer wrong-but-long-enough" });
      expect(await wrong.send(method, path)).toMatchObject({ status: 403, body: failure("auth_invalid") });
    }
    expect((await tcp().get("/sessions")).headers.get("www-authenticate")).toBe("Bearer");
    expect(await tcp({ authorization: `Basic ${token}` }).get("/sessions")).toMatchObject({ status: 401 });
    expect(await tcp().get(`/sessions?token=${token}`)).toMatchObject({ status: 401 });
    const good = tcp({ authorization: `Bearer ${token}` });
    expect(await good.get("/sessions")).toMatchObject({ status: 200, body: [] });
    const info = await good.create({ name: "tcp", command: "cat" });
    await good.type("tcp", "typed over TCP\n");
    await good.shows("tcp", "typed over TCP");
    expect((await socketOf(wsh).list()).map(({ id }) => id)).toEqual([info.id]);
  });

  test("a token can be given by hand; it is neither in a list of processes nor in a session", async () => {
    await using wsh = new Wsh();
    const secret = "given-by-hand-0123456789";
    await wsh.runWith({ env: { WSH_TOKEN: secret } }, "server", "--ensure", "--bind", "127.0.0.1:0");
    const tcp = new Http({ unix: null, base: address(wsh), headers: { authorization: `Bearer ${secret}` } });
    const { pid } = await tcp.create({ name: "in", command: "sleep 1000" });
    expect(
      wsh
        .processes()
        .map(({ command }) => command)
        .join("\n"),
    ).not.toContain(secret);
    expect(fs.readFileSync(`/proc/${pid}/environ`, "utf8")).not.toContain(secret);
    expect(await failing(wsh, "--token", "short")).toContain("16 bytes");
  });

  test("--no-auth admits everybody at this machine; other host names and pages of other origins are refused", async () => {
    await using wsh = new Wsh();
    await wsh.server("--bind", "127.0.0.1:0", "--no-auth");
    const tcp = new Http({ unix: null, base: address(wsh) });
    expect(await tcp.get("/sessions")).toMatchObject({ status: 200 });
    expect(await tcp.get("/sessions", { headers: { authorization: "Bearer anything" } })).toMatchObject({
      status: 200,
    });
    const port = new URL(address(wsh)).port;
    const ask = (...headers: string[]) => raw(Number(port), "POST /sessions/x/detach HTTP/1.1", ...headers);
    const own = `Host: 127.0.0.1:${port}`;
    expect(await ask(own)).toContain("session_not_found");
    expect(await ask(`Host: localhost:${port}`, `Origin: http://localhost:${port}`)).toContain("session_not_found");
    expect(await ask(`Host: evil.example:${port}`)).toMatch(/^HTTP\/1.1 403.*host_not_allowed/s);
    expect(await ask(own, "Origin: https://evil.example")).toMatch(/^HTTP\/1.1 403.*origin_not_allowed/s);
    expect(await ask(own, `Origin: http://127.0.0.1:${Number(port) + 1}`)).toContain("origin_not_allowed");
    expect(await ask(own, "Origin: null")).toContain("origin_not_allowed");
    expect(await ask(own, "Sec-Fetch-Site: cross-site")).toContain("origin_not_allowed");
    expect(await ask(own, "Sec-Fetch-Site: same-origin")).toContain("session_not_found");
  });

  test("--bind none opens none, and a bad address is an error", async () => {
    await using wsh = new Wsh();
    await wsh.server();
    expect(readServerInfo(wsh.instance)?.addresses).toEqual([]);
    const [pid = 0] = wsh.servers();
    const inodes = fs.readdirSync(`/proc/${pid}/fd`).flatMap((fd) => socketInode(pid, fd));
    const tcp = ["tcp", "tcp6"].flatMap((table) => fs.readFileSync(`/proc/${pid}/net/${table}`, "utf8").split("\n"));
    expect(tcp.filter((line) => inodes.includes(line.trim().split(/\s+/)[9] ?? ""))).toEqual([]);
    await using other = new Wsh();
    for (const bind of ["8080", "localhost", "127.0.0.1:99999", ":80", "1:2:3"]) {
      expect(await failing(other, "--bind", bind)).toContain(bind);
    }
    expect(await failing(other, "--bind", "192.0.2.1:0")).toContain("192.0.2.1");
  });

  test("a port in use is an error that names it, and leaves nothing behind", async () => {
    const listener = net.createServer().listen(0, "127.0.0.1");
    await until("the listener", () => listener.address());
    const { port } = listener.address() as net.AddressInfo;
    await using wsh = new Wsh();
    expect(await failing(wsh, "--bind", `127.0.0.1:${port}`)).toContain(`127.0.0.1:${port}`);
    expect(fs.existsSync(wsh.instance.httpSocket)).toBe(false);
    const ensured = await wsh.run("server", "--ensure", "--bind", `127.0.0.1:${port}`);
    expect(ensured.code).toBe(1);
    expect(ensured.stderr).toContain(`127.0.0.1:${port}`);
    listener.close();
    await wsh.server("--bind", `127.0.0.1:${port}`);
  });
});

describe("there is one server", () => {
  test("a second one on the instance ends with a message, the first continues", async () => {
    await using wsh = new Wsh();
    const { pid } = await wsh.server();
    const before = (await socketOf(wsh).get("/server/info")).body;
    expect(await failing(wsh, "--bind", "none")).toMatch(/already/);
    expect((await socketOf(wsh).get("/server/info")).body).toMatchObject({
      server_id: (before as { server_id: string }).server_id,
    });
    expect(wsh.servers()).toEqual([pid]);
  });

  test("of many started at once one stays, and the others report the reason", async () => {
    await using wsh = new Wsh();
    const count = full ? 20 : 5;
    const starts = Array.from({ length: count }, () => wsh.spawn(["server", "--bind", "none"]));
    const ended = starts.map((child) => child.exited);
    const isOver = () => starts.filter(({ exitCode }) => exitCode !== null).length === count - 1;
    await until("the others to give up", isOver, 2 * PATIENCE_MS);
    expect(starts.filter(({ exitCode }) => exitCode === 1)).toHaveLength(count - 1);
    const winner = starts.find(({ exitCode }) => exitCode === null);
    expect((await socketOf(wsh).get("/server/info")).body).toMatchObject({ pid: winner?.pid ?? -1 });
    for (const loser of starts.filter((child) => child !== winner)) {
      expect(await new Response(loser.stderr).text()).toContain("already");
    }
    winner?.kill("SIGTERM");
    expect(await Promise.all(ended)).toEqual(starts.map((child) => (child === winner ? 0 : 1)));
  }, 120_000);

  test("--ensure starts one, ephemeral and in the background, or prints where it is", async () => {
    await using wsh = new Wsh();
    const ensures = await Promise.all(
      Array.from({ length: full ? 8 : 4 }, async () =>
        JSON.parse(await wsh.ok("server", "--ensure", "--bind", "none", "--json")),
      ),
    );
    const [first] = ensures;
    expect(first).toEqual({ socket: wsh.instance.httpSocket, addresses: [], pid: expect.any(Number) });
    for (const other of ensures) expect(other).toEqual(first);
    expect(await wsh.ok("server", "--ensure", "--bind", "none")).toBe(`${wsh.instance.httpSocket}\n`);
    expect((await socketOf(wsh).get("/server/persist")).body).toEqual({ persistent: false });
    expect(fs.readlinkSync(`/proc/${first.pid}/cwd`)).toBe("/");
  });

  test("a dead one's sockets are replaced, a file that is not a socket is never touched", async () => {
    await using wsh = new Wsh();
    const { kill } = await wsh.server();
    await kill("SIGKILL");
    expect(fs.lstatSync(wsh.instance.httpSocket).isSocket()).toBe(true);
    const { kill: end } = await wsh.server();
    await end("SIGTERM");
    expect(fs.existsSync(wsh.instance.httpSocket)).toBe(false);
    for (const path of [wsh.instance.httpSocket, wsh.instance.mcpSocket]) {
      fs.writeFileSync(path, "a letter");
      expect(await failing(wsh, "--bind", "none")).toMatch(/is not a socket/);
      expect(fs.readFileSync(path, "utf8")).toBe("a letter");
      fs.rmSync(path);
      fs.symlinkSync("/etc/passwd", path);
      expect(await failing(wsh, "--bind", "none")).toMatch(/is not a socket/);
      expect(fs.readlinkSync(path)).toBe("/etc/passwd");
      fs.rmSync(path);
    }
    await wsh.server();
    expect(fs.statSync(wsh.instance.httpSocket).mode & 0o777).toBe(0o600);
  });
});

describe("its directories", () => {
  test("a runtime directory that others could change is refused", async () => {
    await using wsh = new Wsh();
    const { runtimeDir } = wsh.instance;
    fs.mkdirSync(runtimeDir, { recursive: true, mode: 0o777 });
    fs.chmodSync(runtimeDir, 0o777);
    for (const args of [["server", "--bind", "none"], ["new"], ["server", "--ensure"]]) {
      expect(await wsh.run(...args)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/chmod 700|unsafe|others/),
      });
    }
    expect(fs.readdirSync(runtimeDir)).toEqual([]);
    fs.rmdirSync(runtimeDir);
    const elsewhere = join(wsh.dir, "elsewhere");
    fs.mkdirSync(elsewhere, { mode: 0o700 });
    fs.symlinkSync(elsewhere, runtimeDir);
    expect(await wsh.run("new")).toMatchObject({ code: 1, stderr: expect.stringMatching(/link/) });
    expect(fs.readdirSync(elsewhere)).toEqual([]);
    fs.rmSync(runtimeDir);
    fs.writeFileSync(runtimeDir, "");
    expect(await wsh.run("new")).toMatchObject({ code: 1 });
  });

  test.if(process.getuid?.() === 0)("a runtime directory of another user is refused", async () => {
    await using wsh = new Wsh();
    const { runtimeDir } = wsh.instance;
    fs.mkdirSync(runtimeDir, { recursive: true, mode: 0o700 });
    fs.chownSync(runtimeDir, 65_534, 65_534);
    expect(await wsh.run("new")).toMatchObject({ code: 1, stderr: expect.stringContaining(runtimeDir) });
    expect(await failing(wsh, "--bind", "none")).toContain(runtimeDir);
  });

  test("a path too long for a socket is an error with the reason", async () => {
    await using wsh = new Wsh();
    const deep = join(wsh.dir, "run", "d".repeat(90));
    fs.mkdirSync(deep, { mode: 0o700 });
    const env = { XDG_RUNTIME_DIR: deep };
    for (const args of [["server", "--bind", "none"], ["new", "x"], ["list"]]) {
      const { code, stderr } = await wsh.runWith({ env }, ...args);
      expect(stderr).toMatch(/has \d+ bytes; the system allows \d+/);
      expect(code).toBe(2);
    }
  });
});

test("--base-prefix moves everything but health", async () => {
  await using wsh = new Wsh();
  for (const bad of ["p", "/p/", "/"]) {
    const { code, stderr } = await wsh.run("server", "--bind", "none", "--base-prefix", bad);
    expect(code).not.toBe(0);
    expect(stderr).toContain(bad);
  }
  const child = wsh.spawn(["server", "--bind", "none", "--base-prefix", "/my/wsh"]);
  const http = socketOf(wsh);
  await until("the server", async () => {
    if (child.exitCode !== null) throw new Error("the server ended");
    return (await http.get("/health").catch(() => null))?.status === 200;
  });
  expect(await http.get("/health")).toMatchObject({ status: 200, body: { status: "ok" } });
  expect(await http.get("/my/wsh/health")).toMatchObject({ status: 200 });
  expect(await http.get("/sessions")).toMatchObject({ status: 404, text: "" });
  expect(await http.post("/my/wsh/sessions", { name: "p", command: "sleep 1000" })).toMatchObject({ status: 201 });
  expect(await http.get("/my/wsh/sessions/p")).toMatchObject({ status: 200, body: { name: "p" } });
  expect(await http.get("/my/wsh/sessions/q")).toMatchObject({ status: 404, body: failure("session_not_found") });
  expect((await http.send("PUT", "/my/wsh/sessions")).headers.get("allow")).toContain("POST");
  // The instance's own commands still find it.
  expect(await wsh.ok("status")).toBeTruthy();
  expect(await wsh.ok("persist", "off")).toContain("ephemeral");
  expect(await wsh.ok("stop")).toContain("stopped");
});

describe("the end", () => {
  test("by SIGTERM or SIGINT leaves the sessions, and the log says so", async () => {
    await using wsh = new Wsh();
    const { pid } = await wsh.session("stays", "--", "sleep 1000");
    const http = socketOf(wsh);
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const child = wsh.spawn(["server", "--bind", "none"]);
      await until("the server", async () => (await http.get("/health").catch(() => null))?.status === 200);
      const waiting = http.get("/sessions/stays/idle?timeout_ms=60000").catch(() => "cut off");
      child.kill(signal);
      expect({ signal, code: await child.exited }).toEqual({ signal, code: 0 });
      await waiting;
      expect(await new Response(child.stderr).text()).toMatch(/sessions keep running.*wsh stop/);
      for (const path of [wsh.instance.httpSocket, wsh.instance.mcpSocket]) expect(fs.existsSync(path)).toBe(false);
      expect(await wsh.list()).toMatchObject([{ name: "stays", pid }]);
    }
  });

  test("wsh stop ends everything, also programs that ignore signals", async () => {
    await using wsh = new Wsh({ config: "kill_grace_ms = 200\n" });
    const { pid } = await wsh.server();
    const http = socketOf(wsh);
    await http.create({ name: "a", command: "trap '' HUP; echo ready; while :; do sleep 0.02; done" });
    await http.create({ name: "b" });
    await http.shows("a", "ready");
    expect(await wsh.ok("stop")).toBe("Server stopped.\n");
    await until("everything to be gone", () => wsh.processes().length === 0);
    await until("the server to end", () => isZombie(pid));
    expect(await wsh.list("--all")).toEqual([]);
    expect(await wsh.ok("stop")).toBe("No server running.\n");
    // Again at once; and over HTTP, with the number of sessions.
    await wsh.server();
    for (const name of ["a", "b"]) await http.create({ name, command: "sleep 1000" });
    expect(await http.send("POST", "/server/stop")).toMatchObject({ status: 200, body: { sessions: 2 } });
    await until("everything to be gone", () => wsh.processes().length === 0);
  });

  test("an ephemeral server ends with its last session, a persistent one stays", async () => {
    await using wsh = new Wsh();
    const first = await wsh.server("--ephemeral");
    const http = socketOf(wsh);
    for (const name of ["a", "b"]) await http.create({ name, command: "sleep 1000" });
    await http.kill("a");
    expect((await http.get("/server/info")).status).toBe(200);
    await http.kill("b");
    await until("the server to end", () => !fs.existsSync(`/proc/${first.pid}`) || isZombie(first.pid));
    await until("its socket to be gone", () => !fs.existsSync(wsh.instance.httpSocket));

    const second = await wsh.server("--ephemeral");
    expect((await http.json("PUT", "/server/persist", { persistent: true })).body).toEqual({ persistent: true });
    await http.create({ name: "c", command: "sleep 1000" });
    await http.kill("c");
    expect((await http.get("/server/persist")).body).toEqual({ persistent: true });
    // The setting outlives the server, even a killed one.
    await second.kill("SIGKILL");
    const third = await wsh.server("--ephemeral");
    expect((await http.get("/server/persist")).body).toEqual({ persistent: true });
    // Back to ephemeral while empty: nothing happens before the next session's end.
    expect((await http.json("PUT", "/server/persist", { persistent: false })).status).toBe(200);
    await http.create({ name: "d", command: "sleep 1000" });
    await http.kill("d");
    await until("the server to end", () => isZombie(third.pid));
  });

  test.if(full)("an unused ephemeral server ends after 30 s, unless it was made persistent", async () => {
    await using unused = new Wsh();
    await using kept = new Wsh();
    const { pid } = await unused.server("--ephemeral");
    await kept.server("--ephemeral");
    await kept.ok("persist", "on");
    await until("the unused server to end", () => isZombie(pid), 40_000);
    expect(await kept.ok("persist")).toContain("persistent");
  });
});

function isZombie(pid: number): boolean {
  try {
    return /^\d+ \(.*\) Z/s.test(fs.readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    return true;
  }
}

function socketInode(pid: number, fd: string): string[] {
  try {
    return /^socket:\[(\d+)\]$/.exec(fs.readlinkSync(`/proc/${pid}/fd/${fd}`))?.slice(1) ?? [];
  } catch {
    return []; // closed meanwhile
  }
}

/** One request with exactly these headers; returns the raw answer. */
function raw(port: number, ...lines: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = net.connect(port, "127.0.0.1");
  let answer = "";
  socket.on("data", (bytes) => {
    answer += bytes.toString("utf8");
  });
  socket.on("close", () => resolve(answer));
  socket.on("error", reject);
  socket.write(`${[...lines, "Content-Length: 0", "Connection: close"].join("\r\n")}\r\n\r\n`);
  return promise;
}
