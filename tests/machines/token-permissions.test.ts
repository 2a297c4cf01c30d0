/** Permissions of another machine at a server: by its token, over TCP, and message by message in a stream. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { HttpLink } from "../../src/cluster/http-link.ts";
import { TcpTransport } from "../../src/cluster/tcp-transport.ts";
import { operations } from "../../src/operations/table.ts";
import { accessCovers } from "../../src/protocol/caller.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { parseAddress } from "../../src/protocol/machines.ts";
import { encodeJsonMessage, messageTypes } from "../../src/protocol/messages.ts";
import { Connection } from "../../src/wire/connection.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

let remote: Wsh;
let local: Wsh;
let url = "";
const tokens: Record<string, string> = {};
const caller = { kind: "cli", id: "cli:1", name: "wsh", connected: true } as const;

beforeAll(async () => {
  remote = new Wsh({ config: "audit = true\n" });
  local = new Wsh();
  url = await remote.tcpServer();
  await remote.session("dev");
  await remote.session("other");
  for (const access of ["observe", "operate", "admin"]) {
    tokens[access] = (await remote.ok("token", "create", access, "--access", access)).trim();
  }
  tokens.one = (await remote.ok("token", "create", "one", "--session", "dev")).trim();
  for (const [name, token] of Object.entries(tokens)) {
    await local.ok("servers", "add", url, "--name", name, "--token", token);
  }
});
afterAll(async () => {
  await local[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});

function linkWith(token: string): HttpLink {
  const address = parseAddress(url);
  if (address.kind !== "http") throw new Error(url);
  return new HttpLink("remote", new TcpTransport(address, token, null));
}

test("a token limits commands there", async () => {
  expect((await local.run("screen", "observe/dev")).code).toBe(0);
  const refused = await local.run("exec", "observe/dev", "--", "touch refused");
  expect(refused).toMatchObject({ code: 1, stdout: "" });
  expect(refused.stderr).toContain("needs the access 'operate'; this caller has 'observe'");
  expect((await local.run("exec", "operate/dev", "--", "echo done")).stdout).toBe("done\n");
  expect((await local.run("new", "observe/x")).stderr).toContain("has 'observe'");
  expect((await remote.list()).map(({ name }) => name)).toEqual(["dev", "other"]);
});

test("a token for one session reaches only that session", async () => {
  expect((await local.run("exec", "one/dev", "--", "echo mine")).stdout).toBe("mine\n");
  expect((await local.run("screen", "one/other")).stderr).toContain("no session 'other'");
  expect((await local.run("rename", "one/dev", "taken")).stderr).toContain("cannot rename it");
  expect((await local.run("split", "one/dev", "--view", "other")).code).toBe(1);
  expect((await local.list("--server", "one")).map(({ name }) => name)).toEqual(["one/dev"]);
});

test("a remote refusal names the session as the local caller does", async () => {
  const asked = linkWith(tokens.admin ?? "").call("session.get", {}, { session: "nosuch", caller });
  const error = await asked.then(
    () => null,
    (thrown) => WshError.from(thrown),
  );
  expect([error?.code, error?.hintAt("cli"), error?.hintAt("http")]).toEqual([
    "session_not_found",
    expect.stringContaining("`wsh list`"),
    expect.stringContaining("GET /sessions"),
  ]);
});

test("a wrong token is reported as wrong", async () => {
  const added = await local.run("servers", "add", url, "--name", "wrong", "--token", "x".repeat(32));
  expect(added.code).toBe(1);
  const servers = JSON.parse((await local.run("servers", "--json")).stdout) as Record<string, string>[];
  expect(servers.find(({ hostname }) => hostname === "wrong")?.health).toBe("rejected");
  expect(JSON.parse((await local.run("doctor", "wrong", "--json")).stdout)).toEqual([
    expect.objectContaining({ subject: "reach", state: "ok" }),
    expect.objectContaining({ subject: "token", state: "wrong", advice: expect.stringContaining("wsh token create") }),
  ]);
  expect(added.stderr).toContain("is added, but refuses this one");
  // The server answers, and the message names the remedy.
  for (const which of [["--all-machines"], ["--server", "wrong"]]) {
    const { code, stderr } = await local.run("list", ...which);
    expect({ code, isGone: stderr.includes("'wrong' does not answer") }).toEqual({ code: 1, isGone: false });
    expect(stderr).toMatch(/machine 'wrong' refuses to list its sessions.*refuses this one.*\n.*wsh doctor/s);
  }
  await local.ok("servers", "remove", "wrong");
});

test("every operation over a link needs the access that the table requires, as a request and in a stream", async () => {
  for (const held of ["observe", "operate"] as const) {
    const token = tokens[held] ?? "";
    const { connection } = await Connection.open(linkWith(token).dial("dev"), "cli");
    for (const operation of operations) {
      if (accessCovers(held, operation.access)) continue;
      const body = { op: operation.name, session: "dev", input: {}, caller: { kind: "cli", id: "x" } };
      const response = await fetch(`${url}/link/call`, {
        method: "POST",
        headers: { Authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      });
      const { error } = (await response.json()) as { error?: { code: string } };
      expect([operation.name, error?.code]).toEqual([operation.name, "access_denied"]);
      // The stream claims admin, and is refused.
      const asked = connection.request(operation.name, {}, { caller, access: "admin", target: "dev" });
      const refused = await asked.then(
        () => "done",
        (thrown) => thrown.code,
      );
      expect([operation.name, refused]).toEqual([
        operation.name,
        operation.scope === "server" ? "unknown_method" : "access_denied",
      ]);
    }
    connection.close();
  }
  expect((await remote.list()).map(({ name }) => name)).toEqual(["dev", "other"]);
});

test("messages between processes of one machine are refused in a stream", async () => {
  const { connection } = await Connection.open(linkWith(tokens.admin ?? "").dial("dev"), "cli");
  for (const op of ["peer.end", "peer.watch", "peer.give_way", "peer.caller_gone", "peer.keys", "peer.secret"]) {
    const refused = await connection.request(op, { reason: "killed" }, { caller, access: "admin" }).then(
      () => "done",
      (thrown) => thrown.code,
    );
    expect([op, refused]).toEqual([op, "unknown_method"]);
  }
  connection.close();
  expect((await remote.list())[0]?.running).toBe(true);
});

test("no remote terminal is opened here, and nobody without access types", async () => {
  const marker = join(remote.dir, "terminal");
  fs.writeFileSync(marker, "");
  const { dev, ino, rdev } = fs.statSync(marker);
  const terminal = { path: marker, device: dev, inode: ino, number: rdev, pid: process.pid };
  const attach = { rows: 24, cols: 80, scrollback: "none", read_only: false, render_only: false, prefix: null };
  const { connection } = await Connection.open(linkWith(tokens.observe ?? "").dial("dev"), "attach");
  const events: string[] = [];
  connection.listen({
    message: ({ type, payload }) => void (type === messageTypes.event && events.push(`${payload}`)),
  });
  await connection.request("peer.attach", { ...attach, terminal }, { caller, access: "admin" });
  connection.sendBytes(messageTypes.input, new TextEncoder().encode("touch typed\r"));
  await connection.request("peer.ping", {}, { caller, access: "admin" });
  expect(await remote.ok("screen", "dev")).not.toContain("touch typed");
  expect(events.join()).not.toContain("opened");
  connection.close();
});

test("bytes beyond the credit, or an invalid message, end the stream", async () => {
  const path = "/link/stream?target=dev";
  const headers = { Authorization: `Bearer ${tokens.admin}` };
  for (const hostile of [Buffer.alloc(300 * 1024), "{}", Buffer.from([0xff, 0, 0, 0, 0, 0])]) {
    const socket = new TestSocket(`${url.replace(/^http/, "ws")}${path}`, headers);
    await socket.next("the stream to open", ({ open }) => open === true);
    socket.socket.send(hostile);
    await socket.closed;
    expect(socket.messages.at(-1)?.error?.code).toBe("invalid_request");
  }
  const socket = new TestSocket(`${url.replace(/^http/, "ws")}/link/stream?target=nobody`, headers);
  await socket.closed;
  expect(socket.messages).toEqual([{ error: expect.objectContaining({ code: "session_not_found" }) }]);
  expect((await remote.list()).length).toBe(2);
});

test("a stopped reader holds one credit of a stream, and the session process is not read further", async () => {
  const socket = new TestSocket(`${url.replace(/^http/, "ws")}/link/stream?target=dev`, {
    Authorization: `Bearer ${tokens.admin}`,
  });
  await socket.next("the stream to open", ({ open }) => open === true);
  socket.socket.send(Buffer.from(encodeJsonMessage(messageTypes.hello, { wsh: 3, version: "0", role: "cli" })));
  const request = { id: 1, op: "peer.raw", input: { snapshot: false, read_only: true }, caller, access: "admin" };
  socket.socket.send(Buffer.from(encodeJsonMessage(messageTypes.request, request)));
  await remote.enter("dev", "seq 300000; echo flood''-over");
  const received = (): number => socket.bytes.reduce((sum, { length }) => sum + length, 0);
  await until("the credit to be used", () => received() === 256 * 1024);
  await remote.shows("dev", "flood-over");
  expect(received()).toBe(256 * 1024);
  socket.socket.close();
});

test("calls are in the audit log of the machine that carried them out, with the token's name", async () => {
  await local.ok("exec", "operate/dev", "--", "echo audited");
  const log = JSON.parse(await remote.ok("info", "--json")).server?.audit_file as string | undefined;
  const file = log ?? join(remote.env.HOME ?? "", ".local/state/wsh/t.audit.log");
  const has = (...words: readonly string[]): boolean =>
    fs
      .readFileSync(file, "utf8")
      .split("\n")
      .some((line) => words.every((word) => line.includes(word)));
  await until("the stream to be logged", () => has('"link.stream"', '"operate"'));
  await until("the command to be logged", () => has('"exec"', '"wsh over link:operate"'));
});

describe("another machine's answers", () => {
  test.each([
    ["no JSON", "<html>", "outcome_unknown"],
    ["another form", JSON.stringify({ result: { wrong: true } }), "outcome_unknown"],
    ["an unknown error", JSON.stringify({ error: { code: "bogus", message: "x" } }), "internal_error"],
    ["too much", `{"result":"${"x".repeat(17 * 1024 * 1024)}"}`, "outcome_unknown"],
  ])("that are %s are not passed on", async (_, answer, code) => {
    const hello = { wsh: 3, version: "9", server_id: "x", hostname: "h" };
    using server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => (new URL(request.url).pathname === "/link" ? Response.json(hello) : new Response(answer)),
    });
    const link = new HttpLink(
      "m",
      new TcpTransport({ kind: "http", url: `http://127.0.0.1:${server.port}`, host: "h" }, null, null),
    );
    const asked = link.call("session.resize", { rows: 3, cols: 3 }, { session: "dev", caller });
    expect(
      await asked.then(
        () => "answered",
        (thrown) => thrown.code,
      ),
    ).toBe(code);
  });

  test("of another protocol are refused, and it is listed as incompatible", async () => {
    const hello = { wsh: 99, version: "9", server_id: "x", hostname: "h" };
    using server = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => Response.json(hello) });
    const added = await local.run("servers", "add", `http://127.0.0.1:${server.port}`, "--name", "newer", "--json");
    expect(JSON.parse(added.stdout)).toMatchObject({ health: "version" });
    const findings = JSON.parse((await local.run("doctor", "newer", "--json")).stdout);
    expect(findings.at(-1)).toMatchObject({ subject: "version", state: "wrong", text: expect.stringContaining("99") });
    await local.ok("servers", "remove", "newer");
  });
});

testWith("openssl")("a server with TLS is trusted by its certificate alone", async () => {
  const [key, cert] = [join(local.dir, "key.pem"), join(local.dir, "cert.pem")];
  const how = ["-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", "/CN=localhost"];
  const names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"];
  expect(Bun.spawnSync(["openssl", "req", ...how, ...names, "-keyout", key, "-out", cert]).success).toBe(true);
  await using secured = new Wsh();
  const address = await secured.tcpServer("--tls-cert", cert, "--tls-key", key);
  await secured.session("dev");
  const token = (await secured.ok("token")).trim();
  const blind = await local.run("servers", "add", address, "--name", "tls", "--token", token);
  expect(blind.code).toBe(1);
  await local.ok("servers", "remove", "tls");
  await local.ok("servers", "add", address, "--name", "tls", "--token", token, "--ca", cert);
  expect((await local.run("exec", "tls/dev", "--", "echo safe")).stdout).toBe("safe\n");
});
