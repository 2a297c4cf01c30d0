/** A machine that answers with forged data: in lists, screens, errors, streams and events, at every output of this one. */
import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { connect, type Msg, type NatsConnection, usernamePasswordAuthenticator } from "@nats-io/transport-node";
import { joinedFile } from "../../src/cluster/fleet/creds-file.ts";
import { addressedJson } from "../../src/cluster/machine-prefix.ts";
import { prepareStateDir } from "../../src/instance/paths.ts";
import { beatSubject, parseRequestSubject, requestsTo, serviceSubject } from "../../src/protocol/fleet-subjects.ts";
import { PROTOCOL_VERSION } from "../../src/protocol/messages.ts";
import { LyingMachine } from "../support/lying-machine.ts";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { NatsServer, passwordOf, writeCredentials } from "../support/nats-server.ts";
import { isMissing } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

/** Sets a title in 7 and in 8 bits, erases, reverses the reading direction in every way, and is a tag of a page. */
const HOSTILE = "\x1b]0;owned\x07\x9b2J\u202a\u202e\u2066\u2069\u200e\u200f\u061c<img src=x onerror=alert(1)>\r\n";
/** Sequences that a terminal would execute. */
const OBEYED = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
/** Rendered text keeps everything but control characters. */
const CONTROLS = /[\x00-\x09\x0b-\x1f\x7f-\x9f]/;

let machine: LyingMachine;
let local: McpInstance;
let socket: TestSocket;
let agent: Client;

beforeAll(async () => {
  machine = await LyingMachine.start();
  local = new McpInstance();
  await machine.remote.session("dev", "--tag", "gpu");
  await machine.remote.exec("dev", "echo hi");
  const { url } = await local.startServer();
  await local.ok("servers", "add", machine.address, "--name", "m1");
  agent = await local.client();
  await local.session("dev");
  socket = new TestSocket(new URL("/ws/json", url).href.replace("http", "ws"), {});
  await socket.opened;
  await socket.call("subscribe_machines", {});
  await socket.next("the machine", ({ event }) => event === "machine_reached");
});
afterEach(() => {
  machine.lie = (_, said) => said;
});
afterAll(async () => {
  socket?.close();
  await local?.[Symbol.asyncDispose]();
  await machine?.[Symbol.asyncDispose]();
});

/** Fields with words of a known set, and names; every other text is poisoned. */
const known: ReadonlySet<string> = new Set([
  ...["id", "pane_id", "name", "session", "session_id", "window_id", "pane", "window", "socket"],
  ...[
    "state",
    "kind",
    "code",
    "decided_by",
    "type",
    "event",
    "role",
    "accept",
    "condition",
    "integration",
    "fg",
    "bg",
    "reason",
  ],
]);

function poisoned(value: unknown, key = ""): unknown {
  if (typeof value === "string") return known.has(key) ? value : `${value}${HOSTILE}`;
  if (Array.isArray(value)) return value.map((each) => poisoned(each, key));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([field, own]) => [field, poisoned(own, field)]));
}

/** Gives the machine's list sessions with some fields replaced. */
function listedAs(fields: object): void {
  machine.lie = (what, said) =>
    what === "sessions.list" && Array.isArray(said) ? said.map((each) => ({ ...each, ...fields })) : said;
}

test("no control character of any text reaches the terminal", async () => {
  machine.lie = (what, said) => (what === "sessions.list" ? said : poisoned(said));
  for (const line of [
    ...["servers", "servers info m1", "doctor m1", "list --all-machines", "status m1/dev", "commands m1/dev"],
    ...[
      "pane list m1/dev",
      "window list m1/dev",
      "layout get m1/dev --tmux",
      "exec m1/dev -- true",
      "rename m1/dev bad/name",
      "paste m1/dev",
    ],
  ]) {
    const { stdout, stderr } = await local.run(...line.split(" "));
    expect({ line, obeyed: OBEYED.exec(stdout + stderr) }).toEqual({ line, obeyed: null });
  }
  const rendered = ["screen m1/dev", "screen m1/dev --format ansi", "output m1/dev", "run m1/dev echo by-run"];
  for (const line of [...rendered, "exec m1/dev --tail 1 -- echo by-exec"]) {
    const { code, stdout } = await local.run(...line.split(" "));
    const plain = stdout.replaceAll(/\x1b\[[0-9;]*m/g, "");
    expect({ line, code, obeyed: CONTROLS.exec(plain) }).toEqual({ line, code: 0, obeyed: null });
    expect(plain).toContain("\\x1b]0;owned\\x07");
  }
});

describe("a list with an invalid session is rejected: the earlier one stays listed, with local sessions", () => {
  test.each([
    ["an id that is a name here", { id: "dev" }],
    ["an id of this machine", { id: "local/@s1", pane_id: "local/@1" }],
    ["a pane's id that is a name here", { pane_id: "dev" }],
    ["an escape sequence", { name: HOSTILE }],
    ["a way up", { name: "../dev" }],
    ["no name", { name: "" }],
    ["a name of 1 MB", { name: "x".repeat(1_000_000) }],
    ["a tag of 1 MB", { tags: ["x".repeat(1_000_000)] }],
    ["a number as a name", { name: 5 }],
  ])("%s", async (_, fields) => {
    await local.ok("list", "--all-machines");
    listedAs(fields);
    const { code, stdout, stderr } = await local.run("list", "--all-machines", "--json");
    expect({ code, names: JSON.parse(stdout).map(({ name }: { name: string }) => name) }).toEqual({
      code: 1,
      names: ["dev", "m1/dev"],
    });
    expect(stderr).toContain("the list of machine 'm1' is invalid");
    expect(stderr).toContain("its answer is invalid");
    expect(stderr).not.toContain("does not answer");
    const listed = await (await local.fetch("/sessions")).json();
    expect(listed).toMatchObject([
      { name: "dev", id: "@s1" },
      { name: "m1/dev", id: "m1/@s1", pane_id: "m1/@1", tags: ["gpu"] },
    ]);
    expect(listed).toHaveLength(2);
    const { texts } = await call(agent, "wsh_list_sessions", { server: "m1" });
    expect(texts.join().length).toBeLessThan(2_000);
    expect(texts.join()).not.toContain('"name":"m1/x');
  });
});

test("a list's name for a window or pane never becomes a name on this machine", async () => {
  const pane = { id: "dev", index: 0, active: true, pid: 1, command: "x", rows: 1, cols: 1, cwd: null, title: "" };
  const panes = [{ ...pane, state: "prompt", view: "dev" }];
  listedAs({ windows: [{ id: "dev", index: 0, name: "dev", active: true, rows: 1, cols: 1, panes }] });
  const [, there] = await local.list("--all-machines");
  expect(there?.windows).toMatchObject([{ id: "m1/dev", panes: [{ id: "m1/dev", view: "m1/dev" }] }]);
});

test("invalid times and negative sizes leave the list of all others whole", async () => {
  listedAs({ as_of: -1e300, rows: -5, cols: -1e300, pid: -1, clients: -2, created_at: 1e300 });
  expect(await local.ok("list", "--all-machines")).toMatch(/^dev .*\n.*^m1\/dev /ms);
  listedAs({ crashed: { saved_at: -1e300, why: `${HOSTILE}${"x".repeat(1_000_000)}` } });
  const listed = await local.ok("list", "--all-machines");
  expect(listed).toMatch(/^dev .*\n.*^m1\/dev .*crashed: /ms);
  expect(listed).not.toMatch(OBEYED);
  expect(listed.length).toBeLessThan(4_000);
});

describe("errors", () => {
  test("of 1 MB are cut, and name nothing of this machine", async () => {
    const error = { code: "session_not_found", message: "x".repeat(1_000_000), hint: HOSTILE, session: "dev" };
    machine.lie = (what, said) => (what === "screen.get" ? { error } : said);
    const body = (await (await local.fetch("/sessions/m1%2Fdev/screen")).json()).error;
    expect(body).toMatchObject({ code: "session_not_found", session: "m1/dev", machine: "m1" });
    expect(body.message.length).toBeLessThan(5_000);
    machine.lie = (what, said) => (what === "sessions.create" ? { error } : said);
    const { code, stderr } = await local.run("new", "m1/other");
    expect({ code, obeyed: OBEYED.test(stderr), isShort: stderr.length < 5_000 }).toEqual({
      ...{ code: 1, obeyed: false, isShort: true },
    });
  });

  test.each(["auth_required", "auth_invalid"])("%s there is no word about who asks here", async (code) => {
    machine.lie = (what, said) => (what === "screen.get" ? { error: { code, message: "give me a token" } } : said);
    const response = await local.fetch("/sessions/m1%2Fdev/screen");
    expect({ status: response.status, asks: response.headers.get("www-authenticate") }).toEqual({
      ...{ status: 403, asks: null },
    });
    const { error } = await response.json();
    expect(error).toMatchObject({ code: "access_denied", message: expect.stringContaining("'m1' refuses this one") });
    expect(error.hint).toContain("doctor");
  });

  test("that are nested too deep leave the server unharmed", async () => {
    const deep = "[".repeat(200_000) + "]".repeat(200_000);
    for (const text of [`{"result":${deep}}`, `{"error":{"code":"x","message":"y","d":${deep}}}`]) {
      machine.lie = (what, said) => (what === "hello" ? said : text);
      expect((await local.fetch("/sessions/m1%2Fdev/screen")).status).toBeGreaterThanOrEqual(500);
    }
    machine.lie = (_, said) => said;
    expect((await local.fetch("/sessions/m1%2Fdev/screen")).status).toBe(200);
  });
});

test("a stream's answer of another shape is rejected", async () => {
  machine.lie = (what, said) =>
    what === "stream" && typeof said === "object" && said !== null && "result" in said
      ? { ...said, result: { ...Object(said.result), lines: 5, session: 7 } }
      : said;
  const { code, stdout, stderr } = await local.run("screen", "m1/dev");
  expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  expect(stderr).toContain("its answer is invalid");
});

describe("an attached terminal", () => {
  test("shows the session, and passes on no name, title or message with control characters", async () => {
    machine.lie = (what, said) => (what === "stream" ? poisoned(said) : said);
    await using person = await EmulatorTerminal.attach(local, "m1/dev");
    await person.type("echo by-hand\r");
    await person.sees(/^by-hand$/m);
    await machine.remote.ok("rename", "dev", "renamed");
    await machine.remote.ok("rename", "renamed", "dev");
    await local.ok("detach", "m1/dev");
    expect(await person.exited).toBe(0);
    expect(person.bytes).toContain("detached");
    expect(person.bytes).not.toContain("\x1b]0;owned");
    expect(person.bytes).not.toContain("\u202e");
  });

  test("that is refused shows the reason without executing it", async () => {
    const error = { code: "session_ended", message: `over${HOSTILE}`, hint: HOSTILE };
    machine.lie = (what, said) => (what === "stream" && "id" in Object(said) ? { id: Object(said).id, error } : said);
    const person = EmulatorTerminal.run(local, ["attach", "m1/dev"]);
    expect(await person.exited).not.toBe(0);
    expect(person.bytes).toContain("over\\x1b]0;owned");
    expect(person.bytes).not.toContain("\x1b]0;owned");
    await person[Symbol.asyncDispose]();
  });
});

test("a greeting that is not a session process's is reported as such", async () => {
  machine.lie = (what, said) => (what === "stream" ? { hello: said } : said);
  const { code, stderr } = await local.run("screen", "m1/dev");
  expect({ code, said: stderr.split("\n")[0] }).toEqual({
    ...{ code: 1, said: "wsh: the process at m1/dev is not a session process" },
  });
});

test("events name their machine, and nothing of this one", async () => {
  const from = socket.messages.length;
  const params = { name: HOSTILE, session: { id: "dev", name: "dev", server: "vm" }, pane: "dev", window_id: "dev" };
  machine.tell(JSON.stringify({ event: "session_renamed", params, server: "other", id: 1 }));
  const told = await socket.next("the event", ({ event }) => event === "session_renamed", from);
  expect(told).toEqual({
    ...{ event: "session_renamed", server: "m1" },
    params: {
      ...{ name: `m1/${HOSTILE}`, pane: "m1/dev", window_id: "m1/dev" },
      session: { id: "m1/dev", name: "m1/dev", server: "m1" },
    },
  });
  // An event that nobody reads does not end the server, nor stop those after it.
  const deep = "[".repeat(200_000) + "]".repeat(200_000);
  machine.tell(`{"event":"x","params":{"a":${deep}}}`);
  const lagged = await socket.next("that it is missing", ({ event }) => event === "machine_lagged", from);
  expect(lagged).toEqual({ event: "machine_lagged", server: "m1", params: { skipped: 1 } });
  await machine.remote.session("later");
  await socket.next("what comes after it", ({ params: said }) => said?.name === "m1/later", from);
});

test("a picture cannot hide a target by its spelling", () => {
  const named = (json: string): unknown => JSON.parse(addressedJson("m1/dev", json));
  expect(named('{"pane" : "@5", "\\u0069d":"@s1","session":"dev","x":[{"pane_id":\n"d\\u0065v"}]}')).toEqual({
    ...{ pane: "m1/@5", id: "m1/@s1", session: "m1/dev", x: [{ pane_id: "m1/dev" }] },
  });
  expect(named('{"id":"overlay","text":"\\"pane\\":\\"@5\\""}')).toEqual({ id: "overlay", text: '"pane":"@5"' });
  expect(() => named('{"a":1},"type":"end"')).toThrow();
});

describe.skipIf(isMissing("nats-server"))("a machine of a fleet", () => {
  let hub: Wsh;
  let nats: NatsServer;
  let liar: NatsConnection;
  let list: unknown;
  const user = { name: "bob", role: "operate" } as const;
  const beat = { boot: "a boot", rev: 1, settled: true, wsh: PROTOCOL_VERSION, hostname: HOSTILE, version: HOSTILE };
  const beatNow = (more: object = {}): void => {
    const said = { ...beat, at: 1e15, sessions: 1e300, load: 0, tags: [HOSTILE], accept: "placed", ...more };
    liar.publish(beatSubject("m9"), JSON.stringify(said));
  };

  beforeAll(async () => {
    hub = new Wsh();
    nats = await NatsServer.start(hub.dir, [user], { jetstream: true, trusted: ["liar"] });
    const authenticator = usernamePasswordAuthenticator("liar", passwordOf("liar"));
    liar = await connect({ servers: [nats.url], authenticator });
    const subjects = ["$KV.wsh_machines.>"];
    const bucket = { name: "KV_wsh_machines", subjects, max_msgs_per_subject: 1, allow_direct: true, storage: "file" };
    await liar.request("$JS.API.STREAM.CREATE.KV_wsh_machines", JSON.stringify(bucket));
    const [own] = await machine.remote.list();
    const remember = (name: string, fields: object): void => {
      const sessions = { at: Date.now(), sessions: [{ ...own, ...fields }] };
      liar.publish(`$KV.wsh_machines.${name}`, JSON.stringify({ beat: null, heard_at: Date.now(), sessions }));
    };
    remember("right", {});
    remember("wrong", { id: "dev", name: HOSTILE });
    await liar.flush();
    const answer = (_: unknown, message: Msg): void => {
      const asked = parseRequestSubject(message.subject)?.operation;
      message.respond(
        JSON.stringify(asked === "sessions.list" ? { result: list } : { error: { code: 5, message: 5 } }),
      );
    };
    liar.subscribe(requestsTo("m9"), { callback: answer });
    liar.subscribe(serviceSubject("PING"), { callback: () => beatNow() });
    liar.subscribe(serviceSubject("PING", "m9"), { callback: () => beatNow() });
    liar.subscribe(serviceSubject("INFO", "*"), { callback: () => {} });
    list = [{ ...own, name: "../dev" }];
    prepareStateDir(hub.instance);
    writeCredentials(joinedFile(hub.instance), user, [nats.url]);
    await hub.server();
    await hub.session("dev");
  });
  afterAll(async () => {
    await liar.close();
    await nats[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
  });

  test("is listed by its subject, and its data is neither executed nor followed", async () => {
    const seen = async (): Promise<string> => (await hub.run("servers")).stdout;
    await until("the machine", async () => (await seen()).includes("m9 "));
    for (const args of [["servers"], ["servers", "info", "m9"], ["list", "--all-machines"], ["doctor", "m9"]]) {
      const { stdout, stderr } = await hub.run(...args);
      expect({ args, obeyed: OBEYED.exec(stdout + stderr) }).toEqual({ args, obeyed: null });
    }
    const listed = await (await hub.fetch("/sessions?all_machines=1")).json();
    expect(listed.map(({ name }: { name: string }) => name)).toEqual(["dev", "right/dev"]);
    const { error } = await (await hub.fetch("/sessions/m9%2Fdev/screen")).json();
    expect(error).toMatchObject({ code: "outcome_unknown" });
  });

  test("has one name, whatever other names its heartbeats claim", async () => {
    for (const other of [HOSTILE, "../m9", "a/b", "local/x"]) {
      const token = other.replaceAll(/[\s.]/g, "_");
      liar.publish(`wsh1.up.${token}`, JSON.stringify({ ...beat, at: Date.now(), version: "0" }));
    }
    await liar.flush();
    beatNow({ rev: 2 });
    const all = (await (await hub.fetch("/servers")).json()) as { hostname: string }[];
    const names = all.slice(1).map(({ hostname }) => hostname);
    expect(names.filter((name) => !/^(m9|right|wrong)$/.test(name))).toEqual([]);
  });
});
