import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { withLock } from "../../../src/instance/lock.ts";
import { type Instance, maxSocketPathBytes, prepareRuntimeDir, resolveInstance } from "../../../src/instance/paths.ts";
import { createLogger } from "../../../src/log/log.ts";
import { platform } from "../../../src/platform/platform.ts";
import { listenerPid, processState } from "../../../src/registry/liveness.ts";
import { listSessions } from "../../../src/registry/registry.ts";
import { ensureToken, readToken } from "../../../src/secrets/own-secrets.ts";
import { fakeDaemon as fake, listen, type TestInstance, testInstance } from "../../support/registry.ts";
import { until } from "../../support/until.ts";

function code(name: string) {
  return expect.objectContaining({ code: name });
}

describe("the selected instance", () => {
  const env = { HOME: "/home/me", XDG_RUNTIME_DIR: "/run/user/7" };

  test("the default one, in the user's runtime directory", () => {
    expect(resolveInstance({ env })).toMatchObject({
      name: "default",
      httpSocket: "/run/user/7/wsh/default.http.sock",
      mcpSocket: "/run/user/7/wsh/default.mcp.sock",
      sessionsDir: "/run/user/7/wsh/default",
      tokenFile: "/home/me/.local/state/wsh/default.token",
      configFile: "/home/me/.config/wsh/config.toml",
      configNamed: false,
    });
  });

  test("a flag has precedence over the environment, a socket names directory and instance", () => {
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

  test("an invalid name is a usage error", () => {
    for (const socket of ["/x/b.sock", "/x/.http.sock", "b", "/x/a b.http.sock"]) {
      expect(() => resolveInstance({ flags: { socket }, env })).toThrow(/http\.sock|instance name/);
    }
    for (const serverName of ["a.b", "a/b", "ä", "x".repeat(33)]) {
      expect(() => resolveInstance({ flags: { serverName }, env })).toThrow(code("invalid_instance_name"));
    }
    const flags = { socket: "/x/b.http.sock", serverName: "c" };
    expect(() => resolveInstance({ flags, env })).toThrow(code("invalid_request"));
  });

  test("a path too long for a socket is an error with the reason", () => {
    const deep = { ...env, XDG_RUNTIME_DIR: `/${"d".repeat(100)}` };
    expect(() => resolveInstance({ env: deep })).toThrow(`the system allows ${maxSocketPathBytes}`);
  });
});

describe("the runtime directory", () => {
  test("is created for its owner alone", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    for (const path of [place.instance.runtimeDir, place.instance.sessionsDir, place.instance.namesDir]) {
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

  test("is an error with the reason where it cannot be created", () => {
    using place = testInstance();
    fs.writeFileSync(join(place.dir, "run"), "in the way");
    expect(() => prepareRuntimeDir(place.instance)).toThrow(code("runtime_dir_unusable"));
    expect(() => listSessions(place.instance)).toThrow(code("runtime_dir_unusable"));
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

  test("name their holder, and are free when the holder is killed", async () => {
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

  test("move to the new file after the old one was deleted", async () => {
    using place = testInstance();
    const path = join(place.dir, "lock");
    await withLock(path, async () => {
      fs.rmSync(path);
      expect(await withLock(path, () => "another lock", { timeoutMs: 100 })).toBe("another lock");
    });
  });

  test("are released after a failure", async () => {
    using place = testInstance();
    const path = join(place.dir, "lock");
    await expect(withLock(path, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(await withLock(path, () => "mine", { timeoutMs: 100 })).toBe("mine");
  });
});

test("a socket is alive, dead, absent or not a socket", () => {
  using place = testInstance();
  const path = join(place.dir, "a.sock");
  expect(processState(path)).toBe("absent");
  fs.writeFileSync(path, "");
  expect(processState(path)).toBe("not_a_socket");
  fs.rmSync(path);
  const listener = listen(path);
  expect(processState(path)).toBe("alive");
  listener[Symbol.dispose]();
  expect(processState(path)).toBe("dead");
});

// As earlier versions of wsh judged; macOS refuses then. With locks: life-lock.test.ts.
test.if(platform().sockets.reportsSockets)(
  "a stopped listener without a lock is alive, however many wait, and its process is known",
  async () => {
    using place = testInstance();
    const path = join(place.dir, "a.sock");
    const child = Bun.spawn({ cmd: fake("listen", path)(), env: place.env, stdin: "ignore", stdout: "pipe" });
    await child.stdout.getReader().read();
    child.kill("SIGSTOP");
    expect(listenerPid(path)).toBe(child.pid);
    // The queue of a listener accepts 512 connections.
    const states = new Set(Array.from({ length: 600 }, () => processState(path)));
    expect([...states]).toEqual(["alive"]);
    child.kill("SIGKILL");
    await child.exited;
    await until("its socket to be dead", () => processState(path) === "dead");
    expect(listenerPid(path)).toBeNull();
  },
);

describe("the token", () => {
  test("is created once, the same for all, readable by its owner alone", () => {
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
  test("have one line per event, as text or JSON, from the set level up", () => {
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

  test.if(process.getuid?.() === 0)("are not written to a file that another user made", () => {
    using place = testInstance();
    const file = join(place.dir, "server.log");
    fs.writeFileSync(file, "", { mode: 0o666 });
    fs.chownSync(file, 65_534, 65_534);
    createLogger({ level: "info", format: "text", file }).info("secret");
    expect(fs.readFileSync(file, "utf8")).toBe("");
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
