import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { claimServer, releaseServer } from "../src/instance/claim-server.ts";
import { readServerInfo, type ServerInfo, writeServerInfo } from "../src/instance/info.ts";
import { withLock } from "../src/instance/lock.ts";
import { createLogger } from "../src/instance/log.ts";
import { originalNofile } from "../src/instance/nofile.ts";
import { type Instance, maxSocketPathBytes, prepareRuntimeDir, resolveInstance } from "../src/instance/paths.ts";
import { listenerPid, probeSocket } from "../src/instance/probe.ts";
import { listSessions } from "../src/instance/registry.ts";
import { selfCommand, startHost, startServer } from "../src/instance/spawn.ts";
import { ensureToken, readToken } from "../src/instance/token.ts";
import { listen, type TestInstance, testInstance, until } from "./support/registry.ts";

const script = join(import.meta.dir, "support/fake-daemon.ts");

/** The command of a fake child: its role and argument instead of the program's own. */
function fake(role: string, argument = ""): () => string[] {
  return () => [process.execPath, script, role, argument];
}

function code(name: string) {
  return expect.objectContaining({ code: name });
}

describe("which instance is meant", () => {
  const env = { HOME: "/home/me", XDG_RUNTIME_DIR: "/run/user/7" };

  test("the default one, in the user's runtime directory", () => {
    expect(resolveInstance({ env })).toMatchObject({
      name: "default",
      httpSocket: "/run/user/7/wsh/default.http.sock",
      mcpSocket: "/run/user/7/wsh/default.mcp.sock",
      lockFile: "/run/user/7/wsh/default.lock",
      hostsDir: "/run/user/7/wsh/default",
      tokenFile: "/home/me/.local/state/wsh/default.token",
      configFile: "/home/me/.config/wsh/config.toml",
      configNamed: false,
    });
  });

  test("a flag beats the environment, a socket names directory and instance", () => {
    const socket = "/x/b.http.sock";
    expect(resolveInstance({ env: { ...env, WSH_SERVER_NAME: "a" } }).name).toBe("a");
    expect(resolveInstance({ env: { ...env, WSH_SERVER_NAME: "a", WSH_SOCKET: socket } }).httpSocket).toBe(socket);
    expect(resolveInstance({ flags: { serverName: "c" }, env: { ...env, WSH_SOCKET: socket } })).toMatchObject({
      name: "c",
      runtimeDir: "/run/user/7/wsh",
    });
    expect(resolveInstance({ flags: { socket, serverName: "b" }, env })).toMatchObject({ name: "b", runtimeDir: "/x" });
  });

  test("without XDG_RUNTIME_DIR it is a directory of the user in /tmp; a relative one is ignored", () => {
    const own = `/tmp/wsh-${process.getuid?.()}`;
    expect(resolveInstance({ env: { HOME: "/home/me" } }).runtimeDir).toBe(own);
    expect(resolveInstance({ env: { HOME: "/home/me", XDG_RUNTIME_DIR: "run" } }).runtimeDir).toBe(own);
  });

  test("without HOME there is still a state directory", () => {
    expect(resolveInstance({ env: {} }).stateDir).toStartWith("/");
  });

  test("what names none is a usage error", () => {
    for (const socket of ["/x/b.sock", "/x/.http.sock", "b", "/x/a b.http.sock"]) {
      expect(() => resolveInstance({ flags: { socket }, env })).toThrow(/http\.sock|instance name/);
    }
    for (const serverName of ["a.b", "a/b", "ä", "x".repeat(33)]) {
      expect(() => resolveInstance({ flags: { serverName }, env })).toThrow(code("invalid_instance_name"));
    }
    const flags = { socket: "/x/b.http.sock", serverName: "c" };
    expect(() => resolveInstance({ flags, env })).toThrow(code("invalid_request"));
  });

  test("a path that no socket can have is an error that says so", () => {
    const deep = { ...env, XDG_RUNTIME_DIR: `/${"d".repeat(100)}` };
    expect(() => resolveInstance({ env: deep })).toThrow(`the system allows ${maxSocketPathBytes}`);
  });
});

describe("the runtime directory", () => {
  test("is made for its owner alone", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    for (const path of [place.instance.runtimeDir, place.instance.hostsDir, place.instance.namesDir]) {
      expect(fs.statSync(path).mode & 0o777).toBe(0o700);
    }
  });

  test("is refused when others can write it, when it is a link, when it is a file", () => {
    const spoil: ((place: TestInstance) => void)[] = [
      ({ instance }) => {
        fs.mkdirSync(instance.runtimeDir);
        fs.chmodSync(instance.runtimeDir, 0o770);
      },
      ({ instance, dir }) => fs.symlinkSync(dir, instance.runtimeDir),
      ({ instance }) => fs.writeFileSync(instance.runtimeDir, ""),
    ];
    for (const how of spoil) {
      using place = testInstance();
      fs.mkdirSync(join(place.dir, "run"));
      how(place);
      expect(() => prepareRuntimeDir(place.instance)).toThrow(code("unsafe_path"));
      expect(() => listSessions(place.instance)).toThrow(code("unsafe_path"));
    }
  });

  test.if(process.getuid?.() === 0)("is refused when it is another user's", () => {
    using place = testInstance();
    fs.mkdirSync(place.instance.runtimeDir, { recursive: true, mode: 0o700 });
    fs.chownSync(place.instance.runtimeDir, 65_534, 65_534);
    expect(() => prepareRuntimeDir(place.instance)).toThrow("belongs to user 65534");
  });
});

describe("locks", () => {
  test("exclude each other in one process and keep the event loop free", async () => {
    using place = testInstance();
    const path = join(place.dir, "lock");
    let inside = 0;
    let most = 0;
    const work = Array.from({ length: 10 }, () =>
      withLock(path, async () => {
        inside += 1;
        most = Math.max(most, inside);
        await Bun.sleep(1);
        inside -= 1;
      }),
    );
    await Promise.all(work);
    expect(most).toBe(1);
  });

  test("say who holds them, and are free when the holder is killed", async () => {
    using place = testInstance();
    const path = join(place.dir, "lock");
    const holder = Bun.spawn({
      cmd: fake("hold-lock", path)(),
      env: place.env,
      stdin: "ignore",
      stdout: "pipe",
    });
    await holder.stdout.getReader().read();
    const refused = withLock(path, () => "mine", { timeoutMs: 20 });
    await expect(refused).rejects.toThrow(code("lock_busy"));
    if (process.platform === "linux") await expect(refused).rejects.toThrow(`process ${holder.pid}`);
    holder.kill("SIGKILL");
    expect(await withLock(path, () => "mine")).toBe("mine");
    await holder.exited;
  });

  test("move to the file that is there after the old one was deleted", async () => {
    using place = testInstance();
    const path = join(place.dir, "lock");
    await withLock(path, async () => {
      fs.rmSync(path);
      expect(await withLock(path, () => "another lock", { timeoutMs: 100 })).toBe("another lock");
    });
  });

  test("are given back after a failure", async () => {
    using place = testInstance();
    const path = join(place.dir, "lock");
    await expect(withLock(path, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await withLock(path, () => "mine", { timeoutMs: 100 })).toBe("mine");
  });
});

test("a socket is alive, dead, absent or no socket", () => {
  using place = testInstance();
  const path = join(place.dir, "a.sock");
  expect(probeSocket(path)).toBe("absent");
  fs.writeFileSync(path, "");
  expect(probeSocket(path)).toBe("not_a_socket");
  fs.rmSync(path);
  const listener = listen(path);
  expect(probeSocket(path)).toBe("alive");
  listener[Symbol.dispose]();
  expect(probeSocket(path)).toBe("dead");
});

test("a listener that is stopped is alive, however many wait, and its process is known", async () => {
  using place = testInstance();
  const path = join(place.dir, "a.sock");
  const child = Bun.spawn({ cmd: fake("listen", path)(), env: place.env, stdin: "ignore", stdout: "pipe" });
  await child.stdout.getReader().read();
  child.kill("SIGSTOP");
  expect(listenerPid(path)).toBe(child.pid);
  // The queue of a listener takes 512 connections.
  const states = new Set(Array.from({ length: 600 }, () => probeSocket(path)));
  expect([...states]).toEqual(["alive"]);
  child.kill("SIGKILL");
  await child.exited;
  expect(probeSocket(path)).toBe("dead");
  expect(listenerPid(path)).toBeNull();
});

describe("starting a host", () => {
  test("returns its report; it lives on by itself, with nothing of ours", async () => {
    using place = testInstance();
    const seen = join(place.dir, "descriptors");
    const spec = { name: "dev", env: { BIG: "x".repeat(200_000) } };
    const report = await startHost(place.instance, spec, { env: place.env, command: fake("host", seen) });
    const pid = Number(report.pid);
    try {
      expect(report).toEqual({ pid, cwd: "/", spec });
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      expect(Number(stat[3])).toBe(pid); // leader of a process session of its own
      await until(() => fs.existsSync(seen) && fs.readFileSync(seen, "utf8") !== "", "the host goes on");
      expect(fs.readFileSync(seen, "utf8")).toBe("/dev/null /dev/null");
      expect(fs.statSync(place.instance.hostLog).mode & 0o777).toBe(0o600);
    } finally {
      process.kill(pid, "SIGKILL");
    }
  });

  test("fails with the host's own error", async () => {
    using place = testInstance();
    const start = startHost(place.instance, {}, { env: place.env, command: fake("refuse") });
    await expect(start).rejects.toMatchObject({ code: "invalid_request", message: "the port 8080 is in use" });
  });

  test("fails with the end of its log when it dies", async () => {
    using place = testInstance();
    const start = startHost(place.instance, {}, { env: place.env, command: fake("die") });
    await expect(start).rejects.toMatchObject({
      code: "session_create_failed",
      message: "the session's host exited with 3 before it was ready:\na terrible thing happened",
    });
  });

  test("fails when it says nothing, and ends it", async () => {
    using place = testInstance();
    const start = startHost(place.instance, {}, { env: place.env, command: fake("silent"), timeoutMs: 300 });
    await expect(start).rejects.toThrow("did not report within 300 ms");
  });

  test("fails when there is no such program", async () => {
    using place = testInstance();
    const start = startHost(place.instance, {}, { command: () => ["/no/such/program"] });
    await expect(start).rejects.toMatchObject({ code: "session_create_failed" });
  });

  test("works where no log can be written", async () => {
    using place = testInstance();
    fs.mkdirSync(join(place.dir, "home"));
    fs.writeFileSync(join(place.dir, "home/.local"), "in the way");
    const start = startHost(place.instance, {}, { env: place.env, command: fake("refuse") });
    await expect(start).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("runs this program itself by default", () => {
    expect(selfCommand(["host"])).toEqual([process.execPath, join(import.meta.dir, "../src/main.ts"), "host"]);
  });

  test.if(process.platform === "linux")("the caller's descriptor limit is known", async () => {
    const module = join(import.meta.dir, "../src/instance/nofile.ts");
    const print = `import { originalNofile } from "${module}"; console.log(originalNofile());`;
    // The shell stays the parent because a command follows.
    const shell = Bun.spawn({
      cmd: ["sh", "-c", `ulimit -Sn 321; "$0" -e "$1"; true`, process.execPath, print],
      stdin: "ignore",
      stdout: "pipe",
    });
    expect(await new Response(shell.stdout).text()).toBe("321\n");
    expect(originalNofile()).not.toBe(321);
  });
});

describe("starting a server", () => {
  test("twenty callers at once make one", async () => {
    using place = testInstance();
    const started = join(place.dir, "started");
    const options = { env: place.env, command: fake("server", started), token: "secret-of-this-run" };
    const results = await Promise.all(Array.from({ length: 20 }, () => startServer(place.instance, options)));
    const pids = fs.readFileSync(started, "utf8").trim().split("\n");
    try {
      expect(pids).toHaveLength(1);
      expect(results.filter((result) => result.started)).toHaveLength(1);
      const report = results.find((result) => result.started)?.report;
      expect(report).toMatchObject({ pid: Number(pids[0]), token: "secret-of-this-run" });
      expect(fs.readFileSync(`/proc/${pids[0]}/cmdline`, "utf8")).not.toContain("secret");
    } finally {
      for (const pid of pids) process.kill(Number(pid), "SIGKILL");
    }
  });

  test("tells it where and how to listen", async () => {
    using place = testInstance("b");
    let given: readonly string[] = [];
    const command = (args: readonly string[]) => {
      given = args;
      return fake("refuse")();
    };
    const start = startServer(place.instance, { env: place.env, command, args: ["--max-sessions", "3"] });
    await expect(start).rejects.toMatchObject({ message: "the port 8080 is in use" });
    const { httpSocket } = place.instance;
    expect(given).toEqual(["server", "--ephemeral", "--socket", httpSocket, "--bind", "none", "--max-sessions", "3"]);
  });

  test("fails with its log when it dies, and the next caller may try", async () => {
    using place = testInstance();
    const options = { env: place.env, command: fake("die") };
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(startServer(place.instance, options)).rejects.toMatchObject({
        code: "server_unavailable",
        message: expect.stringContaining("a terrible thing happened"),
      });
    }
  });

  test("is not done when one answers, or when it was quicker", async () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    const none = { started: false, report: null };
    const servers: Disposable[] = [];
    const command = () => {
      servers.push(listen(place.instance.httpSocket)); // somebody starts one by hand meanwhile
      return fake("server", join(place.dir, "started"))();
    };
    expect(await startServer(place.instance, { env: place.env, command })).toEqual(none);
    expect(await startServer(place.instance, { command: fake("die") })).toEqual(none);
    for (const server of servers) server[Symbol.dispose]();
  });
});

describe("being the instance's server", () => {
  test("there is one; a dead one's sockets are replaced", async () => {
    using place = testInstance();
    const { instance } = place;
    const first = await claimServer(instance, () => listen(instance.httpSocket));
    expect(fs.statSync(instance.httpSocket).mode & 0o777).toBe(0o600);
    const second = claimServer(instance, () => listen(instance.httpSocket));
    await expect(second).rejects.toMatchObject({ code: "server_already_running" });
    first[Symbol.dispose]();
    using third = await claimServer(instance, () => listen(instance.httpSocket));
    await releaseServer(instance, () => third[Symbol.dispose]());
    expect(fs.existsSync(instance.httpSocket)).toBe(false);
  });

  test("what is no socket is never removed", async () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    fs.writeFileSync(place.instance.httpSocket, "precious");
    const claim = claimServer(place.instance, () => undefined);
    await expect(claim).rejects.toMatchObject({ code: "runtime_dir_unusable" });
    expect(fs.readFileSync(place.instance.httpSocket, "utf8")).toBe("precious");
  });

  test("what it publishes is read back; what cannot be understood is as good as none", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    const info: ServerInfo = {
      pid: 1,
      version: "0.1.0",
      server_id: crypto.randomUUID(),
      started_at: 1_700_000_000_000,
      addresses: ["http://127.0.0.1:8080"],
      persist: true,
    };
    expect(readServerInfo(place.instance)).toBeNull();
    writeServerInfo(place.instance, info);
    expect(readServerInfo(place.instance)).toEqual(info);
    expect(fs.statSync(place.instance.infoFile).mode & 0o777).toBe(0o600);
    for (const text of ["", "{", "[]", `{"pid":"1"}`]) {
      fs.writeFileSync(place.instance.infoFile, text);
      expect(readServerInfo(place.instance)).toBeNull();
    }
  });
});

describe("the token", () => {
  test("is made once, for everyone the same, readable by its owner alone", () => {
    using place = testInstance();
    expect(readToken(place.instance)).toBeNull();
    const token = ensureToken(place.instance);
    expect(token).toMatch(/^[A-Za-z0-9]{32}$/);
    expect(ensureToken(place.instance)).toBe(token);
    expect(fs.statSync(place.instance.tokenFile).mode & 0o777).toBe(0o600);
    expect(fs.readdirSync(place.instance.stateDir)).toEqual(["default.token"]);
  });

  test("is the same for processes that need it at once", async () => {
    using place = testInstance();
    const askers = Array.from({ length: 4 }, () =>
      Bun.spawn({ cmd: fake("token")(), env: place.env, stdin: "ignore", stdout: "pipe" }),
    );
    const tokens = await Promise.all(askers.map(({ stdout }) => new Response(stdout).text()));
    expect(new Set(tokens)).toEqual(new Set([readToken(place.instance) ?? ""]));
    expect(fs.readdirSync(place.instance.stateDir)).toEqual(["default.token"]);
  });

  test("two instances have two", () => {
    using one = testInstance();
    using two = testInstance();
    expect(ensureToken(one.instance)).not.toBe(ensureToken(two.instance));
  });

  test("is refused from a file that others can read, that is a link, or that is empty", () => {
    const spoil: ((instance: Instance) => void)[] = [
      ({ tokenFile }) => fs.chmodSync(tokenFile, 0o644),
      ({ tokenFile }) => {
        fs.renameSync(tokenFile, `${tokenFile}.real`);
        fs.symlinkSync(`${tokenFile}.real`, tokenFile);
      },
      ({ tokenFile }) => fs.writeFileSync(tokenFile, "\n"),
    ];
    for (const how of spoil) {
      using place = testInstance();
      ensureToken(place.instance);
      how(place.instance);
      expect(() => ensureToken(place.instance)).toThrow(code("unsafe_path"));
    }
  });
});

describe("logs", () => {
  test("have one line per event, as text or JSON, from a level on", () => {
    const lines: string[] = [];
    const text = createLogger({ level: "info", format: "text", write: (line) => lines.push(line) });
    text.debug("unseen");
    text.with({ session: "dev" }).info("made\nby\x1b[31m", { pid: 7, cwd: "/a b", none: undefined });
    expect(lines).toEqual([
      expect.stringMatching(/^\S+Z info {2}made\\x0aby\\x1b\[31m session=dev pid=7 cwd="\/a b"\n$/),
    ]);
    const json = createLogger({ level: "warn", format: "json", fields: { pid: 7 }, write: (line) => lines.push(line) });
    json.error("broken", { error: new Error("why"), msg: "not this" });
    expect(JSON.parse(lines[1] ?? "")).toMatchObject({
      level: "error",
      msg: "broken",
      pid: 7,
      error: expect.stringContaining("why"),
    });
  });

  test("never fail their caller", () => {
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    createLogger({ level: "debug", format: "text", file: "/dev/full" }).error("lost");
    createLogger({ level: "debug", format: "text", file: "/proc/no/where" }).error("lost");
    createLogger({ level: "debug", format: "json", write: () => undefined }).error("lost", { cyclic });
  });

  test("a file becomes FILE.1 when it is large", () => {
    using place = testInstance();
    const file = join(place.dir, "logs/server.log");
    const log = createLogger({ level: "info", format: "text", file });
    for (let line = 0; line < 5; line += 1) log.info("x".repeat(1024 * 1024));
    log.info("the newest");
    expect(fs.readFileSync(file, "utf8")).toEndWith("the newest\n");
    expect(fs.statSync(`${file}.1`).size).toBeGreaterThan(4 * 1024 * 1024);
    expect(fs.statSync(file).mode & 0o777).toBe(0o600);
  });
});
