/** Session processes: many at once, killed, stopped, of another version, not read from; and no resource leaks. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import { join } from "node:path";
import { platform } from "../../src/platform/platform.ts";
import {
  encodeJsonMessage,
  MessageDecoder,
  messageJson,
  messageTypes,
  PROTOCOL_VERSION,
} from "../../src/protocol/messages.ts";
import { written } from "../reliability/checkpoints/crashed-sessions.ts";
import { failure, Http } from "../support/http.ts";
import { stopProcess } from "../support/processes.ts";
import { within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { hostOf, Wsh } from "../support/wsh.ts";

interface Served {
  readonly wsh: Wsh;
  readonly http: Http;
  readonly pid: number;
}

async function served(config = ""): Promise<Served & AsyncDisposable> {
  const wsh = new Wsh({ config });
  const { pid } = await wsh.server();
  return {
    wsh,
    pid,
    http: new Http({ unix: wsh.instance.httpSocket }),
    [Symbol.asyncDispose]: () => wsh[Symbol.asyncDispose](),
  };
}

/** Resident memory in bytes. */
function memory(pid: number): number {
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(fs.readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;
}

async function timed<T>(promise: Promise<T>): Promise<{ readonly value: T; readonly ms: number }> {
  const started = performance.now();
  return { value: await promise, ms: performance.now() - started };
}

/** Callers at once: enough for each to meet another one. */
const CALLERS = process.env.WSH_TEST_FULL === "1" ? 8 : 4;

describe("many at once", () => {
  test("commands make as many sessions with as many numbers", async () => {
    await using wsh = new Wsh();
    const names = await Promise.all(Array.from({ length: CALLERS }, async () => (await wsh.ok("new")).trim()));
    expect(new Set(names).size).toBe(CALLERS);
    const sessions = await wsh.list();
    expect(new Set(sessions.map(({ id }) => id)).size).toBe(CALLERS);
    expect(new Set(sessions.map(({ pid }) => pid)).size).toBe(CALLERS);
    // A child that one has just forked has its command line for a moment.
    await until("their hosts", () => wsh.hosts().length === CALLERS);
    expect(wsh.servers()).toHaveLength(0);
    const one = await wsh.run("new", "same");
    const rivals = await Promise.all(Array.from({ length: 2 }, () => wsh.run("new", "same")));
    expect(one.code).toBe(0);
    expect(rivals.map(({ code }) => code)).toEqual([1, 1]);
    const sharers = await Promise.all(
      Array.from({ length: 2 }, () => wsh.run("new", "shared", "--if-exists", "attach", "--json")),
    );
    expect(new Set(sharers.map(({ stdout }) => JSON.parse(stdout).id)).size).toBe(1);
    await wsh.ok("kill", "shared");
    expect((await wsh.run("attach", "same:1")).stderr).toContain("has no window '1'");
    await until("the rivals' hosts to be gone", () => wsh.hosts().length === CALLERS + 1);
  });

  test("requests for one name make one session", async () => {
    await using it = await served();
    const answers = await Promise.all(
      Array.from({ length: CALLERS }, () => it.http.post("/sessions", { name: "only", command: "sleep 1000" })),
    );
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const answer of answers.filter(({ status }) => status !== 201)) {
      expect(answer).toMatchObject({ status: 409, body: failure("session_name_conflict") });
    }
    const attached = await Promise.all(
      Array.from({ length: 3 }, () =>
        it.http.post("/sessions", { name: "shared", if_exists: "attach", command: "sleep 1000" }),
      ),
    );
    expect(attached.map(({ status }) => status)).toEqual(attached.map(() => 201));
    expect(new Set(attached.map(({ body }) => (body as { id: string }).id)).size).toBe(1);
    await it.http.kill("shared");
    await until("the losers' hosts to be gone", () => it.wsh.hosts().length === 1);
    expect(it.wsh.processes().filter(({ command }) => command === "sleep 1000")).toHaveLength(1);
  });
});

describe("a session process that is killed", () => {
  test("takes its session along, is reported, and leaves no files", async () => {
    // A checkpoint would list the session as crashed.
    await using wsh = new Wsh({ config: 'checkpoint = "off"\n' });
    const child = wsh.spawn(["server", "--bind", "none"]);
    const http = new Http({ unix: wsh.instance.httpSocket });
    await until("the server", async () => (await http.get("/health").catch(() => null))?.status === 200);
    const victim = await http.create({ name: "victim", command: "sleep 1000" });
    const other = await http.create({ name: "other", command: "cat" });
    const waiting = http.get("/sessions/victim/idle?timeout_ms=60000&max_wait_ms=60000");
    await http.session("victim");
    process.kill(hostOf(victim.pid), "SIGKILL");
    expect(await waiting).toMatchObject({ status: 503, body: failure("session_crashed", /victim/) });
    await until("the session to be gone", async () => (await http.get("/sessions/victim")).status === 404);
    expect(await http.list("?all=1")).toMatchObject([{ id: other.id, running: true }]);
    await http.type("other", "unharmed\n");
    await http.shows("other", "unharmed");
    await until("its files to be gone", () => {
      return ![...fs.readdirSync(wsh.instance.sessionsDir), ...fs.readdirSync(wsh.instance.namesDir)].some((file) => {
        return file === "victim" || file === `${victim.pane_id.slice(1)}.sock` || file.startsWith(`${victim.id}.`);
      });
    });
    // Its terminal is gone with it, so its program was hung up.
    await until("its program to end", () => !fs.existsSync(`/proc/${victim.pid}`));
    expect((await http.create({ name: "victim", command: "sleep 1000" })).id).not.toBe(victim.id);
    child.kill("SIGTERM");
    await child.exited;
    expect(await new Response(child.stderr).text()).toMatch(/victim.*session_crashed/);
  });

  test("while there is no server, is cleaned up by the next command", async () => {
    await using wsh = new Wsh({ config: 'checkpoint = "off"\n' });
    const victim = await wsh.session("victim");
    process.kill(hostOf(victim.pid), "SIGKILL");
    // Its lock is free a moment after its environment is no longer readable.
    await until("it to be gone", async () => (await wsh.list("--all")).length === 0);
    expect((await wsh.run("screen", "victim")).stderr).toMatch(/victim/);
    await wsh.session("victim");
    await wsh.server();
    expect(fs.readdirSync(wsh.instance.sessionsDir).filter((file) => file.endsWith(".sock"))).toHaveLength(1);
  });
});

describe("a session process that is stopped", () => {
  test("is unresponsive in lists, delays nobody, and returns", async () => {
    await using it = await served();
    const { http } = it;
    const hung = await http.create({ name: "hung", command: "sleep 1000" });
    await http.create({ name: "well", command: "sleep 1000" });
    const host = hostOf(hung.pid);
    await stopProcess(host);
    const first = await timed(http.list());
    expect(first.value).toMatchObject([
      { name: "hung", state: "unresponsive", id: hung.id },
      { name: "well", state: "running" },
    ]);
    // A second or two of waiting for it, and the delay of a stalled machine.
    expect(first.ms).toBeLessThan(9_000);
    // It is known by now, so no request waits for it again.
    const second = await within(900, () => http.list());
    expect(second).toMatchObject([{ state: "unresponsive" }, { state: "running" }]);
    await within(900, () => http.session("well"));
    await http.create({ name: "new", command: "sleep 1000" });

    const refused = await timed(http.get("/sessions/hung/screen"));
    expect(refused.value).toMatchObject({ status: 503, body: failure("session_unavailable", /hung/) });
    expect(refused.ms).toBeGreaterThan(3_500);
    expect(refused.ms).toBeLessThan(15_000);

    process.kill(host, "SIGCONT");
    await until("the session to answer", async () => (await http.get("/sessions/hung")).status === 200);
    await until("lists to show it", async () => (await http.list())[0]?.state === "running");
  });

  test("does not delay the start of a server, the command line, or wsh stop", async () => {
    await using wsh = new Wsh();
    const hung = await wsh.session("hung");
    await wsh.session("well");
    const host = hostOf(hung.pid);
    await stopProcess(host);
    const listed = await within(4_000, () => wsh.list());
    expect(listed.find(({ name }) => name === "hung")).toMatchObject({ state: "unresponsive" });
    const started = await timed(wsh.server());
    expect(started.ms).toBeLessThan(15_000);
    const http = new Http({ unix: wsh.instance.httpSocket });
    expect(await http.list()).toMatchObject([{ name: "hung", state: "unresponsive" }, { name: "well" }]);
    await http.shows("well", "$");
    process.kill(host, "SIGCONT");
    // Without a request: the server itself notices, and connects.
    await until("the session to answer", async () => (await http.get("/sessions/hung/screen")).status === 200);
    expect(await http.session("hung")).toMatchObject({ id: hung.id, pid: hung.pid });
  });

  test("counts as such, not as gone, when its queue of connections is full", async () => {
    await using wsh = new Wsh();
    const hung = await wsh.session("hung");
    const host = hostOf(hung.pid);
    await stopProcess(host);
    const [socket = ""] = platform().sockets.bound(wsh.instance.sessionsDir);
    while (platform().sockets.connect(socket).kind === "connected");
    const read = wsh.run("screen", "hung");
    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    expect(await http.list()).toMatchObject([{ name: "hung", state: "unresponsive" }]);
    const refused = await http.get("/sessions/hung/screen");
    expect(refused).toMatchObject({ status: 503, body: failure("session_unavailable", /hung/) });
    expect(await read).toMatchObject({ code: 1, stderr: expect.stringMatching(/accepts no connection/) });
    process.kill(host, "SIGCONT");
    await until("the session to answer", async () => (await http.get("/sessions/hung/screen")).status === 200);
  });

  test("is ended by wsh kill, with its programs; the others continue, and its name is free; and by wsh stop", async () => {
    await using wsh = new Wsh();
    const hung = await wsh.session("hung");
    await wsh.session("well");
    await wsh.session("kind");
    // A checkpoint that is no longer wanted.
    await written(wsh, "$", Number(hung.pane_id.slice(1)), Number(hung.id.slice(2)));
    await stopProcess(hostOf(hung.pid));
    const { code, stdout, stderr } = await wsh.run("kill", "hung", "kind");
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: "Session 'hung' killed.\nSession 'kind' killed.\n",
      stderr: "wsh: session 'hung' did not answer: its process was killed\n",
    });
    expect(await wsh.list("--all")).toMatchObject([{ name: "well", running: true }]);
    await until("its program to end", () => !fs.existsSync(`/proc/${hung.pid}`));
    const again = await wsh.session("hung");
    await stopProcess(hostOf(again.pid));
    const stopped = await wsh.run("stop");
    expect(stopped).toMatchObject({ code: 0, stderr: expect.stringMatching(/'hung'.*killed/) });
    await until("everything to be gone", () => wsh.processes().length === 0);
    expect(await wsh.list("--all")).toEqual([]);
  });
});

/** Listens before its socket has this path: one that refuses, and has no lock, is taken for a dead process's. */
async function listenAt(server: net.Server, path: string): Promise<void> {
  const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-t-"));
  const first = join(dir, "s");
  await new Promise<void>((listening) => server.listen(first, listening));
  fs.renameSync(first, path);
  fs.rmdirSync(dir);
}

/** Listens like a session process that speaks another version of the protocol. */
async function foreignHost(path: string, version: number): Promise<net.Server> {
  const host = net.createServer((socket) => {
    const decoder = new MessageDecoder();
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      for (const frame of decoder.push(new Uint8Array(Buffer.from(bytes)))) {
        if (frame.type !== messageTypes.hello) continue;
        socket.write(
          encodeJsonMessage(messageTypes.hello, { wsh: version, version: "9.9.9", role: "session", other: [1] }),
        );
        socket.end();
      }
    });
  });
  await listenAt(host, path);
  return host;
}

test("a session is found as soon as it has its name, though its process has not announced it yet", async () => {
  await using wsh = new Wsh();
  await wsh.session("mine");
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const info = { ...(await http.session("mine")), name: "late", id: "@77" };
  const watched = Promise.withResolvers<void>();
  const told = Promise.withResolvers<void>();
  const path = join(wsh.instance.sessionsDir, "77.sock");
  const host = net.createServer((socket) => {
    const decoder = new MessageDecoder();
    socket.on("error", () => {});
    socket.on("data", async (bytes) => {
      for (const frame of decoder.push(new Uint8Array(Buffer.from(bytes)))) {
        if (frame.type === messageTypes.hello) {
          const hello = { wsh: PROTOCOL_VERSION, version: "0", role: "session" };
          socket.write(encodeJsonMessage(messageTypes.hello, hello));
          continue;
        }
        const { id, op } = messageJson(frame) as { id: number; op: string };
        if (op === "peer.watch") {
          watched.resolve();
          await told.promise;
        }
        socket.write(encodeJsonMessage(messageTypes.response, { id, result: info }));
      }
    });
  });
  await listenAt(host, path);
  await watched.promise;
  fs.symlinkSync("../77.sock", join(wsh.instance.namesDir, "late"));
  setTimeout(() => told.resolve(), 100);
  expect(await http.session("late")).toMatchObject({ id: "@77", name: "late" });
  host.close();
});

describe("a socket that is not a session process's", () => {
  test("of a later or an earlier protocol is listed, and refused with both versions", async () => {
    await using wsh = new Wsh();
    await wsh.session("mine");
    const http = new Http({ unix: wsh.instance.httpSocket });
    // Before a server has started, and while it runs.
    for (const version of [PROTOCOL_VERSION + 1, PROTOCOL_VERSION - 1]) {
      const socket = join(wsh.instance.sessionsDir, "77.sock");
      const foreign = await foreignHost(socket, version);
      fs.symlinkSync("../77.sock", join(wsh.instance.namesDir, "foreign"));
      if (version > PROTOCOL_VERSION) await wsh.server();
      await until("it to be listed", async () => (await http.list()).length === 2);
      expect(await http.list()).toMatchObject([
        { name: "mine" },
        { name: "foreign", id: "@77", state: "unresponsive" },
      ]);
      for (const target of ["foreign", "@77"]) {
        for (const what of ["", "/screen", "/idle?timeout_ms=0"]) {
          const answer = await within(3_000, () => http.get(`/sessions/${target}${what}`));
          expect(answer).toMatchObject({ status: 503, body: failure("version_mismatch", /9\.9\.9/) });
        }
      }
      expect(await wsh.run("screen", "foreign")).toMatchObject({ code: 1, stderr: expect.stringMatching(/9\.9\.9/) });
      expect(await wsh.run("kill", "foreign")).toMatchObject({ code: 1, stderr: expect.stringMatching(/9\.9\.9/) });
      expect((await wsh.list()).map(({ name }) => name)).toEqual(["mine", "foreign"]);
      expect((await http.post("/sessions", { name: "foreign" })).status).toBe(409);
      expect(await http.session("mine")).toMatchObject({ running: true });
      foreign.close();
      await until("it to be forgotten", async () => (await http.list()).length === 1);
      await http.create({ name: "foreign", command: "sleep 1000" });
      await http.kill("foreign");
    }
  });

  test("a dead socket is removed, a file is left alone, a silent listener is unresponsive", async () => {
    await using wsh = new Wsh();
    await wsh.session("mine");
    const { sessionsDir, namesDir } = wsh.instance;
    const silent = net.createServer(() => {});
    await listenAt(silent, join(sessionsDir, "70.sock"));
    await until("the silent listener", () => fs.existsSync(join(sessionsDir, "70.sock")));
    fs.symlinkSync("../70.sock", join(namesDir, "silent"));
    // A socket whose listener is gone: left by kill -9.
    const holder = Bun.spawn([
      process.execPath,
      "-e",
      `Bun.listen({unix: ${JSON.stringify(join(sessionsDir, "71.sock"))}, socket: {data() {}}}); console.log("up"); setInterval(() => {}, 1e9)`,
    ]);
    await until("the doomed listener", () => fs.existsSync(join(sessionsDir, "71.sock")));
    fs.symlinkSync("../71.sock", join(namesDir, "doomed"));
    holder.kill("SIGKILL");
    await holder.exited;
    fs.writeFileSync(join(sessionsDir, "72.sock"), "a file");
    fs.writeFileSync(join(namesDir, "letter"), "a file");

    await wsh.server();
    const http = new Http({ unix: wsh.instance.httpSocket });
    const listed = async () => (await http.list()).map(({ name, state }) => `${name} ${state === "unresponsive"}`);
    // One that a busy machine delays is unresponsive, too, for as long as that lasts.
    await until("both", async () => (await listed()).sort().join() === "mine false,silent true");
    expect(fs.existsSync(join(sessionsDir, "71.sock"))).toBe(false);
    expect(fs.existsSync(join(namesDir, "doomed"))).toBe(false);
    for (const path of [join(sessionsDir, "72.sock"), join(namesDir, "letter")]) {
      expect(fs.readFileSync(path, "utf8")).toBe("a file");
    }
    // A name that a file occupies is unavailable, and the file stays.
    expect((await http.post("/sessions", { name: "letter", command: "sleep 1000" })).status).toBe(409);
    expect(fs.readFileSync(join(namesDir, "letter"), "utf8")).toBe("a file");
    await http.create({ name: "doomed", command: "sleep 1000" });
    silent.close();
  });
});

test("a client that reads nothing costs others nothing, and little memory", async () => {
  await using it = await served();
  const { http } = it;
  const { pid } = await http.create({
    name: "big",
    command: "for i in $(seq 1 9000); do echo line $i of a long history; done; sleep 1000",
  });
  await http.shows("big", "line 9000");
  const before = { server: memory(it.pid), host: memory(hostOf(pid)) };
  const deaf = Array.from({ length: 10 }, () => {
    const socket = net.connect(it.wsh.instance.httpSocket);
    socket.pause();
    socket.on("error", () => {});
    const request = "GET /sessions/big/scrollback?limit=10000 HTTP/1.1\r\nHost: localhost\r\n\r\n";
    for (let n = 0; n < 20; n++) socket.write(request);
    return socket;
  });
  // Their requests are being answered, or wait for them.
  const times: number[] = [];
  for (let n = 0; n < 20; n++) {
    const { value, ms } = await timed(http.screen("big"));
    expect(value.rows).toBe(24);
    times.push(ms);
  }
  // A stalled machine makes some of them slow, a client that delays others makes all.
  expect(times.filter((ms) => ms > 2_000).length).toBeLessThan(5);
  expect(memory(it.pid) - before.server).toBeLessThan(200 * 1024 * 1024);
  expect(memory(hostOf(pid)) - before.host).toBeLessThan(200 * 1024 * 1024);
  for (const socket of deaf) socket.destroy();
  await http.type("big", "x");
});

test("a program has the caller's soft limit of open files, and only its terminal open", async () => {
  await using wsh = new Wsh();
  const limit = 777;
  const { stdout } = Bun.spawnSync(
    [
      "sh",
      "-c",
      'ulimit -Sn "$0"; shift; "$@"',
      String(limit),
      "-",
      ...wsh.command("new", "limited", "--", "sh", "-c", "ulimit -Sn; ls -l /proc/self/fd | wc -l; exec sleep 1000"),
    ],
    { env: wsh.env, cwd: wsh.dir },
  );
  expect(stdout.toString()).toBe("limited\n");
  const screen = await wsh.shows("limited", /^\d+\n\d+$/m);
  // ls: the three of the terminal, its directory, and a line of total.
  expect(screen.trim().split("\n")).toEqual([String(limit), "5"]);
  const ensured = Bun.spawnSync(
    [
      "sh",
      "-c",
      'ulimit -Sn "$0"; shift; "$@"',
      String(limit),
      "-",
      ...wsh.command("server", "--ensure", "--bind", "none"),
    ],
    { env: wsh.env, cwd: wsh.dir },
  );
  expect(ensured.exitCode).toBe(0);
  const http = new Http({ unix: wsh.instance.httpSocket });
  await http.create({ name: "served", command: "ulimit -Sn; sleep 1000" });
  await http.shows("served", String(limit));
});
