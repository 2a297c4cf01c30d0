/** People use machines of a fleet: commands, attached terminals and panes, across failures; and hostile or copied machines are refused. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { connect, headers, type NatsConnection, usernamePasswordAuthenticator } from "@nats-io/transport-node";
import { encodeStreamMessage, headerNames } from "../../src/protocol/fleet-messages.ts";
import { newStreamName, requestSubject, upSubject } from "../../src/protocol/fleet-subjects.ts";
import { encodeJsonMessage, messageTypes } from "../../src/protocol/messages.ts";
import { contentOf } from "../support/content-of.ts";
import { TestFleet } from "../support/nats-fleet.ts";
import { passwordOf, writeCredentials } from "../support/nats-server.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { PATIENCE_MS, until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(120_000);

const testFleet = testWith("nats-server");
let fleet: TestFleet;
let bob: Wsh;
let m1: Wsh;

beforeAll(async () => {
  if (testFleet !== test) return;
  const users = [
    { name: "bob", role: "admin" },
    { name: "m1", role: "machine" },
    { name: "evil", role: "machine" },
  ] as const;
  fleet = await TestFleet.start(users, { wsh: { config: "audit = true\n" } });
  bob = fleet.hub("bob");
  m1 = fleet.machine("m1");
  await m1.session("dev");
  await until("m1 to be known", async () => (await bob.run("screen", "m1/dev")).code === 0);
});
afterAll(async () => {
  await fleet?.[Symbol.asyncDispose]();
});

testFleet("commands use a machine of the fleet by its name", async () => {
  const there = await bob.run("exec", "m1/dev", "--", "echo $XDG_RUNTIME_DIR; sh -c 'exit 3'");
  expect(there).toMatchObject({ code: 3, stdout: `${m1.env.XDG_RUNTIME_DIR}\n` });
  expect(await bob.ok("new", "m1/made", "--tag", "job")).toBe("m1/made\n");
  expect(await bob.ok("wait", "m1/made", "prompt")).toBe("prompt\n");
  expect((await bob.list("--all-machines")).map(({ name }) => name)).toEqual(["m1/dev", "m1/made"]);
  expect((await bob.list("--server", "m1", "--tag", "job")).map(({ name }) => name)).toEqual(["m1/made"]);
  await bob.ok("kill", "m1/made");
  await until("the count without it", async () => /^m1 +healthy +1 /m.test(await bob.ok("servers")));
  expect((await bob.run("screen", "m9/dev")).stderr).toContain("no machine 'm9'");
  expect(await bob.ok("doctor", "m1")).toContain("protocol");
});

testFleet("commands of the fleet's machines are in one history, and sessions that need input are counted", async () => {
  await bob.ok("exec", "m1/dev", "--", "echo fleet-needle");
  const { commands } = JSON.parse(await bob.ok("history", "fleet-needle", "--all-machines", "--json"));
  expect(commands[0]).toMatchObject({ server: "m1", session: "m1/dev", command: "echo fleet-needle" });
  const asked = (await (await bob.fetch("/history?query=fleet-needle&all_machines=true")).json()) as object;
  expect(asked).toMatchObject({ commands: [{ server: "m1", session: "m1/dev" }], more: false });
  await m1.ok("new", "asks", "--", "read -p 'Which? ' x");
  await until("it to be counted", async () => /^m1 +healthy +2 \(1 needs input\)/m.test(await bob.ok("servers")));
  await m1.ok("kill", "asks");
});

testFleet(
  "an attached terminal and a pane are back after nats-server was killed, and say what is wrong meanwhile",
  async () => {
    await using person = await EmulatorTerminal.attach(bob, "m1/dev");
    person.type("echo one; stty size\r");
    await person.sees(/^one\n24 80$/m);
    await bob.session("own");
    const pane = (await bob.ok("split", "own", "--view", "m1/dev")).trim();
    await bob.shows(pane, /^one$/m);
    await fleet.nats.kill();
    await person.sees(/m1 unreachable, \d+ s/);
    await m1.enter("dev", "echo meanwhile");
    await fleet.nats.begin();
    // It is undefined which of the two connections returns last and gives the session its size: a smaller one has an edge.
    await person.sees((text) => /^meanwhile *│?$/m.test(text) && !text.includes("unreachable"));
    await until("the view to be back", async () => /^meanwhile$/m.test(await bob.screen(pane)));
    person.type("\x1c\x1c");
    expect(await person.exited).toBe(0);
    await bob.ok("kill", "own");
  },
);

testFleet("an attached terminal reconnects after the servers at both ends were killed", async () => {
  await using person = await EmulatorTerminal.attach(bob, "m1/dev");
  await person.sees("meanwhile");
  await m1.killServer();
  await person.sees(/m1 unreachable/);
  await m1.server();
  await until("the terminal to be attached again", async () => (await m1.list())[0]?.attached === 1);
  await bob.killServer();
  // The terminal's own program restarts a server.
  await m1.enter("dev", "echo both-$((40+2))");
  await person.sees(/^both-42$/m);
});

testFleet("two machines under one name are a conflict, and nothing runs on either until one has left", async () => {
  await using copy = new Wsh();
  await copy.session("dev");
  writeCredentials(join(copy.dir, "fleet.creds"), { name: "m1", role: "machine" }, [fleet.nats.url]);
  const server = await copy.server("--fleet", join(copy.dir, "fleet.creds"));
  const health = async (): Promise<string> => (await (await bob.fetch("/servers/m1")).json()).health;
  await until("the conflict to be known", async () => (await health()) === "conflict");
  const mark = join(m1.dir, "ran-in-conflict");
  const refused = await bob.run("exec", "m1/dev", "--", `touch ${mark}`);
  expect(refused.code).not.toBe(0);
  expect(refused.stderr).toContain("several machines of the fleet are named 'm1'");
  expect((await bob.run("list", "--all-machines")).stdout).toContain("m1/dev");
  expect(fs.existsSync(mark)).toBe(false);
  await server.kill("SIGTERM");
  await until("m1 to be alone", async () => (await health()) === "healthy");
  expect((await bob.run("exec", "m1/dev", "--", "echo alone")).stdout).toBe("alone\n");
});

/** A client of the NATS servers that sends any message in a user's name. */
async function rawClient(user: string): Promise<NatsConnection> {
  return connect({
    servers: [fleet.nats.url],
    authenticator: usernamePasswordAuthenticator(user, passwordOf(user)),
    inboxPrefix: `_INBOX.${user}`,
    reconnect: false,
  });
}

async function bootOfM1(): Promise<string> {
  return (await (await bob.fetch("/servers/m1")).json()).server_id;
}

/** A machine's answer to a raw request. */
async function asked(
  nats: NatsConnection,
  subject: string,
  body: object,
  reply: string,
  boot: string,
  more: Readonly<Record<string, string>> = {},
): Promise<string> {
  const answer = Promise.withResolvers<string>();
  const subscription = nats.subscribe(reply, { callback: (_, message) => answer.resolve(message.string()) });
  const own = headers();
  own.set(headerNames.boot, boot);
  for (const [name, value] of Object.entries(more)) own.set(name, value);
  nats.publish(subject, JSON.stringify(body), { reply, headers: own });
  const late = setTimeout(() => answer.reject(new Error(`nothing answers ${subject}`)), PATIENCE_MS);
  try {
    return await answer.promise;
  } finally {
    clearTimeout(late);
    subscription.unsubscribe();
  }
}

testFleet(
  "a machine believes subjects alone: forged ones, other accesses and other inboxes get nothing done",
  async () => {
    const nats = await rawClient("bob");
    const boot = await bootOfM1();
    const to = { machine: "m1", user: "bob" } as const;
    const mark = join(m1.dir, "forged");
    const body = {
      op: "session.get",
      input: { command: `touch ${mark}` },
      session: "dev",
      caller: { kind: "cli", id: "x" },
    };
    const reply = (): string => `_INBOX.bob.m1.${crypto.randomUUID()}`;
    const execAs = (access: "observe" | "operate" | "admin") => requestSubject({ ...to, access, operation: "exec" });
    for (const access of ["observe", "admin"] as const) {
      expect(await asked(nats, execAs(access), body, reply(), boot)).toContain("access_denied");
    }
    const other = "_INBOX.bob.evil.x";
    let ignored = 0;
    nats.subscribe(other, { callback: () => void ignored++ });
    const own = headers();
    own.set(headerNames.boot, boot);
    nats.publish(execAs("operate"), JSON.stringify(body), { reply: other, headers: own });
    expect(await asked(nats, execAs("operate"), body, reply(), "another boot")).toBe("");
    const unknown = requestSubject({ ...to, access: "admin", operation: "peer.end" });
    expect(await asked(nats, unknown, body, reply(), boot)).toContain("unknown_method");
    const elsewhere = { ...body, session: "m2/dev" };
    expect(await asked(nats, execAs("operate"), elsewhere, reply(), boot)).toMatch(/access_denied|machine_not_found/);
    expect(await asked(nats, execAs("operate"), { junk: true }, reply(), boot)).toContain("invalid_request");
    expect({ ignored, ran: fs.existsSync(mark) }).toEqual({ ignored: 0, ran: false });
    expect(await asked(nats, execAs("operate"), { ...body, op: "ignored" }, reply(), boot)).toContain('"exit_code":0');
    expect(fs.existsSync(mark)).toBe(true);
    await nats.close();
  },
);

testFleet("the machine's audit log has each request with its caller, and refusals", async () => {
  await bob.ok("exec", "m1/dev", "--", "true");
  const nats = await rawClient("bob");
  const boot = await bootOfM1();
  for (const operation of ["exec", "peer.end"]) {
    const lie = requestSubject({ machine: "m1", user: "bob", access: "observe", operation });
    await asked(nats, lie, {}, `_INBOX.bob.m1.${crypto.randomUUID()}`, boot);
  }
  await nats.close();
  const text = await m1.run("exec", "dev", "--output", "none", "--", "true").then(() => {
    return fs.readFileSync(join(m1.instance.stateDir, "t.audit.log"), "utf8");
  });
  const records = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    // By the server, or by the session process for requests over a stream.
    .filter(({ caller }) => String(caller).includes("fleet:"));
  expect(records.filter(({ caller }) => !/\bfleet:bob\b/.test(String(caller)))).toEqual([]);
  const results = (operation: string) => records.filter(({ msg }) => msg === operation).map(({ result }) => result);
  expect(results("exec")).toEqual(expect.arrayContaining(["ok", "access_denied"]));
  expect(results("peer.end")).toContain("unknown_method");
});

testFleet("a repeated request runs once, a late one not at all, and a huge one harms no other", async () => {
  const nats = await rawClient("bob");
  const boot = await bootOfM1();
  const subject = requestSubject({ machine: "m1", user: "bob", access: "operate", operation: "exec" });
  const runs = join(m1.dir, "replayed");
  const body = {
    op: "exec",
    session: "dev",
    input: { command: `echo run >>${runs}` },
    caller: { kind: "cli", id: "x" },
  };
  const reply = (): string => `_INBOX.bob.m1.${crypto.randomUUID()}`;
  const id = { "Wsh-Request": "replayed-1" };
  const first = await asked(nats, subject, body, reply(), boot, id);
  expect(first).toContain('"exit_code":0');
  expect(await asked(nats, subject, body, reply(), boot, id)).toBe(first);
  const other = { ...body, input: { command: `echo other >>${runs}` } };
  expect(await asked(nats, subject, other, reply(), boot, id)).toContain("request_conflict");
  expect(await asked(nats, subject, other, reply(), boot, { "Wsh-Deadline": "1000" })).toContain("deadline_passed");
  for (const session of ["../x", "-oProxyCommand=touch", "a\u0000b", "m2/dev", "%2e%2e", "x".repeat(900_000)]) {
    expect(await asked(nats, subject, { ...body, session }, reply(), boot)).toMatch(/"error"/);
  }
  expect(fs.readFileSync(runs, "utf8")).toBe("run\n");
  expect((await bob.run("exec", "m1/dev", "--", "echo well")).stdout).toBe("well\n");
  await nats.close();
});

testFleet(
  "a command whose way is cut in the middle is answered by its own result, and one whose session is killed is not run again",
  async () => {
    const gate = join(m1.dir, "gate");
    const held = (name: string): string =>
      `echo ${name} >>${gate}; until [ -e ${gate}.${name} ]; do sleep 0.05; done; echo ${name} over`;
    const runs = (name: string): number => contentOf(gate).split(`${name}\n`).length - 1;
    const post = async (session: string, command: string) => {
      const init = {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ command }),
      };
      return (await (await bob.fetch(`/sessions/m1%2F${session}/exec`, init)).json()) as Record<string, unknown>;
    };
    const cut = post("dev", held("cut"));
    await until("the command to run", () => runs("cut") === 1);
    await fleet.nats.kill();
    await fleet.nats.begin();
    fs.writeFileSync(`${gate}.cut`, "");
    expect(await cut).toMatchObject({ output: "cut over", exit_code: 0 });
    expect(runs("cut")).toBe(1);

    const before = m1.hosts();
    await m1.session("doomed");
    await until("the session to be known", async () => (await bob.run("screen", "m1/doomed")).code === 0);
    const killed = post("doomed", held("killed"));
    await until("the command to run", () => runs("killed") === 1);
    await m1.killHost(m1.hosts().findIndex((pid) => !before.includes(pid)));
    expect((await killed).error).toMatchObject({
      code: expect.stringMatching(/^(session_crashed|outcome_unknown|session_exited)$/),
    });
    fs.writeFileSync(`${gate}.killed`, "");
    expect((await bob.run("exec", "m1/dev", "--", "echo well")).stdout).toBe("well\n");
    expect(runs("killed")).toBe(1);
  },
);

testFleet("a stopped reader holds one credit of a stream", async () => {
  const nats = await rawClient("bob");
  const stream = newStreamName();
  let bytes = 0;
  let isOpen = false;
  nats.subscribe(`wsh1.d.bob.m1.${stream}`, {
    callback: (_, { data }) => {
      if (data[0] === 0) bytes += data.length - 5;
      else isOpen = true;
    },
  });
  const own = headers();
  own.set(headerNames.boot, await bootOfM1());
  const up = upSubject({ machine: "m1", access: "operate", user: "bob", stream });
  let number = 0;
  const open = encodeStreamMessage({ kind: "open", open: { target: "dev", caller: "x" } }, number++);
  nats.publish(up, open, { reply: `_INBOX.bob.m1.${stream}`, headers: own });
  await until("the stream to open", () => isOpen);
  const caller = { kind: "cli", id: "cli:1", name: "wsh", connected: true };
  const request = { id: 1, op: "peer.raw", input: { snapshot: false, read_only: true }, caller, access: "admin" };
  for (const message of [
    encodeJsonMessage(messageTypes.hello, { wsh: 3, version: "0", role: "cli" }),
    encodeJsonMessage(messageTypes.request, request),
  ]) {
    nats.publish(up, encodeStreamMessage({ kind: "bytes", bytes: message }, number++), { headers: own });
  }
  await m1.enter("dev", "seq 300000; echo flood''-over");
  await until("the credit to be used", () => bytes === 256 * 1024);
  await m1.shows("dev", "flood-over");
  expect(bytes).toBe(256 * 1024);
  await nats.close();
});

testFleet("invalid answers and heartbeats harm nobody", async () => {
  await fleet.machine("evil").killServer();
  const nats = await rawClient("evil");
  const beat = {
    ...{ boot: "b", rev: 1, settled: true, wsh: 3, version: "9", hostname: "h", at: Date.now() },
    ...{ sessions: 1, load: 0, tags: [], accept: "named" },
  };
  const say = (what: object): void => nats.publish("wsh1.up.evil", JSON.stringify(what));
  let answer = "<html>";
  nats.subscribe("wsh1.q.evil.>", { callback: (_, message) => void message.respond(answer) });
  nats.subscribe("$SRV.PING.wsh.evil", { callback: () => say(beat) });
  // Its name is that of its subject, whatever its message claims.
  say({ ...beat, hostname: "m1", machine: "m1" });
  nats.publish("wsh1.up.m1", JSON.stringify({ ...beat, at: 0 }));
  say({ ...beat, tags: "none" });
  nats.publish("wsh1.up.evil", "x".repeat(100_000));
  say(beat);
  const health = async (): Promise<string> => (await (await bob.fetch("/servers/evil")).json()).health;
  await until("the hostile machine to be believed healthy", async () => {
    say(beat);
    return (await health()) === "healthy";
  });
  const m1Now = await (await bob.fetch("/servers/m1")).json();
  expect(m1Now).toMatchObject({ hostname: "m1", health: "healthy" });
  expect(m1Now.server_id).not.toBe("b");
  const headersJson = { "Content-Type": "application/json" };
  for (const [given, code] of [
    ["<html>", "outcome_unknown"],
    [JSON.stringify({ result: { wrong: true } }), "outcome_unknown"],
    [JSON.stringify({ error: { code: "bogus", message: "x" } }), "internal_error"],
  ] as const) {
    answer = given;
    const body = JSON.stringify({ rows: 3, cols: 3 });
    const done = await bob.fetch("/sessions/evil%2Fdev/resize", { method: "POST", headers: headersJson, body });
    expect((await done.json()).error.code).toBe(code);
  }
  expect((await bob.run("list", "--all-machines")).stdout).toContain("m1/dev");
  await nats.close();
});
