/**
 * A server started and awaited in one call: by the port on which it listens, by its output, or by its end; and
 * the owner of a port. Over HTTP, MCP and the command line.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { OperationOutput } from "../../src/operations/table.ts";
import { freePort } from "../support/free-ports.ts";
import { failure, Http } from "../support/http.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";

setDefaultTimeout(60_000);

const wsh = shared(new McpInstance());
const http = new Http({ unix: wsh.instance.httpSocket });

type Answer = OperationOutput<"exec">;

const canUnshare = Bun.spawnSync(["sh", "-c", "unshare -n true"], { stderr: "ignore" }).success;

/** A listener that is not a descendant of any session. */
function occupied(): { readonly port: number } & Disposable {
  const server = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  return { port: server.port, [Symbol.dispose]: () => server.stop(true) };
}

/** A program that listens, reports it, and keeps running. */
function serve(port: number, host = "127.0.0.1"): string {
  const program = `Bun.listen({hostname:"${host}",port:${port},socket:{data(){}}});console.log("listening");setInterval(()=>{},1e6)`;
  return `BUN_BE_BUN=1 '${process.execPath}' -e '${program}'`;
}

const start = (path: string, fields: object): Promise<Answer> =>
  http.expect(200, http.post(path, { background: true, max_wait_ms: 20_000, ...fields }));
const onPort = (port: number, more: object = {}) => ({ until: [{ type: "port", port, ...more }] });

describe("a server without a session", () => {
  test("is ready when it listens", async () => {
    const port = freePort();
    const answer = await start("/exec", { command: `sleep 0.3; ${serve(port)}`, ...onPort(port) });
    expect(answer).toMatchObject({
      decided_by: "port",
      port: { port, pid: expect.any(Number), addresses: ["127.0.0.1"] },
      state: "running",
      exit_code: null,
    });
    const { state } = await new SessionApi(http, answer.session).status();
    expect(state).toBe("running");
    await http.kill(answer.session);
  });

  test("is ready when its output has the expected text", async () => {
    const port = freePort();
    const until = [{ type: "text", text: "listening" }];
    const answer = await start("/exec", { command: `${serve(port, "::1")}`, until });
    expect(answer).toMatchObject({ decided_by: "text", match: "listening", state: "running", output: "listening" });
    const api = new SessionApi(http, answer.session);
    const listens = await api.wait([{ type: "port", port }], { max_wait_ms: 20_000 });
    expect(listens).toMatchObject({ decided_by: "port", port: { addresses: ["::1"] } });
    await http.kill(answer.session);
  });

  test("that ends first is reported with its output and exit code", async () => {
    const answer = await start("/exec", { command: "echo no config >&2; exit 3", ...onPort(freePort()) });
    expect(answer).toMatchObject({ decided_by: "command_finished", state: "finished", exit_code: 3 });
    expect(answer.output).toBe("no config");
  });

  test("that is not ready in time is left running, or ended on request", async () => {
    const never = { command: "sleep 60", ...onPort(freePort()), max_wait_ms: 300 };
    const left = await start("/exec", never);
    expect(left).toMatchObject({ decided_by: "timeout", state: "running" });
    await http.kill(left.session);
    const ended = await start("/exec", { ...never, on_timeout: "kill" });
    expect(ended).toMatchObject({ decided_by: "timeout", state: "killed", signal: "SIGKILL" });
  });

  test("takes one command", async () => {
    const steps = [{ command: "true" }, { command: "true" }];
    expect((await http.post("/exec", { steps, ...onPort(1) })).body).toMatchObject(failure("invalid_request"));
    expect((await http.post("/exec", { command: "true", ...onPort(0) })).body).toMatchObject(
      failure("invalid_request"),
    );
    expect((await http.post("/exec", { command: "true", ...onPort(65_536) })).body).toMatchObject(
      failure("invalid_request"),
    );
  });
});

describe("the owner of a port", () => {
  test("a foreign owner is reported as in the way, by name, and counts if any owner does", async () => {
    using other = occupied();
    const { port } = other;
    const answer = await start("/exec", { command: "sleep 60", ...onPort(port) });
    expect(answer).toMatchObject({ decided_by: "port_in_use", port: { port, pid: process.pid }, state: "running" });
    expect(answer.reason).toContain("any_owner");
    await http.kill(answer.session);
    const any = await start("/exec", { command: "sleep 60", ...onPort(port, { any_owner: true }) });
    expect(any).toMatchObject({ decided_by: "port", port: { pid: process.pid } });
    await http.kill(any.session);
  });

  test("a command that fails over it is told the owner", async () => {
    using other = occupied();
    const answer = await start("/exec", { command: serve(other.port), ...onPort(other.port) });
    expect(answer).toMatchObject({ decided_by: "port_in_use", port: { pid: process.pid }, state: "finished" });
    expect(answer.exit_code).not.toBe(0);
    expect(answer.output).toContain("EADDRINUSE");
    expect(answer.warnings?.join()).toContain(`port ${other.port} is held by`);
  });

  test("every interface names the session and pane that own a port", async () => {
    const port = freePort();
    const held = await start("/exec", { command: serve(port), ...onPort(port) });
    const { session } = held;
    const taken = await http.expect<Answer>(200, http.post("/exec", { command: serve(port), max_wait_ms: 20_000 }));
    expect(taken.warnings?.join()).toContain(`, session ${session}, pane @`);
    const { ports } = await http.expect<OperationOutput<"ports.list">>(200, http.get(`/ports?port=${port}`));
    expect(ports).toMatchObject([{ port, addresses: ["127.0.0.1"], session, pid: held.port?.pid }]);
    expect(await wsh.ok("ports", String(port), "--json").then(JSON.parse)).toEqual(ports);
    await http.kill(session);
    expect((await wsh.run("ports", String(freePort()))).code).toBe(1);
  });

  test("a session leases a free port, which no other gets, and can wait for its lease", async () => {
    const command = serve(0).replace("port:0", "port:Number(process.env.PORT)");
    const both = await Promise.all(
      [0, 1].map(() => start("/exec", { command, port: "free", until: [{ type: "port" }] })),
    );
    const ports = both.map(({ free_port }) => free_port);
    expect(new Set(ports).size).toBe(2);
    for (const answer of both) {
      expect(answer).toMatchObject({ decided_by: "port", port: { port: answer.free_port } });
      await http.kill(answer.session);
    }
    const made = await start("/sessions/leased/exec", {
      create: true,
      port: "free",
      command: "echo $PORT",
      background: false,
    });
    expect(made.output).toBe(`${made.free_port}`);
    expect((await http.list()).find(({ name }) => name === "leased")?.port).toBe(made.free_port);
    const pane = await wsh.ok("split", "leased", "--", "echo inside=$PORT; sleep 60");
    expect(pane).not.toBe("");
    await http.kill("leased");
    await wsh.session("none");
    const refused = await http.post("/sessions/none/exec", { command: "true", port: "free" });
    expect(refused.body).toMatchObject(failure("invalid_request"));
    expect((await http.post("/sessions/none/wait", { any_of: [{ type: "port" }] })).body).toMatchObject(
      failure("invalid_request"),
    );
    await wsh.ok("kill", "none");
    const out = await wsh.ok("exec", "--port", "free", "--", "echo $PORT");
    expect(Number(out)).toBeGreaterThanOrEqual(20_000);
  });

  test("a command that ends the old server first gets the port", async () => {
    const port = freePort();
    const old = await start("/exec", { command: serve(port), ...onPort(port) });
    const pid = old.port?.pid;
    const again = await start("/exec", {
      command: `sleep 0.2; kill ${pid}; sleep 0.2; ${serve(port)}`,
      ...onPort(port),
    });
    expect(again.decided_by).toBe("port");
    expect(again.port?.pid).not.toBe(pid);
    await http.kill(again.session);
  });

  test("an earlier command's server in the same shell does not count as the new command's", async () => {
    const port = freePort();
    const api = await SessionApi.shell(http, "jobs");
    const job = await start("/sessions/jobs/exec", { command: `${serve(port)} &`, until: ["command_finished"] });
    expect(job).toMatchObject({ decided_by: "command_finished", state: "finished", exit_code: 0 });
    // It belongs to the session.
    const first = await api.wait([{ type: "port", port }], { max_wait_ms: 20_000 });
    expect(first.decided_by).toBe("port");
    const next = await start("/sessions/jobs/exec", { command: "sleep 60", ...onPort(port) });
    expect(next).toMatchObject({ decided_by: "port_in_use", port: { pid: first.port?.pid } });
    // In the foreground, it does.
    await until("sleep", async () => (await api.status()).foreground?.name === "sleep");
    await api.press("Ctrl+C");
    await api.until("prompt");
    const front = await start("/sessions/jobs/exec", { command: "fg", ...onPort(port) });
    expect(front).toMatchObject({ decided_by: "port", port: { pid: first.port?.pid } });
    await http.kill("jobs");
  });

  test("a daemon that has left its parent and its terminal still counts as the command's", async () => {
    const port = freePort();
    const daemon = `(setsid sh -c 'sleep 0.3; ${serve(port).replaceAll("'", `'"'"'`)}' </dev/null >/dev/null 2>&1 &)`;
    const answer = await start("/exec", { command: `${daemon}; sleep 60`, ...onPort(port) });
    expect(answer).toMatchObject({ decided_by: "port", port: { port } });
    const pid = answer.port?.pid ?? 0;
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, "SIGKILL");
    await http.kill(answer.session);
  });

  test.skipIf(!canUnshare)("a command's own network namespace is searched", async () => {
    const port = freePort();
    const answer = await start("/exec", {
      command: `unshare -n sh -c '${serve(port, "0.0.0.0").replaceAll("'", `'"'"'`)}'`,
      ...onPort(port),
    });
    expect(answer).toMatchObject({ decided_by: "port", port: { port, addresses: ["0.0.0.0"] } });
    await http.kill(answer.session);
  });

  test("a server of another session does not count as the session's", async () => {
    const port = freePort();
    const owner = await start("/exec", { command: serve(port), ...onPort(port) });
    await SessionApi.shell(http, "bystander");
    const answer = await start("/sessions/bystander/exec", { command: "sleep 60", ...onPort(port) });
    expect(answer).toMatchObject({ decided_by: "port_in_use", port: { pid: owner.port?.pid } });
    await http.kill("bystander");
    const both = await http.expect<OperationOutput<"wait.any">>(
      200,
      http.post("/wait", { sessions: [owner.session], any_of: [{ type: "port", port }] }),
    );
    expect(both).toMatchObject({ session: owner.session, decided_by: "port" });
    await http.kill(owner.session);
  });
});

describe("a session created for it", () => {
  test("is created once, and its shell continues", async () => {
    const port = freePort();
    const first = await start("/sessions/web/exec", { create: true, command: serve(port), ...onPort(port) });
    expect(first).toMatchObject({ session: "web", created: true, decided_by: "port" });
    const busy = await http.post("/sessions/web/exec", { create: true, command: "true" });
    expect(busy.body).toMatchObject({ error: { code: "not_at_prompt" } });
    const api = new SessionApi(http, "web");
    await api.press("Ctrl+C");
    await api.until("prompt");
    const again = await api.exec("echo here", { create: true });
    expect(again).toMatchObject({ output: "here", exit_code: 0 });
    expect(again).not.toHaveProperty("created");
    await http.kill("web");
  });

  test("stays for another call, when the call that created it is refused", async () => {
    const ask = (body: object, headers: Readonly<Record<string, string>> = {}) =>
      wsh.fetch("/sessions/both/run", {
        method: "POST",
        headers: { "Content-Type": "application/json", ...headers },
        body: JSON.stringify({ create: true, max_wait_ms: 5_000, ...body }),
      });
    const [wrong, right] = await Promise.all([
      ask({ keys: ["NoSuchKey"] }),
      ask({ input: "echo $((40+2))", submit: true }),
    ]);
    expect([wrong.status, right.status]).toEqual([400, 200]);
    expect(((await right.json()) as { output: string }).output).toContain("42");
    expect((await http.list()).map(({ name }) => name)).toContain("both");
    await http.kill("both");
    expect((await ask({ keys: ["NoSuchKey"] }, { "Wsh-Request": "refused" })).status).toBe(400);
    await until("no session", async () => !(await http.list()).some(({ name }) => name === "both"));
  });

  test("is not created for a request that is refused, or under an invalid name", async () => {
    expect((await http.post("/sessions/nobody/exec", { create: true, command: "" })).body).toEqual(
      failure("invalid_request"),
    );
    const unknown = { create: true, input: "x", keys: ["NoSuchKey"] };
    expect((await http.post("/sessions/nobody/run", unknown)).body).toMatchObject(failure("unknown_key"));
    const created = await wsh.fetch("/events?since=start&type=session_created");
    expect(await created.text()).not.toContain("nobody");
    const bad = await http.post("/sessions/nobody:3/exec", { create: true, command: "true" });
    expect(bad.status).toBeGreaterThanOrEqual(400);
    expect(bad.status).toBeLessThan(500);
    expect((await http.post("/sessions/nobody/exec", { command: "true" })).body).toMatchObject(
      failure("session_not_found"),
    );
  });
});

test("a model starts a server in one call", async () => {
  const port = freePort();
  const client = await wsh.client();
  const { value, isError } = await call(client, "wsh_exec", {
    session: "model",
    create: true,
    command: serve(port),
    background: true,
    until: [{ type: "port", port }, "exited"],
  });
  expect(isError).toBe(false);
  expect(value).toMatchObject({
    session: "model",
    created: true,
    decided_by: "port",
    port: { port },
    state: "running",
  });
  const { value: later } = await call(client, "wsh_wait", {
    session: "model",
    command_id: value.command_id,
    any_of: [{ type: "port", port }],
  });
  expect(later).toMatchObject({ decided_by: "port" });
  await http.kill("model");
});

describe("wsh", () => {
  test("exec --until returns when the condition holds, and reports when it cannot", async () => {
    const port = freePort();
    const ready = await wsh.run("exec", "cli", "--create", "--until", `port=${port}`, "--", serve(port));
    expect(ready).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/), stderr: "" });
    expect(await wsh.run("wait", "cli", "--port", `${port}`)).toMatchObject({ code: 0, stdout: "port\n" });
    const taken = await wsh.run("exec", "--until", `port=${port}`, "--", "sleep 60");
    expect(taken).toMatchObject({ code: 1, stdout: expect.stringMatching(/^exec-\d+\n$/) });
    expect(taken.stderr).toContain(`port ${port} is held by`);
    const ended = await wsh.run("exec", "--until", `port=${freePort()}`, "--", "echo why; exit 7");
    expect(ended).toMatchObject({ code: 7, stdout: "", stderr: expect.stringContaining("why") });
    const late = await wsh.run("exec", "--until", "text=never", "--timeout", "0.3", "--", "sleep 60");
    expect(late.code).toBe(124);
    expect((await wsh.run("exec", "--until", "prot=3", "--", "true")).code).toBe(2);
  });

  test("exec --create creates the session in the given place, and prints where an existing one is", async () => {
    const dir = fs.mkdtempSync(join(wsh.dir, "place "));
    const place = ["exec", "placed", "--create", "--cwd", dir, "--env", "COLOUR=grün"];
    expect(await wsh.run(...place, "--", 'pwd; echo "$COLOUR"')).toMatchObject({ code: 0, stdout: `${dir}\ngrün\n` });
    const again = await wsh.run("exec", "placed", "--create", "--cwd", dir, "--", "cd /; pwd");
    expect(again).toMatchObject({ code: 0, stdout: "/\n" });
    for (const more of [
      ["--cwd", dir],
      ["--env", "COLOUR=red"],
    ]) {
      const refused = await wsh.run("exec", "placed", "--create", ...more, "--", "echo no");
      expect(refused).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("exists, in '/'") });
    }
    expect((await wsh.run("exec", "placed", "--cwd", dir, "--", "pwd")).code).toBe(2);
  });
});
