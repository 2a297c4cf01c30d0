/** `wsh fleet`: its files and refusals, admission, and the permissions of each role, with a real nats-server. */
import { afterAll, test as always, beforeAll, expect } from "bun:test";
import { X509Certificate } from "node:crypto";
import fs from "node:fs";
import { join } from "node:path";
import { connect } from "@nats-io/transport-node";
import { packInvitation } from "../../src/cluster/authority/invitation.ts";
import { rolePermissions } from "../../src/cluster/authority/permissions.ts";
import { joinedFile, readCredentials } from "../../src/cluster/fleet/creds-file.ts";
import { type FleetRole, fleetRoles } from "../../src/protocol/fleet.ts";
import { contentOf } from "../support/content-of.ts";
import { refusals, TestFleet } from "../support/fleet.ts";
import { freePorts } from "../support/free-ports.ts";
import { permissionsOf } from "../support/nats-server.ts";
import { isMissing, pathOf, testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const test = testWith("nats-server");
let fleet: TestFleet;
let maker: Wsh;

beforeAll(async () => {
  if (isMissing("nats-server")) return;
  fleet = await TestFleet.start();
  maker = fleet.maker;
});
afterAll(() => fleet?.[Symbol.asyncDispose]());

function modes(dir: string): string[] {
  return fs.readdirSync(dir, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const { mode } = fs.statSync(join(entry.parentPath, entry.name));
    return (mode & 0o777) === (entry.isDirectory() ? 0o700 : 0o600) ? [] : [`${entry.name} ${mode.toString(8)}`];
  });
}

always("what init writes is its owner's alone, and the way to start it is printed", async () => {
  await using wsh = new Wsh();
  const { stdout, code } = await wsh.run("fleet", "init", "f", "--host", "127.0.0.1");
  expect({ stdout, code }).toEqual({ stdout: `cd ${wsh.dir}/f/server1 && nats-server -c nats-server.conf\n`, code: 0 });
  expect(modes(join(wsh.dir, "f"))).toEqual([]);
  expect(fs.statSync(join(wsh.dir, "f")).mode & 0o777).toBe(0o700);
  const server = fs.readdirSync(join(wsh.dir, "f/server1"), { recursive: true }).map(String);
  expect(server.filter((name) => name.endsWith(".seed") || name.includes("ca.key"))).toEqual([]);
});

const refusedInits: readonly [args: readonly string[], reason: string][] = [
  [["--host", "a b"], '"a b" is not a host name'],
  [["--host", "-oProxy"], "not a host name"],
  [["--host", "1.2.3.400"], "not a host name"],
  [["--host", "h", "--host", "H"], "duplicate host"],
  [["--port", "70000"], "not a port"],
  [["--port", "4222", "--wss-port", "4222"], "must all differ"],
  [["--name", "a.b"], "is not a fleet name"],
  [["--cert", "/etc/hostname"], "--cert needs --key"],
  [["--ca", "/etc/hostname"], "needs --cert"],
  [["--cert", "/etc/hostname", "--key", "/etc/hostname"], "not readable PEM"],
  [["--cert", "/none", "--key", "/none"], "cannot be read"],
];

always("an init that is refused says why, before anything is written", async () => {
  await using wsh = new Wsh();
  for (const [args, reason] of refusedInits) {
    const { code, stdout, stderr } = await wsh.run("fleet", "init", "f", ...args);
    expect({ args, failed: code !== 0, stdout }).toEqual({ args, failed: true, stdout: "" });
    expect(stderr).toContain(reason);
    expect(fs.readdirSync(wsh.dir).filter((name) => name.startsWith("f"))).toEqual([]);
  }
});

always("a directory that is there is never written over, and certificates of one's own must fit", async () => {
  await using wsh = new Wsh();
  fs.mkdirSync(join(wsh.dir, "f"));
  expect((await wsh.run("fleet", "init", "f")).stderr).toContain("already exists");
  expect(fs.readdirSync(join(wsh.dir, "f"))).toEqual([]);

  await wsh.ok("fleet", "init", "one", "--host", "n1.example.org");
  const own = (fleetDir: string) => ["--cert", `${fleetDir}/server1/tls/server.pem`, "--ca", `${fleetDir}/keys/ca.pem`];
  const key = ["--key", "one/server1/tls/server.key"];
  const misfit = await wsh.run("fleet", "init", "two", "--host", "n2.example.org", ...own("one"), ...key);
  expect(misfit.stderr).toContain("--cert is not for 'n2.example.org'");
  await wsh.ok("fleet", "init", "two", "--host", "n1.example.org", ...own("one"), ...key);
  const strange = ["--key", "two/keys/ca.key"];
  expect(fs.existsSync(join(wsh.dir, "two/keys/ca.key"))).toBe(false);
  expect((await wsh.run("fleet", "init", "three", ...own("one"), ...strange)).code).not.toBe(0);
  const other = await wsh.run("fleet", "init", "three", ...own("one"), "--key", "one/keys/ca.key");
  expect(other.stderr).toContain("--key is not the key of --cert");
});

test("a cluster of three knows its servers by the fleet's certificates", async () => {
  await using wsh = new Wsh();
  const [tls = 0, wss = 0, between = 0] = freePorts(3);
  const hosts = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
  const ports = ["--port", `${tls}`, "--wss-port", `${wss}`, "--cluster-port", `${between}`];
  await wsh.ok("fleet", "init", "f", ...hosts.flatMap((host) => ["--host", host]), ...ports);
  const ca = new X509Certificate(fs.readFileSync(join(wsh.dir, "f/keys/ca.pem")));
  const pem = (at: number) => new X509Certificate(fs.readFileSync(join(wsh.dir, `f/server${at + 1}/tls/server.pem`)));
  const before = hosts.map((_, at) => pem(at).serialNumber);
  expect((await wsh.ok("fleet", "renew", "--dir", "f")).trim().split("\n")).toHaveLength(3);
  for (const [at, host] of hosts.entries()) {
    // Machines invited before accept it.
    expect([pem(at).checkIssued(ca), pem(at).verify(ca.publicKey), pem(at).checkIP(host)]).toEqual([true, true, host]);
    expect(pem(at).serialNumber).not.toBe(before[at] ?? "");
  }
  const servers = hosts.map((_, at) => {
    const log = join(wsh.dir, `${at}.log`);
    const cwd = join(wsh.dir, `f/server${at + 1}`);
    return { log, child: Bun.spawn([pathOf("nats-server") ?? "", "-c", "nats-server.conf", "-l", log], { cwd }) };
  });
  try {
    for (const { log } of servers) {
      const read = () => contentOf(log);
      await until("two routes", async () => (read().match(/Route connection created/g) ?? []).length >= 2 || null);
    }
  } finally {
    for (const { child } of servers) child.kill("SIGKILL");
    await Promise.all(servers.map(({ child }) => child.exited));
  }
});

test("nobody is admitted without credentials or without TLS, on either port", async () => {
  const ca = fs.readFileSync(join(fleet.dir, "keys/ca.pem"), "utf8");
  const servers = `127.0.0.1:${fleet.ports.tls}`;
  const options = { servers, reconnect: false, timeout: 20_000 };
  await expect(connect({ ...options, tls: { ca } })).rejects.toThrow(/authorization/i);
  await expect(connect({ ...options, user: "a", pass: "b", tls: { ca } })).rejects.toThrow(/authorization/i);
  await expect(connect(options)).rejects.toThrow();
  const socket = new WebSocket(`wss://127.0.0.1:${fleet.ports.wss}`, { tls: { ca } } as never);
  const said: string[] = [];
  const { promise, resolve } = Promise.withResolvers<void>();
  socket.onopen = () => socket.send('CONNECT {"verbose":true,"protocol":1}\r\nPING\r\n');
  socket.onmessage = ({ data }) => said.push(typeof data === "string" ? data : Buffer.from(data).toString());
  socket.onclose = () => resolve();
  await promise;
  expect(said.join("")).toContain("Authorization Violation");
  expect(said.join("")).not.toContain("PONG");
});

test("invite prints one line for a shell, join writes the credentials for their owner alone", async () => {
  await using wsh = new Wsh();
  const line = await fleet.invite("observe", "bob");
  expect(line).toMatch(/^PATH="\$PATH:\$HOME\/\.local\/bin" wsh fleet join wsh-fleet-1\.[A-Za-z0-9_-]+$/);
  expect(line.length).toBeLessThan(2_000);
  const word = line.split(" ").at(-1) ?? "";
  const joined = await wsh.runWith({ input: line }, "fleet", "join", "--file", "own.creds");
  expect(joined).toMatchObject({ code: 0 });
  expect(fs.statSync(join(wsh.dir, "own.creds")).mode & 0o777).toBe(0o600);
  expect((await wsh.run("fleet", "join", word, "--file", "own.creds")).stderr).toContain("already exists");
  expect(await wsh.ok("fleet", "join", word)).toContain("as 'bob' (observe)");
  expect(await wsh.ok("fleet", "join", word)).toContain("as 'bob' (observe)");

  const other = packInvitation(await fleet.invited("observe", "carol"));
  expect((await wsh.run("fleet", "join", other)).stderr).toContain("is already 'bob' of fleet");
  await wsh.ok("fleet", "leave");
  expect((await wsh.run("fleet", "leave")).stderr).toContain("not in a fleet");
  for (const bad of ["x", word.slice(0, -20), `${word}A!`, "wsh-fleet-1.AAAA"]) {
    const { code, stderr } = await wsh.run("fleet", "join", bad);
    expect({ code, known: stderr.includes("invitation") || stderr.includes("no credentials") }).toEqual({
      code: 1,
      known: true,
    });
  }
});

always("who may invite whom is checked before a key is used", async () => {
  await using wsh = new Wsh();
  const at = async (...args: string[]) => (await wsh.run("fleet", "invite", ...args)).stderr;
  expect(await at("--role", "machine")).toContain("no fleet in");
  await wsh.ok("fleet", "init", "--host", "127.0.0.1");
  expect(await at()).toContain("--role is missing");
  expect(await at("--role", "root")).toContain("unknown role 'root'");
  expect(await at("--role", "machine", "--name", "a.b")).toContain('"a.b" is not a valid fleet member name');
  expect(await at("--role", "machine", "--tag", "a b")).toContain("a b");
  expect(await at("--role", "admin", "--tag", "gpu")).toContain("only machines have tags");
  expect(await at("--role", "machine", "--expires", "soon")).toContain("'soon' is not a duration");
  await wsh.ok("fleet", "invite", "--role", "machine");
  await wsh.ok("fleet", "invite", "--role", "machine", "--tag", "gpu", "--expires", "1h");
  expect(await at("--role", "admin", "--name", "m1")).toContain("'m1' has already been invited, as machine");
  const listed = JSON.parse(await wsh.ok("fleet", "list", "--json"));
  expect(listed).toMatchObject([
    { name: "m1", role: "machine", tags: [], state: "invited", expires_at: null },
    { name: "m2", role: "machine", tags: ["gpu"], state: "invited" },
  ]);
  fs.chmodSync(join(wsh.instance.stateDir, "fleet"), 0o755);
  expect(await at("--role", "machine")).toContain("is accessible to others");
});

test("a revoked user is disconnected at once, and stays out after a restart of the server", async () => {
  const credentials = await fleet.credentials("operate", "dave");
  const connection = await fleet.client(credentials);
  await connection.flush();
  await maker.ok("fleet", "revoke", "dave", "--dir", fleet.dir);
  await connection.closed();
  await expect(fleet.client(credentials)).rejects.toThrow(/authorization/i);
  // The name is free again.
  await (await fleet.client(await fleet.credentials("observe", "dave"))).flush();
  await fleet.stopServer();
  const late = await maker.run("fleet", "revoke", "dave", "--dir", fleet.dir);
  expect(late).toMatchObject({ code: 1 });
  expect(late.stderr).toContain("were not updated");
  await fleet.startServer();
  await expect(fleet.client(credentials)).rejects.toThrow(/authorization/i);
  expect(await maker.ok("fleet", "revoke", "dave", "--dir", fleet.dir)).toContain("is revoked");
  expect((await maker.run("fleet", "revoke", "nobody", "--dir", fleet.dir)).stderr).toContain("has no member 'nobody'");
});

test("the list and doctor tell a user who is no longer admitted", async () => {
  await using _m1 = await fleet.join("machine", "refused-m1");
  await using bob = await fleet.join("operate", "refused-bob");
  type Entry = { hostname: string; health: string; error?: string };
  const listed = async (wsh: Wsh): Promise<Entry[]> => JSON.parse(await wsh.ok("servers", "--json"));
  const entry = async (name: string) => {
    const all = (await (await bob.fetch("/servers")).json()) as Entry[];
    return all.find(({ hostname }) => hostname === name);
  };
  // The command starts the server that is asked then.
  await listed(bob);
  await until("m1 to be healthy", async () => (await entry("refused-m1"))?.health === "healthy");
  expect((await listed(bob)).find(({ hostname }) => hostname === "refused-m1")?.health).toBe("healthy");
  await maker.ok("fleet", "revoke", "refused-bob", "--dir", fleet.dir);
  const rejected = await until("bob to be rejected", async () => {
    const found = await entry("refused-m1");
    return found?.health === "rejected" && found;
  });
  expect(rejected.error).toContain("refuse this machine");
  const own = async (wsh: Wsh) => ((await (await wsh.fetch("/servers")).json()) as Entry[])[0]?.error;
  expect(await own(bob)).toContain("the fleet's servers refuse this machine");
  const asked = await bob.run("screen", "refused-m1/dev");
  expect({ code: asked.code, said: asked.stderr.includes("new invitation") }).toEqual({ code: 1, said: true });
  expect((await bob.run("doctor")).stdout).toMatch(/fleet credentials.*is refused/);
});

test("a machine limited to secure WebSocket uses others and is used, and the fleet's bucket remembers machines that are gone", async () => {
  await using admin = await fleet.join("admin", "keeper");
  await admin.ok("servers");
  const hasBucket = async () =>
    (await admin.run("doctor")).stdout.includes("the bucket wsh_machines remembers machines");
  await until("the bucket", hasBucket);
  await using remote = await fleet.join("machine", "behind", { wssOnly: true });
  await using local = await fleet.join("operate", "outside", { wssOnly: true });
  for (const { instance } of [remote, local]) {
    const { settings } = readCredentials(joinedFile(instance));
    expect(settings.servers.every((server) => server.startsWith("wss://"))).toBe(true);
  }
  await remote.session("dev");
  const said = async () => (await local.run("exec", "behind/dev", "--", "echo $XDG_RUNTIME_DIR")).stdout;
  expect(await until("the machine to be there", said)).toBe(`${remote.env.XDG_RUNTIME_DIR}\n`);
  // The session is written there some time after its creation.
  const observer = await fleet.client(await fleet.credentials("observe", "reader"));
  await until("the bucket to have it", async () => {
    const subject = "$JS.API.DIRECT.GET.KV_wsh_machines.$KV.wsh_machines.behind";
    const inbox = { reply: `_INBOX.reader.$js.${crypto.randomUUID()}` };
    const answer = Promise.withResolvers<string>();
    observer.subscribe(inbox.reply, { max: 1, callback: (_, message) => answer.resolve(message.string()) });
    observer.publish(subject, "", inbox);
    return (await answer.promise).includes('"name":"dev"');
  });
  await remote.killServer();
  await using late = await fleet.join("observe", "latecomer");
  const remembered = await until("the machine to be remembered", async () => {
    const { stdout } = await late.run("list", "--all-machines", "--json");
    return (JSON.parse(stdout) as { name: string }[]).find(({ name }) => name === "behind/dev");
  });
  expect(remembered).toMatchObject({ state: "unresponsive", as_of: expect.any(Number) });
});

/** Subjects that somebody might forge, each with the roles that may use it; the machine is `mm`, the caller `eve`. */
const publishing: readonly [subject: string, machine: boolean, callers: readonly FleetRole[]][] = [
  ["wsh1.q.mx.observe.NAME.sessions%2Elist", false, ["observe", "operate", "admin"]],
  ["wsh1.q.mx.operate.NAME.exec", false, ["operate", "admin"]],
  ["wsh1.q.mx.admin.NAME.server%2Estop", false, ["admin"]],
  ["wsh1.u.mx.operate.NAME.s1", false, ["operate", "admin"]],
  ["wsh1.q.mx.observe.alice.sessions%2Elist", false, []],
  ["wsh1.q.mx.admin.alice.server%2Estop", false, []],
  ["wsh1.u.mx.operate.alice.s1", false, []],
  ["wsh1.q.mx.observe.NAME.a.b", false, []],
  ["wsh1.d.alice.mx.s1", false, []],
  ["wsh1.d.alice.NAME.s1", true, []],
  ["wsh1.up.NAME", true, []],
  ["wsh1.up.mx", false, []],
  ["wsh1.ev.NAME.session", true, []],
  ["wsh1.ev.mx.session", false, []],
  ["_INBOX.alice.NAME.x", true, []],
  ["_INBOX.alice.mx.x", false, []],
  ["_INBOX.alice.$all.x", true, []],
  ["$KV.wsh_machines.NAME", true, ["admin"]],
  ["$KV.wsh_machines.mx", false, ["admin"]],
  ["$JS.API.STREAM.INFO.KV_wsh_machines", true, ["observe", "operate", "admin"]],
  ["$JS.API.STREAM.CREATE.KV_wsh_machines", false, ["admin"]],
  ["$JS.API.STREAM.DELETE.KV_wsh_machines", false, []],
  ["$JS.API.STREAM.CREATE.other", false, []],
  ["$JS.API.CONSUMER.CREATE.KV_wsh_machines", false, []],
  ["$JS.API.CONSUMER.DURABLE.CREATE.KV_wsh_machines.c", false, []],
  ["$SYS.REQ.CLAIMS.UPDATE", false, []],
  ["$SRV.INFO.wsh", false, ["observe", "operate", "admin"]],
  ["anything", false, []],
];

const subscribing: readonly [subject: string, machine: boolean, isCaller: boolean][] = [
  ["wsh1.q.NAME.>", true, false],
  ["wsh1.q.mx.>", false, false],
  ["wsh1.q.>", false, false],
  ["wsh1.u.mx.>", false, false],
  ["wsh1.d.NAME.>", false, true],
  ["wsh1.d.alice.>", false, false],
  ["wsh1.d.>", false, false],
  ["wsh1.up.*", false, true],
  ["wsh1.ev.>", false, true],
  ["_INBOX.NAME.>", true, true],
  ["_INBOX.alice.>", false, false],
  ["_INBOX.>", false, false],
  ["$KV.>", false, false],
  ["$SYS.>", false, false],
  [">", false, false],
];

test.each(fleetRoles)("subjects that a %s may publish and subscribe to, with forged ones", async (role) => {
  const name = `eve-${role}`;
  const connection = await fleet.client(await fleet.credentials(role, name));
  const refused = refusals(connection);
  const isMachine = role === "machine";
  const wanted: string[] = [];
  const expectRefusal = (what: string, subject: string, allowed: boolean) => {
    if (!allowed) wanted.push(`Permissions Violation for ${what} to "${subject}"`.toLowerCase());
  };
  for (const [subject, machine, callers] of publishing) {
    const own = subject.replace("NAME", name);
    connection.publish(own);
    expectRefusal("Publish", own, isMachine ? machine : callers.includes(role));
  }
  for (const [subject, machine, caller] of subscribing) {
    const own = subject.replace("NAME", name);
    connection.subscribe(own, { callback: () => {} });
    expectRefusal("Subscription", own, isMachine ? machine : caller);
  }
  await connection.flush();
  await until("the server's refusals", async () => refused.length >= wanted.length || null);
  expect(refused.map((text) => text.toLowerCase()).toSorted()).toEqual(wanted.toSorted());
});

always("no role may answer to a subject of the asker's choice", () => {
  for (const { publish } of Object.values(rolePermissions)) {
    expect(publish.filter((subject) => /^(>|\*|_INBOX\.(>|\*\.(>|\*)))/.test(subject))).toEqual([]);
  }
});

always("docs/machines.md says the roles' permissions as they are", () => {
  for (const role of fleetRoles) {
    const { publish, subscribe } = permissionsOf({ name: "{{name()}}", role });
    expect(publish.toSorted()).toEqual([...rolePermissions[role].publish].toSorted());
    expect(subscribe.toSorted()).toEqual([...rolePermissions[role].subscribe].toSorted());
  }
});

test("the name of an unused invitation is free again, and no other's", async () => {
  const invite = () => maker.run("fleet", "invite", "--dir", fleet.dir, "--role", "machine", "--name", "again");
  await invite();
  const second = await invite();
  expect([second.code, second.stderr]).toEqual([0, expect.stringContaining("earlier invitation of 'again'")]);
  await using again = new Wsh();
  await again.ok("fleet", "join", second.stdout.trim().split(" ").at(-1) ?? "");
  const log = join(again.instance.stateDir, "t.server.log");
  await until("it to have joined", () => contentOf(log).includes("connected to the fleet"));
  expect((await invite()).stderr).toContain("'again' has already been invited");
  await again.killServer();
  expect((await invite()).stderr).toContain("'again' has already been invited");
  const members: { name: string; state: string }[] = JSON.parse(
    await maker.ok("fleet", "list", "--dir", fleet.dir, "--json"),
  );
  expect(members.filter(({ name, state }) => name === "again" && state === "invited")).toHaveLength(1);
});
