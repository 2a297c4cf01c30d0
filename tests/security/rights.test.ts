/**
 * Permissions of callers: every operation of the table, every request of a stream and every message, by every kind of
 * caller, for every spelling of a target, before and after sessions are renamed, panes moved, sessions killed and the
 * server restarted. The expectations are a second list: a new operation fails until its permissions are added here.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { HttpLink } from "../../src/cluster/http-link.ts";
import { TcpTransport } from "../../src/cluster/tcp-transport.ts";
import { viewOperationNames } from "../../src/keys/view-operations.ts";
import { streamRequests } from "../../src/operations/peer-requests.ts";
import { findOperation, operations } from "../../src/operations/table.ts";
import { type Access, accessCovers } from "../../src/protocol/caller.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { parseAddress } from "../../src/protocol/machines.ts";
import { messageTypes } from "../../src/protocol/messages.ts";
import { parseTarget } from "../../src/protocol/names.ts";
import { ViewRequestSchema } from "../../src/protocol/view.ts";
import { findSession } from "../../src/registry/registry.ts";
import { createToken } from "../../src/secrets/named-tokens.ts";
import { Connection } from "../../src/wire/connection.ts";
import { Browser } from "../support/login.ts";
import { Gateway, lastingPort } from "../support/server.ts";
import { attachment, personContext } from "../support/terminals/attached-peer.ts";
import { until } from "../support/until.ts";
import type { TestSocket } from "../support/websocket.ts";

setDefaultTimeout(600_000);

/** Every spelling in every phase; else each operation with one after the other. */
const full = process.env.WSH_TEST_FULL === "1";

/** The operations of each row of the table in docs/security.md; a new one fails until it is given a row. */
const rows: Readonly<Record<string, string>> = {
  "find sessions, machines, events, ports":
    "sessions.list servers.list servers.get server.info events.read ports.list session.get",
  "search history and checkpoints; wait in any session":
    "server.persist.get idle.any wait.any history.search checkpoint.list checkpoint.show checkpoint.diff",
  "read screens, output, commands, panes; wait":
    "screen.get scrollback.get idle.await lines.get lines.search commands.result wait output.get status.get " +
    "commands.list commands.get commands.output window.list pane.list",
  "read layouts, terminals, drawings, questions":
    "session.clients overlay.list overlay.get panel.list panel.get input.mode focus.get screen_mode.get ask.list layout.get",
  "take receipts": "commands.receipt receipt.key",
  "learn whether a person is present": "ask.person",
  "read buffers": "buffer.list buffer.get",
  "ask a person, report a state": "ask ask.cancel agent.report",
  "create sessions; ask at any": "sessions.create exec.fresh ask.any",
  "type, offer a line, run, prompt, signal, wait for a process or stop it; hold the keyboard":
    "input.send prompt.offer run exec agent.prompt session.signal process.wait commands.stop input.capture " +
    "input.release input.keys",
  "paste buffers and pictures": "buffer.paste image.paste",
  "change buffers": "buffer.set buffer.rename buffer.delete",
  "end sessions, windows, panes; disconnect terminals": "session.kill window.close pane.close session.detach",
  "restart, clear": "session.restart session.clear session.reset pane.respawn",
  "rename, tag, make private": "session.update window.update pane.update",
  "resize, move, arrange":
    "session.resize window.select window.move window.swap window.floats layout.set layout.preset layout.equalise " +
    "layout.rotate pane.select pane.resize pane.zoom pane.float pane.swap pane.move",
  "divide, add windows, open popups": "pane.split window.create popup.open",
  "draw, set the focus":
    "overlay.create overlay.replace overlay.patch overlay.spans overlay.write overlay.delete overlay.clear panel.create " +
    "panel.replace panel.patch panel.spans panel.write panel.delete panel.clear element.batch focus.set focus.unset " +
    "screen_mode.enter_alt screen_mode.exit_alt terminal.show",
  "read the variables of the attached terminal": "session.environment",
  "save a checkpoint under a label": "checkpoint.save",
  "restore and delete checkpoints": "checkpoint.restore checkpoint.delete",
  "answer a question by a call": "ask.answer",
  "delete history, forget, change machines, persist, stop":
    "servers.add servers.remove servers.reload server.persist.set server.stop history.delete checkpoint.forget",
};
/** Rows that are not operations: streams (below), and commands that need no server (agents.test.ts). */
const otherRows = ["attach, stream bytes", "tokens, links, logins, grants, fleets, settings and their hooks"];
const columns = ["you", "operate", "observe", "one", "own", "others", "private", "grant"] as const;
type Cells = Readonly<Record<(typeof columns)[number], string>>;

const documented = new Map<string, Cells>();
for (const line of fs.readFileSync(join(import.meta.dir, "../../docs/security.md"), "utf8").split("\n")) {
  const [title = "", ...cells] = line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
  if (title in rows || otherRows.includes(title))
    documented.set(title, Object.fromEntries(columns.map((column, at) => [column, cells[at] ?? ""])) as Cells);
}
const rowOf = new Map(
  Object.entries(rows).flatMap(([row, names]) => names.split(" ").map((name) => [name, row] as const)),
);

function cellsOf(name: string): Cells {
  const cells = documented.get(rowOf.get(name) ?? "");
  if (cells === undefined) throw new Error(`docs/security.md has no row for ${name}`);
  return cells;
}

/** Operations that end the others' targets, or that do not test rights because they accept the input unchanged. */
const notDone: ReadonlySet<string> = new Set(["server.stop", "session.kill"]);

const accessOf = (name: string): Access => {
  const { observe, operate } = cellsOf(name);
  return observe === "yes" ? "observe" : operate === "yes" ? "operate" : "admin";
};

/** Requests of a stream besides operations; everything else between processes is refused. */
const streams: Readonly<Record<string, Access>> = {
  ...{ "peer.ping": "observe", "peer.resolve": "observe", "peer.attach": "observe", "peer.client": "observe" },
  ...{ "peer.subscribe": "observe", "peer.follow": "observe", "peer.raw": "observe", "peer.window": "observe" },
  ...{ "peer.written": "observe", "peer.release": "observe", "peer.give_back": "observe", "peer.colors": "observe" },
  ...{ "peer.settings": "observe", "peer.watched": "observe", "peer.by_agent": "observe" },
  ...{ "peer.help": "observe", "peer.look": "observe", "peer.focus": "observe", "peer.command": "operate" },
  "peer.leave": "operate",
};
const ownProcesses: readonly string[] = [
  ...["adopt", "caller_gone", "checkpoint", "end", "end_pane", "give_way", "go", "keys", "named_pane", "notice"],
  ...[
    "owner_gone",
    "pane",
    "private_pane",
    "reload",
    "restart_pane",
    "return_window",
    "secret",
    "secret_prompt",
    "shown_in",
    "swap_window",
    "take_window",
    "terminal",
    "watch",
  ],
].map((name) => `peer.${name}`);

interface Kind {
  readonly access: Access;
  /** A caller limited to one session. */
  readonly one: boolean;
  readonly token: string;
}

let gateway: Gateway;
const kinds = new Map<string, Kind>();
/** Browsers that have used a link, by its access. */
const guests = new Map<Access, Browser>();

/** Guests' bearers end with their server. */
async function logIn(): Promise<void> {
  for (const [access, browser] of guests) {
    kinds.set(`guest ${access}`, { access, one: true, token: await browser.login() });
  }
}
/** Ids of the sessions: the callers' own, and the others'. */
const ids = { own: "", other: "", ownPane: "", otherPane: "" };

async function info(target: string): Promise<{
  readonly name: string;
  readonly id: string;
  readonly pane_id: string;
  readonly tags: string[];
  readonly rows: number;
  readonly clients: number;
  readonly windows: { readonly id: string; readonly panes: { readonly id: string }[] }[];
}> {
  return (await gateway.unix(`/sessions/${encodeURIComponent(target)}`)).json();
}

/** Every form of a target; `@7` and `@w5` are of a pane and a window of it. */
async function spellings(id: string, pane: string): Promise<string[]> {
  const { name, windows } = await info(id);
  const window = windows.find(({ panes }) => panes.some((each) => each.id === pane)) ?? windows[0];
  const host = (await (await gateway.unix("/server/info")).json().catch(() => ({}))).hostname;
  const machine = typeof host === "string" ? [`${host}/${name}`] : [];
  return [name, id, pane, `${name}:`, `${name}:0`, `${name}:0.0`, window?.id ?? "", ...machine];
}

beforeAll(async () => {
  // A key belongs to a port: another server has the same one.
  gateway = await Gateway.start({ args: ["--bind", `127.0.0.1:${lastingPort()}`] });
  for (const [which, name] of [
    ["own", "pub"],
    ["other", "hidden"],
  ] as const) {
    const made = await gateway.create({ name });
    ids[which] = made.id;
    ids[`${which}Pane`] = made.pane_id;
  }
  for (const access of ["observe", "operate", "admin"] as const) {
    const created = (name: string, session?: string) => createToken(gateway.instance, { name, access, session });
    kinds.set(access, { access, one: false, token: await created(`${access}-all`) });
    kinds.set(`one ${access}`, { access, one: true, token: await created(`${access}-one`, ids.own) });
  }
  for (const access of ["observe", "operate"] as const) {
    const lasts = { session: ids.own, expiresAt: Date.now() + 3_600_000, share: true } as const;
    const code = await createToken(gateway.instance, { name: `share-${access}`, access, ...lasts });
    const browser = await Browser.create(gateway);
    await browser.register(code);
    guests.set(access, browser);
  }
  await logIn();
});
afterAll(async () => {
  await gateway[Symbol.asyncDispose]();
});

/** The part of a call's answer about rights; "passed": it reached the operation's own checks. */
type Said = "denied" | "unseen" | "passed";

function said(code: string | undefined): Said {
  if (code === "access_denied" || code === "unknown_method") return "denied";
  return code === "session_not_found" || code === "pane_not_found" ? "unseen" : "passed";
}

function expected({ access, one }: Kind, name: string, scope: string, isOwn: boolean): Said {
  if (!accessCovers(access, accessOf(name))) return "denied";
  if (!one) return "passed";
  const isOpen = cellsOf(name).one.startsWith("its own");
  if (scope !== "server" && !isOwn) return "unseen";
  return isOpen ? "passed" : "denied";
}

/** No operation accepts this: a call that passes does nothing. */
const nothing: unknown = [];

interface Door {
  readonly name: string;
  ask(operation: (typeof operations)[number], target: string): Promise<string | undefined>;
}

function httpDoor(token: string): Door {
  return {
    name: "http",
    async ask({ http, scope }, target) {
      const [binding] = http;
      if (binding === undefined) return "invalid_request";
      const path = binding.path
        .replace(":name", encodeURIComponent(target).replace(/^./, percent))
        .replace(/:\w+/g, scope === "server" ? "nobody" : "0");
      const response = await gateway.tcp(path, {
        ...{ method: binding.method, token },
        ...(binding.method === "GET" || binding.method === "DELETE" ? {} : { json: {} }),
      });
      return response.ok ? undefined : (await response.json()).error?.code;
    },
  };
}

/** A letter may be written as its escape, too. */
function percent(letter: string): string {
  return letter === "%" ? letter : `%${letter.charCodeAt(0).toString(16)}`;
}

function callDoor(token: string): Door {
  return {
    name: "link call",
    async ask({ name }, session) {
      const json = { op: name, session, input: nothing, caller: { kind: "cli", id: "x", only: ids.other } };
      const response = await gateway.tcp("/link/call", { json, token });
      return (await response.json()).error?.code;
    },
  };
}

function socketDoor(socket: TestSocket): Door {
  return {
    name: "websocket",
    async ask({ ws }, session) {
      const [method] = ws;
      if (method === undefined) return "access_denied";
      return (await socket.call(method, { persistent: true }, { session })).error?.code;
    },
  };
}

function linkOf(token: string): HttpLink {
  const address = parseAddress(gateway.origin);
  if (address.kind !== "http") throw new Error(gateway.origin);
  return new HttpLink("remote", new TcpTransport(address, token, null));
}

async function asked(connection: Connection, op: string, input: unknown, target?: string): Promise<string | undefined> {
  const whose = { ...personContext, caller: { ...personContext.caller, only: ids.other } };
  const context = target === undefined ? whose : { ...whose, target };
  return connection.request(op, input, context).then(
    () => undefined,
    (thrown) => WshError.from(thrown).code,
  );
}

/** Walks all operations through the interfaces of each kind of caller. @returns deviations from the expectations */
async function walk(names: ReadonlySet<string> | null): Promise<string[]> {
  const wrong: string[] = [];
  const own = await spellings(ids.own, ids.ownPane);
  const other = await spellings(ids.other, ids.otherPane);
  for (const [kind, caller] of kinds) {
    const socket = await gateway.ws("/ws/json", { Authorization: `Bearer ${caller.token}` });
    const doors = [httpDoor(caller.token), callDoor(caller.token), socketDoor(socket)];
    const stream = await Connection.open(linkOf(caller.token).dial(ids.own), "cli");
    for (const [at, operation] of operations.entries()) {
      const { name, scope } = operation;
      if (notDone.has(name) || (names !== null && !names.has(name))) continue;
      const chosen = (all: readonly string[]): readonly string[] =>
        full || names !== null ? all : [all[at % all.length] ?? ""];
      const targets = [...chosen(own).map((t) => [t, true] as const), ...chosen(other).map((t) => [t, false] as const)];
      for (const [target, isOwn] of targets) {
        const wanted = expected(caller, name, scope, isOwn);
        // As an admin no operation is tried that would be carried out.
        if (wanted === "passed" && (caller.access === "admin" || scope === "server")) continue;
        for (const door of full ? doors : [doors[(at + kind.length) % doors.length] as Door]) {
          if (door.name === "websocket" && (operation.ws.length === 0 || wanted === "passed")) continue;
          if (door.name === "http" && wanted === "passed") continue;
          const code = await door.ask(operation, target);
          const is = said(code);
          // HTTP checks the form of a body first; not every interface accepts this machine's own name.
          if (door.name === "http" && code === "invalid_request") continue;
          const isAsExpected = target.includes("/") ? wanted === "passed" || is !== "passed" : is === wanted;
          if (!isAsExpected) wrong.push(`${kind}: ${door.name} ${name} '${target}': ${code}, not ${wanted}`);
        }
        // A stream belongs to one process, so a target names no other; its own claims are not trusted.
        if (scope !== "server" && accessCovers(caller.access, operation.access)) continue;
        const there = await asked(stream.connection, name, nothing, target);
        if (said(there) !== "denied") wrong.push(`${kind}: stream ${name} '${target}': ${there}, not denied`);
      }
    }
    stream.connection.close();
    socket.close();
  }
  return wrong;
}

/** Valid input of no operation: a permitted one is not carried out. */
const unreadable: unknown = 0;

test("every operation, by a person, and by an agent in its own session, a person's and a private one", async () => {
  const headers = { "Content-Type": "application/json", "Wsh-Agent": "evil" };
  const made = await gateway.fetch("/sessions", { method: "POST", headers, body: '{"name":"its"}' });
  const { id: its } = await made.json();
  const { id: hushed } = await gateway.create({ name: "hushed", private: true });
  await gateway.ok("buffer", "set", "-n", "theirs", "text");
  const wrong: string[] = [];
  const agents = { byName: { kind: "mcp", name: "evil" }, above: { kind: "cli", agent: "evil" } } as const;
  const socketOf = (id: string): string => findSession(gateway.instance, parseTarget(id)).socket;
  for (const [column, id] of Object.entries({ you: ids.own, own: its, others: ids.other, private: hushed })) {
    const { connection } = await Connection.open(socketOf(id), "cli");
    for (const { name, scope } of operations) {
      if (scope === "server") continue;
      const wanted = cellsOf(name)[column as keyof Cells];
      for (const [how, agent] of Object.entries(agents)) {
        const caller = { ...personContext.caller, ...(column === "you" ? {} : agent) };
        // Of a buffer, others' are selected.
        const input =
          column === "you" || column === "own"
            ? unreadable
            : name.startsWith("buffer.")
              ? { buffer: column === "private" ? "new" : "theirs" }
              : { max_wait_ms: 1 };
        const is = await connection.request(name, input, { caller, access: "admin" }).then(
          () => "passed",
          (thrown) => said(WshError.from(thrown).code),
        );
        if ((is === "denied") !== ["asks", "no"].includes(wanted))
          wrong.push(`${how}, ${column}: ${name}: ${is}, not ${wanted}`);
      }
    }
    connection.close();
  }
  for (const {
    name,
    scope,
    http: [binding],
  } of operations) {
    if (scope !== "server" || binding === undefined || name === "server.stop") continue;
    const wanted = cellsOf(name);
    const path = binding.path.replace(/:\w+/g, "theirs");
    const hasBody = binding.method !== "GET" && binding.method !== "DELETE";
    const response = await gateway.fetch(path, {
      method: binding.method,
      headers,
      ...(hasBody ? { body: '{"session":"none","name":"its"}' } : {}),
    });
    if ((response.status === 403) !== (wanted.own === "no"))
      wrong.push(`an agent: ${name}: ${response.status}, not ${wanted.own}`);
  }
  expect(wrong).toEqual([]);
  for (const name of ["its", "hushed"]) await gateway.ok("kill", name);
});

/** State that none of this may change. */
async function facts(): Promise<string> {
  const { name, rows, tags, windows } = await info(ids.other);
  return JSON.stringify({ name, rows, tags, windows: windows.map((each) => each.panes.map(({ id }) => id)) });
}

test("each operation has a permitted caller, and so has each request between processes", async () => {
  expect([...rowOf.keys()].sort()).toEqual(operations.map(({ name }) => name as string).sort());
  expect([...documented.keys()].sort()).toEqual([...Object.keys(rows), ...otherRows].sort());
  for (const { name, access } of operations) expect([name, accessOf(name)]).toEqual([name, access]);
  for (const [row, names] of Object.entries(rows)) {
    const granted = new Set(names.split(" ").flatMap((name) => findOperation(name)?.grant ?? []));
    const told = documented.get(row)?.grant ?? "";
    expect([row, told]).toEqual([
      row,
      granted.size === 0 ? "no" : [...granted].map((each) => `\`${each}\``).join(", "),
    ]);
  }
  expect(Object.fromEntries(streamRequests)).toEqual(streams);
  const said = new Set<string>();
  const src = join(import.meta.dir, "../../src");
  for await (const file of new Bun.Glob("**/*.ts").scan(src)) {
    for (const [, name] of (await Bun.file(join(src, file)).text()).matchAll(/"(peer\.[a-z_]+)"/g))
      said.add(name ?? "");
  }
  expect([...said].sort()).toEqual([...Object.keys(streams), ...ownProcesses].sort());
});

test("every operation, by every kind of caller and form of a target, over every interface", async () => {
  const before = await facts();
  expect(await walk(null)).toEqual([]);
  expect(await facts()).toBe(before);
});

test("every request of a stream, by every kind of caller", async () => {
  const wrong: string[] = [];
  for (const [kind, caller] of kinds) {
    const { connection } = await Connection.open(linkOf(caller.token).dial(ids.own), "cli");
    for (const op of [...Object.keys(streams), ...ownProcesses]) {
      const needed = streams[op];
      const isOpen = needed !== undefined && accessCovers(caller.access, needed);
      const is = said(await asked(connection, op, nothing));
      if (is !== (isOpen ? "passed" : "denied")) wrong.push(`${kind}: ${op}: ${is}`);
    }
    connection.close();
    const reached = await Connection.open(linkOf(caller.token).dial(ids.other), "cli").then(
      ({ connection: other }) => other.close() ?? "passed",
      (thrown) => said(WshError.from(thrown).code),
    );
    if (reached !== (caller.one ? "unseen" : "passed"))
      wrong.push(`${kind}: a stream of the other session: ${reached}`);
  }
  expect(wrong).toEqual([]);
});

test("a terminal's own actions show a caller of one session nothing of another, and a read-only one changes nothing", async () => {
  await gateway.type("hidden", "echo not''-for-guests\r");
  await gateway.shows("hidden", /^not-for-guests$/m);
  const before = await facts();
  const made = join(gateway.dir, "made-by-a-key");
  const looked = [...kinds].filter(([, { one, access }]) => one || access === "observe");
  const terminals = looked.flatMap(([kind, { token, one }]) =>
    viewOperationNames.map(async (view) => {
      const { connection } = await Connection.open(linkOf(token).dial(ids.own), "attach");
      let text = "";
      connection.listen({ message: ({ payload }) => (text += Buffer.from(payload).toString()) });
      const inputs: Readonly<Record<string, object>> = {
        "view.run": { run: ["touch", made] },
        "view.ask": { do: "session.update name=%%", question: "Name" },
        "view.session": { to: "next" },
        "view.find": { text: "guests" },
      };
      const input = inputs[view] ?? {};
      const bindings = {
        A: { operation: view, input, description: "", ...(view === "view.go" ? { target: "hidden" } : {}) },
      };
      const drawn = { prefix: "Ctrl+\\", render_only: true, pass_through: false, bindings };
      await asked(connection, "peer.attach", { ...attachment, ...drawn });
      await asked(connection, "peer.command", { key: "A" });
      return { kind: `${kind} ${view}`, one, connection, text: () => text };
    }),
  );
  const opened = await Promise.all(terminals);
  // Input then filters, chooses, ends and renames.
  for (const keys of ["hid", "\x18", "y", "\x12", "taken\r", "\x1b[B\r", "\x14made\r"]) {
    await Bun.sleep(60);
    for (const { connection } of opened) connection.sendBytes(messageTypes.input, Buffer.from(keys));
  }
  await Bun.sleep(400);
  const seen = opened.filter(({ one, text }) => one && /not-for-guests|"hidden|> ?hidden|hidden +prompt/.test(text()));
  expect(seen.map(({ kind }) => kind)).toEqual([]);
  for (const { connection } of opened) connection.close();
  expect(await facts()).toBe(before);
  expect(fs.existsSync(made)).toBe(false);
  const listed = await (await gateway.unix("/sessions")).json();
  expect(listed.map(({ name }: { name: string }) => name).sort()).toEqual(["hidden", "pub"]);
});

test("every message of every stream, by a read-only caller, changes nothing", async () => {
  /** Messages of a client of each type, and their effect. */
  const sent: Readonly<Record<keyof typeof messageTypes, string | null>> = {
    ...{ hello: "{}", request: null, response: "{}", cancel: '{"id":1}', event: '{"event":"moved"}' },
    ...{ output: "x", input: "typed-by-looker\r", frame: "{}", images: "x", resize: '{"rows":5,"cols":10}', end: "{}" },
  };
  const views: Readonly<Record<string, object>> = {
    open: { client: "looker-one", rows: 7, cols: 30, size: "fit" },
    size: { rows: 5, cols: 20, size: "fit" },
    ...{ shown: { n: 9 }, focus: { on: true }, release: {}, ping: {} },
    colors: { background: { r: 1, g: 2, b: 3 } },
  };
  const names = ViewRequestSchema.options.map(({ entries }) => entries.type.literal);
  expect(Object.keys(views)).toEqual(names);
  const own = async (): Promise<string> => JSON.stringify([(await info(ids.own)).rows, (await info(ids.own)).tags]);
  const before = await own();
  for (const kind of ["observe", "one observe", "guest observe"]) {
    const token = kinds.get(kind)?.token ?? "";
    const each = Object.entries(sent).flatMap(([type, payload]) =>
      payload === null ? [] : ["peer.attach", "peer.raw", "peer.client"].map((op) => [type, payload, op] as const),
    );
    await Promise.all(
      each.map(async ([type, payload, op]) => {
        const { connection } = await Connection.open(linkOf(token).dial(ids.own), "attach");
        const input = op === "peer.raw" ? { snapshot: false, read_only: false } : { ...attachment };
        await asked(connection, op, input);
        connection.sendBytes(messageTypes[type as keyof typeof messageTypes], Buffer.from(payload));
        await Promise.race([asked(connection, "peer.ping", {}), Bun.sleep(200)]);
        connection.close();
      }),
    );
    await until("they are closed", async () => (await info(ids.own)).clients === 0);
    const headers = { Authorization: `Bearer ${token}` };
    const view = await gateway.ws("/sessions/pub/ws/view", headers);
    for (const [type, fields] of Object.entries(views)) view.send({ type, ...fields });
    await view.next("the view to open", ({ type }) => type === "opened");
    view.socket.send(Buffer.concat([Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]), Buffer.from("typed-by-looker\r")]));
    const raw = await gateway.ws("/sessions/pub/ws/raw", headers);
    raw.socket.send("typed-by-looker\r");
    await raw.closed;
    view.close();
  }
  expect(await own()).toBe(before);
  expect(await gateway.ok("screen", "pub")).not.toContain("typed-by-looker");
});

test("over MCP a caller of one session is told the same of others as of unknown ones", async () => {
  const wrong: string[] = [];
  for (const [kind, { token, one }] of kinds) {
    if (!one) continue;
    let session = "";
    const call = async (method: string, params: object): Promise<string> => {
      const headers = { Accept: "application/json, text/event-stream", ...(session && { "Mcp-Session-Id": session }) };
      const json = { jsonrpc: "2.0", id: 1, method, params };
      const response = await gateway.tcp("/mcp", { token, json, headers });
      session = response.headers.get("mcp-session-id") ?? session;
      return response.text();
    };
    const clientInfo = { name: "test", version: "0" };
    await call("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    const listed = await call("tools/list", {});
    const tools = [...new Set([...listed.matchAll(/"name":"(wsh_[a-z_]+)"/g)].map(([, name]) => name ?? ""))];
    if (tools.length < 5) wrong.push(`${kind}: ${tools.length} tools: ${listed.slice(0, 200)}`);
    for (const name of tools) {
      for (const named of ["hidden", ids.other, ids.otherPane, "hidden:0.0"]) {
        const args = { session: named, command: "touch by-mcp", text: "x", to: named, view: named, target: named };
        const text = await call("tools/call", { name, arguments: args });
        if (/not-for-guests|"name":"hidden"/.test(text)) wrong.push(`${kind}: ${name} ${named}: ${text.slice(0, 300)}`);
      }
    }
  }
  expect(wrong).toEqual([]);
});

/** One operation of each scope and access: enough where the path to the session is tested. */
const few: ReadonlySet<string> = new Set(["session.get", "screen.get", "input.send", "pane.list", "session.update"]);

/** A person's change of a session or pane, which must succeed. */
async function changed(path: string, init: Parameters<Gateway["unix"]>[1]): Promise<{ readonly pane: string }> {
  const answer = await gateway.unix(`/sessions/${path}`, init);
  if (!answer.ok) throw new Error(await answer.text());
  return answer.json();
}

test("after a rename, a moved pane, a restart and a kill, rights follow the session", async () => {
  const phases: [string, () => Promise<unknown>][] = [
    [
      "renamed, and the names are others'",
      async () => {
        const rename = (id: string, name: string) => changed(id, { method: "PATCH", json: { name } });
        await rename(ids.other, "moving");
        await rename(ids.own, "hidden");
        await rename(ids.other, "pub");
      },
    ],
    [
      "a pane of each in the other",
      async () => {
        const split = async (id: string): Promise<string> => (await changed(`${id}/panes`, { json: {} })).pane;
        const [mine, theirs] = [await split(ids.own), await split(ids.other)];
        await changed(`${mine}/pane/move`, { json: { to: ids.other } });
        await changed(`${theirs}/pane/move`, { json: { to: ids.own } });
        ids.ownPane = theirs;
        ids.otherPane = mine;
      },
    ],
    [
      "another server",
      async () => {
        await gateway.end();
        await gateway.serve();
        await logIn();
      },
    ],
    [
      "the other was killed, and another has its name",
      async () => {
        await gateway.kill(ids.other);
        const made = await gateway.create({ name: "pub" });
        ids.other = made.id;
        ids.otherPane = made.pane_id;
      },
    ],
  ];
  for (const [phase, change] of phases) {
    await change();
    expect([phase, await walk(full ? null : few)]).toEqual([phase, []]);
  }
  await gateway.kill(ids.own);
  await until("the session to be gone", async () => (await gateway.unix(`/sessions/${ids.own}`)).status === 404);
  const made = await gateway.create({ name: "hidden" });
  for (const [kind, { one, token }] of kinds) {
    if (!one) continue;
    const seen = await gateway.tcp(`/sessions/${encodeURIComponent(made.id)}`, { token });
    expect([kind, seen.status]).toEqual([kind, 404]);
    expect(await (await gateway.tcp("/sessions", { token })).json()).toEqual([]);
  }
});
