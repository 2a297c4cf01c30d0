import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { type Instance, prepareRuntimeDir, resolveInstance } from "../../../src/instance/paths.ts";
import { selfCommand } from "../../../src/launch/launch.ts";
import { startServer } from "../../../src/launch/server.ts";
import { startSessionProcess } from "../../../src/launch/session-process.ts";
import { originalNofile } from "../../../src/platform/inherited-file-limit.ts";
import { platform } from "../../../src/platform/platform.ts";
import type { LifeLock } from "../../../src/registry/life-lock.ts";
import { listenerPid, processState } from "../../../src/registry/liveness.ts";
import { readServerInfo, type ServerInfo, writeServerInfo } from "../../../src/registry/server-info.ts";
import { bindAside, claimServer, isServerAlive, releaseServer } from "../../../src/registry/single-server.ts";
import { contentOf } from "../../support/content-of.ts";
import { testWith } from "../../support/programs.ts";
import { fakeDaemon as fake, listen, testInstance } from "../../support/registry.ts";
import { until } from "../../support/until.ts";

/** This process as the instance's server; disposing stops it like a crash. */
async function server(instance: Instance): Promise<Disposable & { life: LifeLock; listener: { stop(): void } }> {
  const { bound: listener, life } = await claimServer(instance, () => bindAside(instance.httpSocket, listen));
  const die = (): void => {
    listener.stop();
    life[Symbol.dispose]();
  };
  return { life, listener, [Symbol.dispose]: die };
}

describe("starting a session process", () => {
  test("returns its report; it runs independently, with nothing of ours", async () => {
    using place = testInstance();
    const seen = join(place.dir, "descriptors");
    const spec = { name: "dev", env: { BIG: "x".repeat(200_000) } };
    const report = await startSessionProcess(place.instance, spec, { env: place.env, command: fake("host", seen) });
    const pid = Number(report.pid);
    try {
      expect(report).toEqual({ pid, cwd: "/", spec });
      const stat = fs.readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? [];
      expect(Number(stat[3])).toBe(pid); // leader of its own process session
      await until("the host goes on", () => contentOf(seen) !== "");
      expect(fs.readFileSync(seen, "utf8")).toBe("/dev/null /dev/null");
      expect(fs.statSync(place.instance.sessionLog).mode & 0o777).toBe(0o600);
    } finally {
      process.kill(pid, "SIGKILL");
    }
  });

  test("names our configuration in full, since its directory is another", async () => {
    using place = testInstance();
    const instance = resolveInstance({ flags: { config: "mine.toml" }, env: place.env });
    const command = () => ["sh", "-c", `printf '{"ok":true,"config":"%s"}\n' "$WSH_CONFIG"`];
    const report = await startSessionProcess(instance, {}, { env: { ...place.env, UNSET: undefined }, command });
    expect(report).toEqual({ config: join(process.cwd(), "mine.toml") });
  });

  test("fails with the session process's own error", async () => {
    using place = testInstance();
    const start = startSessionProcess(place.instance, {}, { env: place.env, command: fake("refuse") });
    await expect(start).rejects.toMatchObject({ code: "invalid_request", message: "the port 8080 is in use" });
  });

  test("fails with the end of its log when it dies", async () => {
    using place = testInstance();
    const start = startSessionProcess(place.instance, {}, { env: place.env, command: fake("die") });
    await expect(start).rejects.toMatchObject({
      code: "session_create_failed",
      message: "the session process exited with 3 before it was ready:\na terrible thing happened",
    });
  });

  test("fails when it is silent, and ends it", async () => {
    using place = testInstance();
    const start = startSessionProcess(place.instance, {}, { env: place.env, command: fake("silent"), timeoutMs: 300 });
    await expect(start).rejects.toThrow("did not report within 300 ms");
  });

  test("fails when there is no such program", async () => {
    using place = testInstance();
    const start = startSessionProcess(place.instance, {}, { command: () => ["/no/such/program"] });
    await expect(start).rejects.toMatchObject({ code: "session_create_failed" });
  });

  test("works without a writable log", async () => {
    using place = testInstance();
    fs.mkdirSync(join(place.dir, "home"));
    fs.writeFileSync(join(place.dir, "home/.local"), "in the way");
    const start = startSessionProcess(place.instance, {}, { env: place.env, command: fake("refuse") });
    await expect(start).rejects.toMatchObject({ code: "invalid_request" });
  });

  test("runs this program itself by default", () => {
    expect(selfCommand(["session-process"])).toEqual([
      process.execPath,
      join(import.meta.dir, "../../../src/main.ts"),
      "session-process",
    ]);
  });

  test.if(process.platform === "linux")("the caller's descriptor limit is known", async () => {
    const module = join(import.meta.dir, "../../../src/platform/inherited-file-limit.ts");
    const print = `import { originalNofile } from "${module}"; console.log(originalNofile());`;
    // The shell stays the parent because a command follows.
    const shell = Bun.spawn({
      cmd: ["sh", "-c", `ulimit -Sn 321; "$0" -e "$1"; true`, process.execPath, print],
      stdin: "ignore",
      stdout: "pipe",
    });
    // If no process reports its limits, it is the system's own default.
    expect(await new Response(shell.stdout).text()).toBe(`${platform().limits.openFiles ?? 321}\n`);
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

  test("passes on where and how to listen", async () => {
    using place = testInstance("b");
    let given: readonly string[] = [];
    const command = (args: readonly string[]) => {
      given = args;
      return fake("refuse")();
    };
    const start = startServer(place.instance, { env: place.env, command, args: ["--max-sessions", "3"] });
    await expect(start).rejects.toMatchObject({ message: "the port 8080 is in use" });
    const { httpSocket } = place.instance;
    const wanted = [
      "server",
      "--report",
      "--ephemeral",
      "--socket",
      httpSocket,
      "--bind",
      "none",
      "--max-sessions",
      "3",
    ];
    expect(given).toEqual(wanted);
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

  test("is not done when one answers, or when another was quicker", async () => {
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
    const first = await server(instance);
    expect(fs.statSync(instance.httpSocket).mode & 0o777).toBe(0o600);
    await expect(server(instance)).rejects.toMatchObject({ code: "server_already_running" });
    first[Symbol.dispose]();
    using third = await server(instance);
    await releaseServer(instance, third.life, () => third.listener.stop());
    expect(fs.existsSync(instance.httpSocket)).toBe(false);
    expect(fs.readdirSync(join(instance.stateDir, "locks"))).toEqual([]);
  });

  test("one that ends removes nothing of its successor", async () => {
    using place = testInstance();
    const { instance } = place;
    using old = await server(instance);
    fs.rmSync(instance.httpSocket);
    using young = await server(instance);
    await releaseServer(instance, old.life, () => {});
    expect(isServerAlive(instance)).toBe(true);
    expect(young.life.isFound).toBe(true);
  });

  test("one with the lock is the server, whether it answers or not, until its lock is free", async () => {
    using place = testInstance();
    const { instance } = place;
    const first = await server(instance);
    first.listener.stop();
    await expect(server(instance)).rejects.toMatchObject({ code: "server_already_running" });
    first[Symbol.dispose]();
    using _second = await server(instance);
  });

  test("one of an earlier version, which has no lock, counts while it listens", async () => {
    using place = testInstance();
    const { instance } = place;
    prepareRuntimeDir(instance);
    const earlier = bindAside(instance.httpSocket, listen);
    expect(isServerAlive(instance)).toBe(true);
    await expect(server(instance)).rejects.toMatchObject({ code: "server_already_running" });
    earlier.stop();
    using _server = await server(instance);
  });

  test("one that died between binding and registering blocks nobody", async () => {
    using place = testInstance();
    const { instance } = place;
    prepareRuntimeDir(instance);
    listen(`${instance.httpSocket}~`)[Symbol.dispose]();
    expect(fs.existsSync(`${instance.httpSocket}~`)).toBe(true);
    using _server = await server(instance);
    expect(fs.readdirSync(instance.runtimeDir).filter((name) => name.includes(".sock"))).toEqual(["default.http.sock"]);
  });

  testWith("python3")("one whose sockets a child holds for a moment longer is waited for", async () => {
    using place = testInstance();
    const { instance } = place;
    prepareRuntimeDir(instance);
    // Listens, starts a child that has the socket until it is told, and is killed.
    const script = [
      "import os, signal, socket, sys, time",
      "s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen()",
      "parent = os.getpid(); os.fork()",
      "if os.getpid() == parent: os.kill(parent, signal.SIGKILL)",
      "while not os.path.exists(sys.argv[2]): time.sleep(0.01)",
    ].join("\n");
    const go = join(place.dir, "go");
    const command = ["python3", "-c", script, instance.httpSocket, go];
    await Bun.spawn(command, { stdio: ["ignore", "ignore", "inherit"] }).exited;
    expect(processState(instance.httpSocket)).toBe("alive");
    const claim = server(instance);
    fs.writeFileSync(go, "");
    using _server = await claim;
    expect(listenerPid(instance.httpSocket)).toBe(process.pid);
  });

  test("a file that is not a socket is never removed", async () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    fs.writeFileSync(place.instance.httpSocket, "precious");
    const claim = claimServer(place.instance, () => undefined);
    await expect(claim).rejects.toMatchObject({ code: "runtime_dir_unusable" });
    expect(fs.readFileSync(place.instance.httpSocket, "utf8")).toBe("precious");
  });

  test("its published description is read back; an invalid one counts as none", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    const info: ServerInfo = {
      pid: 1,
      version: "0.1.0",
      server_id: crypto.randomUUID(),
      base_prefix: "/p",
      started_at: 1_700_000_000_000,
      addresses: ["http://127.0.0.1:8080"],
      persist: true,
      audit_file: null,
    };
    expect(readServerInfo(place.instance)).toBeNull();
    writeServerInfo(place.instance, info);
    expect(readServerInfo(place.instance)).toEqual(info);
    expect(fs.statSync(place.instance.infoFile).mode & 0o777).toBe(0o600);
    expect(fs.lstatSync(place.instance.infoFile).isSymbolicLink()).toBe(true);
    for (const text of ["", "{", "[]", `{"pid":"1"}`]) {
      fs.writeFileSync(place.instance.infoFile, text);
      expect(readServerInfo(place.instance)).toBeNull();
    }
  });
});
