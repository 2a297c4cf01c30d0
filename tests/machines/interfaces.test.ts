/** Sessions of another machine over HTTP, WebSocket and MCP, like local ones: through the server that is asked. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { TestView } from "../support/view.ts";
import { TestSocket } from "../support/websocket.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(120_000);

let remote: Wsh;
let local: McpInstance;

beforeAll(async () => {
  remote = new Wsh({ config: 'agents_may = "everything"\n' });
  local = new McpInstance();
  const url = await remote.tcpServer();
  const token = (await remote.ok("token")).trim();
  await remote.session("dev");
  await local.session("dev");
  await local.server();
  const added = await local.fetch("/servers", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ address: url, name: "m1", token }),
  });
  expect({ status: added.status, body: await added.json() }).toMatchObject({
    status: 201,
    body: { hostname: "m1", health: "healthy", role: "remote", sessions: 1 },
  });
});
afterAll(async () => {
  await local[Symbol.asyncDispose]();
  await remote[Symbol.asyncDispose]();
});

async function json(path: string, body?: object, method = body === undefined ? "GET" : "POST") {
  const headers = { "Content-Type": "application/json" };
  const response = await local.fetch(path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  const text = await response.text();
  return { status: response.status, body: text === "" ? null : JSON.parse(text) };
}

function socketAt(path: string): TestSocket {
  return new TestSocket(`ws+unix://${local.instance.httpSocket}:${path}`, {});
}

test("HTTP: by name in the path, and by ?server=; a bare name is local", async () => {
  const where = { command: "echo $XDG_RUNTIME_DIR" };
  const here = await json("/sessions/dev/exec", where);
  expect(here.body).toMatchObject({
    output: expect.stringContaining(local.instance.runtimeDir.replace(/\/wsh$/, "")),
    session: "dev",
  });
  for (const path of ["/sessions/m1%2Fdev/exec", "/sessions/dev/exec?server=m1", "/sessions/m1%2F@s1/exec"]) {
    expect((await json(path, where)).body).toMatchObject({
      output: expect.stringContaining(remote.instance.runtimeDir.replace(/\/wsh$/, "")),
      session: "m1/dev",
    });
  }
  expect((await json("/sessions/m1%2Fdev?server=m2")).body.error.code).toBe("invalid_request");
  expect((await json("/sessions/m2%2Fdev")).body.error.code).toBe("machine_not_found");
  expect((await json("/sessions/ssh:%2F%2Fm1%2Fdev")).body.error.code).toBe("machine_not_found");
});

test("a list of names alone, as for completions", async () => {
  expect(await local.ok("list", "--names", "--server", "m1")).toBe("m1/dev\n");
  expect(await local.ok("list", "--names", "--all-machines")).toBe("dev\nm1/dev\n");
  expect(await local.ok("list", "--names", "--tag", "none-has-it")).toBe("");
  const bin = join(local.dir, "completing");
  fs.mkdirSync(bin);
  fs.writeFileSync(join(bin, "wsh"), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`, { mode: 0o755 });
  fs.writeFileSync(join(bin, "completions"), await local.ok("completions", "bash"));
  const line = 'COMP_WORDS=(wsh attach m1/); COMP_CWORD=2; _wsh; echo "$COMPREPLY"';
  const run = Bun.spawnSync(["bash", "--norc", "-c", `. '${bin}/completions'; ${line}`], {
    env: { ...local.env, PATH: `${bin}:${local.env.PATH}` },
  });
  expect(run.stdout.toString()).toBe("m1/dev\n");
});

test("HTTP: sessions are listed, started and ended there", async () => {
  const names = async (query: string) =>
    (await json(`/sessions${query}`)).body.map(({ name }: { name: string }) => name);
  expect(await names("")).toEqual(["dev", "m1/dev"]);
  expect(await names("?server=local")).toEqual(["dev"]);
  expect(await names("?server=m1")).toEqual(["m1/dev"]);
  const made = await json("/sessions", { name: "made", server: "m1" });
  expect(made).toMatchObject({
    status: 201,
    body: { name: "m1/made", server: "m1", id: expect.stringMatching(/^m1\/@s/) },
  });
  expect((await json("/sessions", { name: "m1/second" })).body.name).toBe("m1/second");
  expect((await remote.list()).map(({ name }) => name)).toEqual(["dev", "made", "second"]);
  for (const name of ["made", "second"])
    expect((await json(`/sessions/m1%2F${name}`, undefined, "DELETE")).status).toBe(200);
  expect((await json("/servers/m1")).body).toMatchObject({ health: "healthy", sessions: 1 });
  expect((await json("/servers/nobody")).body.error.code).toBe("server_not_found");
  expect((await json("/servers", { address: "ssh://-oProxyCommand=x" })).body.error.code).toBe("invalid_address");
});

test("WebSocket: methods, events, raw bytes and windows", async () => {
  const socket = socketAt("/ws/json");
  await socket.opened;
  const subscribed = await socket.call("subscribe", { events: ["lines"] }, { session: "m1/dev" });
  expect(subscribed.error).toBeUndefined();
  const run = await socket.call("exec", { command: "echo by-ws" }, { session: "m1/dev" });
  expect(run.result).toMatchObject({ output: expect.stringContaining("by-ws"), session: "m1/dev" });
  await socket.next("the line", ({ session, pane, ...rest }) => {
    return session === "m1/dev" && pane === "m1/@1" && JSON.stringify(rest).includes("by-ws");
  });
  socket.close();

  const own = socketAt("/sessions/m1%2Fdev/ws/json");
  await own.opened;
  expect((await own.call("exec", { command: "echo own" })).result).toMatchObject({
    output: expect.stringContaining("own"),
  });
  own.close();

  const raw = socketAt("/sessions/m1%2Fdev/ws/raw");
  await raw.opened;
  raw.socket.send(Buffer.from("echo raw-$((40+2))\r"));
  await raw.wait("the output", () => raw.text.includes("raw-42"));
  raw.close();
});

test("a page's terminal shows it, and names its panes as the page must", async () => {
  const socket = socketAt("/sessions/m1%2Fdev/ws/view");
  await socket.opened;
  const view = await TestView.open(socket);
  expect(view.opened).toMatchObject({ name: "m1/dev", session: "m1/@s1" });
  await until("the picture", () => {
    view.update();
    return view.text.includes("$");
  });
  const places = socket.messages.find(({ places }) => places !== undefined)?.places;
  expect(places.panes[0].id ?? places.panes[0].pane_id).toBe("m1/@1");
  socket.close();
});

test("MCP: the name or server selects it, and four tools report machines", async () => {
  const client = await local.client();
  const served = (await client.listTools()).tools.map(({ name }) => name);
  expect(served.slice(-4)).toEqual(["wsh_list_servers", "wsh_server_status", "wsh_add_server", "wsh_remove_server"]);
  const where = { command: "echo $XDG_RUNTIME_DIR" };
  for (const target of [{ session: "m1/dev" }, { session: "dev", server: "m1" }]) {
    const { value, isError } = await call(client, "wsh_exec", { ...where, ...target });
    expect(isError).toBe(false);
    expect(value).toMatchObject({ output: expect.stringContaining(remote.instance.runtimeDir.replace(/\/wsh$/, "")) });
    expect(value.warnings).toBeUndefined();
  }
  const names = ({ value }: { value: { name: string }[] }) => value.map(({ name }) => name);
  expect(names(await call(client, "wsh_list_sessions"))).toEqual(["dev"]);
  expect(names(await call(client, "wsh_list_sessions", { server: "m1" }))).toEqual(["m1/dev"]);
  expect((await call(client, "wsh_list_servers")).value).toEqual([
    expect.objectContaining({ address: "local", sessions: 1 }),
    expect.objectContaining({ hostname: "m1", health: "healthy", sessions: 1 }),
  ]);
  expect((await call(client, "wsh_server_status", { hostname: "m1" })).value.health).toBe("healthy");
  await remote.ok("new", "asks", "--", "read -p 'Which? ' x");
  await until("the session to need input", async () => {
    const listed = (await call(client, "wsh_list_servers")).value as Record<string, unknown>[];
    const counts = listed.map(({ sessions, needs_input }) => [sessions, needs_input]);
    return JSON.stringify(counts) === "[[1,0],[2,1]]";
  });
  expect((await call(client, "wsh_server_status", { hostname: "m1" })).value).toMatchObject({ needs_input: 1 });
  expect(await local.ok("servers")).toContain("2 (1 needs input)");
  await remote.ok("kill", "asks");
  const waited = await call(client, "wsh_wait", { session: "m1/dev", any_of: ["prompt"] });
  expect(waited.value).toMatchObject({ decided_by: "prompt" });
  const refused = await call(client, "wsh_add_server", { address: "ssh://-oProxyCommand=x" });
  expect(refused).toMatchObject({ isError: true, value: { code: "invalid_address" } });
});

test("a wait over sessions of several machines ends with the first match, and says where", async () => {
  await local.ok("new", "one", "--tag", "job");
  await remote.ok("new", "two", "--tag", "job");
  for (const who of ["one", "m1/two"]) await json(`/sessions/${encodeURIComponent(who)}/wait`, { any_of: ["prompt"] });
  const any_of = [{ type: "text", text: "done-42" }];
  for (const which of [{ sessions: ["one", "m1/two"] }, { tag: ["job"] }]) {
    const cursors = (await json("/wait", { any_of, ...which, max_wait_ms: 1 })).body;
    expect(cursors).toMatchObject({ session: null, decided_by: "timeout" });
    expect(Object.keys(cursors.output_cursors).sort()).toEqual(["m1/two", "one"]);
    const waited = json("/wait", { any_of, ...which, since: cursors.output_cursors, max_wait_ms: 60_000 });
    await remote.enter("two", "echo done-$((40+2))");
    expect((await waited).body).toMatchObject({ session: "m1/two", decided_by: "text" });
  }
  const there = (await json("/wait", { any_of, sessions: ["m1/two"], max_wait_ms: 1 })).body;
  expect(there).toMatchObject({ session: "m1/two", decided_by: "timeout" });
  const nobody = await json("/wait", { any_of, sessions: ["one", "m1/nobody"], max_wait_ms: 60_000 });
  expect(nobody.body.error).toMatchObject({ code: "session_not_found", machine: "m1" });
  expect((await json("/wait", { any_of, sessions: ["m9/x"], max_wait_ms: 1 })).body.error.code).toBe(
    "machine_not_found",
  );
  for (const who of ["one", "m1%2Ftwo"]) await json(`/sessions/${who}`, undefined, "DELETE");
});

interface Found {
  readonly command: string;
  readonly session: string | null;
  readonly server?: string;
}
const found = ({ commands }: { commands: readonly Found[] }): string[] =>
  commands.map(({ server, session, command }) => `${server} ${session} ${command}`);

test("the history of all machines is one, by time, and reports a machine that does not answer", async () => {
  await local.ok("exec", "dev", "--", "echo needle-1");
  await remote.exec("dev", "echo needle-2");
  await local.ok("exec", "dev", "--", "echo needle-3");
  const here = (await json("/servers")).body.find(({ address }: { address: string }) => address === "local").hostname;
  const all = [`${here} dev echo needle-3`, "m1 m1/dev echo needle-2", `${here} dev echo needle-1`];
  const ofMachines = JSON.parse(await local.ok("history", "needle", "--all-machines", "--json"));
  expect(found(ofMachines)).toEqual(all);
  expect(await local.ok("history", "needle", "--all-machines")).toMatch(
    /dev +echo needle-3\n.*m1\/dev +echo needle-2\n.*dev +echo needle-1/,
  );
  for (const which of [
    ["--server", "m1"],
    ["--session", "m1/dev"],
  ]) {
    expect(found(JSON.parse(await local.ok("history", "needle", "--json", ...which)))).toEqual(all.slice(1, 2));
  }
  expect((await local.run("history", "--server", "nobody")).stderr).toContain("no machine 'nobody'");
  const unknown = await local.run("history", "--session", "m1/nosuch");
  expect(unknown).toMatchObject({ code: 1, stdout: "", stderr: expect.stringContaining("'nosuch'") });
  expect(await local.ok("history", "nothing-of-it", "--session", "m1/dev")).toBe("No commands.\n");

  // Page by page it is the same, whichever machine has the next one.
  const paged: string[] = [];
  for (let before = ""; paged.length < all.length; ) {
    const { body } = await json(`/history?query=needle&all_machines=true&limit=1${before}`);
    paged.push(...found(body));
    expect(body.more).toBe(paged.length < all.length);
    before = `&before=${body.commands.at(-1).id}`;
  }
  expect(paged).toEqual(all);
  for (const query of ["server=m1", "session=m1%2Fdev"]) {
    expect(found((await json(`/history?query=needle&${query}`)).body)).toEqual(all.slice(1, 2));
  }
  const client = await local.client();
  for (const which of [{ server: "m1" }, { session: "m1/dev" }]) {
    expect(found((await call(client, "wsh_history", { query: "needle", ...which })).value)).toEqual(all.slice(1, 2));
  }

  await json("/servers", { address: "http://127.0.0.1:1", name: "gone", token: "x".repeat(32) });
  const unanswered = [{ server: "gone", code: "machine_unreachable", message: expect.stringContaining("gone") }];
  const asked = (await call(client, "wsh_history", { query: "needle", all_machines: true })).value;
  expect({ found: found(asked), unanswered: asked.unanswered }).toEqual({ found: all, unanswered });
  const incomplete = await local.run("history", "needle", "--all-machines");
  expect(incomplete.code).toBe(1);
  expect(incomplete.stdout).toContain("m1/dev");
  expect(incomplete.stderr).toContain("the commands of machine 'gone' are missing");
  await json("/servers/gone", undefined, "DELETE");

  expect(await local.ok("history", "delete", "needle", "--server", "m1", "--yes")).toBe("Deleted 1 command.\n");
  expect(found((await json("/history?query=needle&all_machines=true")).body)).toEqual([all[0] ?? "", all[2] ?? ""]);
  expect((await local.run("history", "delete", "needle", "--all-machines", "--yes")).code).toBe(2);
});

test("a pane that has moved to another session there is used from here as there", async () => {
  await remote.session("keeps", "--", "cat");
  await remote.session("gives", "--", "sh", "-c", "echo begun; exec cat");
  const pane = JSON.parse(await remote.ok("pane", "list", "gives", "--json"))[0].id;
  await remote.ok("window", "move", "gives:0", "keeps");
  await local.ok("send", `m1/${pane}`, "moved-1", "--enter");
  await until("it is typed", async () => (await local.ok("screen", `m1/${pane}`)).includes("moved-1"));

  // The session's only pane: it is meant by the session's name.
  const other = JSON.parse(await remote.ok("pane", "list", "keeps", "--json")).find(
    ({ id }: { id: string }) => id !== pane,
  );
  await remote.ok("pane", "close", other.id);
  expect(await local.ok("screen", "m1/keeps")).toContain("moved-1");
  const raw = socketAt("/sessions/m1%2Fkeeps/ws/raw?snapshot=1");
  await raw.wait("its screen", () => raw.text.includes("moved-1"));
  raw.socket.close();
  const stream = socketAt("/sessions/m1%2Fkeeps/ws/json");
  await stream.opened;
  expect(JSON.stringify(await stream.call("get_screen", {}))).toContain("moved-1");
  stream.socket.close();
  await using attached = await EmulatorTerminal.attach(local, `m1/${pane}`, { seen: "moved-1", rows: 24, cols: 100 });
  attached.type("typed-2\r");
  await attached.sees("typed-2");
  await remote.ok("kill", "keeps");
});

test("a read-only caller adds no machine", async () => {
  const client = await local.client({ args: ["--read-only"] });
  const served = (await client.listTools()).tools.map(({ name }) => name);
  expect(served).toContain("wsh_list_servers");
  expect(served).not.toContain("wsh_add_server");
});
