/** A process is alive while it holds its lock: a stopped or busy one, or one that has lost files, is not dead. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { basename, join } from "node:path";
import { resolveInstance } from "../../../src/instance/paths.ts";
import { platform, usePlatform } from "../../../src/platform/platform.ts";
import { lockBeside, lockState } from "../../../src/registry/life-lock.ts";
import { listenerPid, processState } from "../../../src/registry/liveness.ts";
import { watchOwnFiles } from "../../../src/registry/own-files-watch.ts";
import { claimSession, restoreSession } from "../../../src/registry/register.ts";
import { cleanStale, listSessions } from "../../../src/registry/registry.ts";
import { isServerAlive, isServerRunning } from "../../../src/registry/single-server.ts";
import { fakeDaemon, listen, session, type TestInstance, testInstance } from "../../support/registry.ts";
import { until } from "../../support/until.ts";

/** Starts a process that has a session, and returns its first output. */
async function claimant(place: TestInstance, role: string, name: string) {
  const child = Bun.spawn({ cmd: fakeDaemon(role, name)(), env: place.env, stdin: "pipe", stdout: "pipe" });
  const { value } = await child.stdout.getReader().read();
  return { child, wrote: new TextDecoder().decode(value).trim() };
}

function locks({ instance }: TestInstance): string[] {
  return fs.readdirSync(join(instance.stateDir, "locks"));
}

/** A number that no process has: that of one that has ended. */
async function freePid(): Promise<number> {
  const { pid, exited } = Bun.spawn(["true"]);
  await exited;
  return pid;
}

describe("a process that is stopped", () => {
  test("lives, however many connect to it, until it is killed", async () => {
    using place = testInstance();
    const { child } = await claimant(place, "claim", "dev");
    const socket = listSessions(place.instance)[0]?.socket ?? "";
    child.kill("SIGSTOP");
    // The queue of a listener accepts 512 connections; that of macOS 128.
    const waiting = Array.from({ length: 600 }, () =>
      Bun.connect({ unix: socket, socket: { data() {} } }).catch(() => null),
    );
    await Promise.race([Promise.all(waiting), Bun.sleep(200)]);
    expect(processState(socket)).toBe("alive");
    expect(await cleanStale(place.instance)).toEqual([]);
    await expect(session(place.instance, "dev")).rejects.toMatchObject({ code: "session_name_conflict" });
    expect(fs.existsSync(socket)).toBe(true);
    child.kill("SIGKILL");
    await child.exited;
    // The kernel may free it a moment after the end.
    await until("its lock to be free", () => processState(socket) === "dead");
    expect(await cleanStale(place.instance)).toMatchObject([{ name: "dev" }]);
    expect(locks(place)).toEqual([]);
    expect(fs.readdirSync(place.instance.sessionsDir)).not.toContain(basename(lockBeside(socket)));
  });
});

describe("a process that is dead", () => {
  test("is dead though its programs still run: none of them has its lock", async () => {
    using place = testInstance();
    const { child, wrote } = await claimant(place, "claim-and-leave", "dev");
    const programs = wrote.split(" ").map(Number);
    const socket = listSessions(place.instance)[0]?.socket ?? "";
    try {
      child.kill("SIGKILL");
      await child.exited;
      // The terminal's program gets SIGHUP; the other one notices nothing.
      expect(() => process.kill(programs[1] ?? 0, 0)).not.toThrow();
      await until("its lock to be free", () => processState(socket) === "dead");
      expect(await cleanStale(place.instance)).toMatchObject([{ name: "dev" }]);
    } finally {
      for (const pid of programs) {
        try {
          process.kill(pid, "SIGKILL");
        } catch {
          // gone with its terminal
        }
      }
    }
  });

  test("is not a server though its last child holds the lock: a new one waits for that", async () => {
    using place = testInstance();
    const { child, wrote } = await claimant(place, "serve-with-child", "");
    expect(await isServerRunning(place.instance)).toBe(true);
    child.kill("SIGKILL");
    await child.exited;
    expect(isServerAlive(place.instance)).toBe(true);
    const running = isServerRunning(place.instance);
    process.kill(Number(wrote), "SIGKILL");
    expect(await running).toBe(false);
  });

  test("is not a server once it ends, though its files are still to be closed", async () => {
    using place = testInstance();
    const { child, wrote } = await claimant(place, "serve-with-child", "");
    const real = platform();
    // As the kernel shows a process that has lost its memory.
    const args = (pid: number) => (pid === child.pid ? [] : real.processes.args(pid));
    using _ = usePlatform({ ...real, processes: { ...real.processes, args } });
    const running = isServerRunning(place.instance);
    child.kill("SIGKILL");
    process.kill(Number(wrote), "SIGKILL");
    expect(await running).toBe(false);
  });

  test("is dead though another process has its number", async () => {
    using place = testInstance();
    const dead = await session(place.instance, "dev");
    expect(dead.life.path).toContain(`.${process.pid}.`);
    dead[Symbol.dispose]();
    expect(processState(dead.socket)).toBe("dead");
  });

  test("is found dead by many at once: the check delays nobody", async () => {
    using place = testInstance();
    const dead = await session(place.instance, "dev");
    const link = lockBeside(dead.socket);
    expect(lockState(link)).toBe("held");
    dead[Symbol.dispose]();
    const looker = `import { lockState } from ${JSON.stringify(join(import.meta.dir, "../../../src/registry/life-lock.ts"))};
      const seen = new Set(); for (let i = 0; i < 5000; i++) seen.add(lockState(${JSON.stringify(link)}));
      console.log([...seen].join());`;
    const lookers = Array.from({ length: 3 }, () => Bun.spawn([process.execPath, "-e", looker], { stdout: "pipe" }));
    expect(await Promise.all(lookers.map(({ stdout }) => new Response(stdout).text()))).toEqual(
      Array(3).fill("free\n"),
    );
  });
});

describe("a lock file that was deleted", () => {
  test("leaves its process alive, which makes a new one", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    let losses = 0;
    const files = { socket: dev.socket, life: dev.life };
    using _watch = watchOwnFiles(files, () => {
      losses += 1;
    });
    fs.rmSync(dev.life.path);
    expect(dev.life.isFound).toBe(false);
    expect(processState(dev.socket)).toBe("alive");
    expect(await cleanStale(place.instance)).toEqual([]);
    await until("the loss is seen", () => losses > 0);
    const listeners: Disposable[] = [];
    const { id, session: own, window } = dev;
    const as = { id, session: own, window, name: "dev", ended: false };
    const { life } = await restoreSession(place.instance, as, dev.life, (path) => void listeners.push(listen(path)));
    expect(life.isFound).toBe(true);
    expect(listSessions(place.instance)).toMatchObject([{ id, name: "dev" }]);
    // As by the death of the process.
    for (const listener of listeners) listener[Symbol.dispose]();
    life[Symbol.dispose]();
    expect(processState(dev.socket)).toBe("dead");
  });

  test("of a process that is gone, or of another boot, says nothing about running ones", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    const link = lockBeside(dev.socket);
    const parts = basename(dev.life.path).split(".");
    const others = [parts.with(3, String(await freePid())), parts.with(2, "otherboot0")];
    for (const other of others) {
      fs.rmSync(link);
      fs.symlinkSync(join(place.instance.stateDir, "locks", other.join(".")), link);
      expect(processState(dev.socket)).toBe("dead");
    }
  });

  test("in a file that cannot be opened is not free", async () => {
    using place = testInstance();
    const dead = await session(place.instance, "dev");
    dead[Symbol.dispose]();
    const link = lockBeside(dead.socket);
    fs.rmSync(link);
    fs.symlinkSync(join(place.dir, "loop"), link);
    fs.symlinkSync(join(place.dir, "loop"), join(place.dir, "loop"));
    expect(processState(dead.socket)).toBe("alive");
    expect(await cleanStale(place.instance)).toEqual([]);
  });
});

describe("locks", () => {
  test("are found with any state directory of the checking process", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    const env = { ...place.env, XDG_STATE_HOME: join(place.dir, "elsewhere") };
    const other = resolveInstance({ env });
    expect(other.stateDir).not.toBe(place.instance.stateDir);
    expect(await cleanStale(other)).toEqual([]);
    dev[Symbol.dispose]();
    expect(await cleanStale(other)).toMatchObject([{ name: "dev" }]);
    expect(locks(place)).toEqual([]);
  });

  test("of two instances, and of two runtime directories with one state directory, do not mix", async () => {
    using place = testInstance();
    const instances = [
      place.instance,
      resolveInstance({ env: { ...place.env, WSH_SERVER_NAME: "other" } }),
      resolveInstance({ env: { ...place.env, XDG_RUNTIME_DIR: join(place.dir, "run2") } }),
    ];
    const sessions = await Promise.all(instances.map((instance) => session(instance, "dev")));
    expect(new Set(instances.map(({ stateDir }) => stateDir)).size).toBe(1);
    sessions[0]?.[Symbol.dispose]();
    expect(await Promise.all(instances.map(async (instance) => (await cleanStale(instance)).length))).toEqual([
      1, 0, 0,
    ]);
    for (const each of sessions) each[Symbol.dispose]();
  });

  test("left by a deleted runtime directory are removed later; those of running processes, and other files, stay", async () => {
    using place = testInstance();
    const dead = await session(place.instance, "dead");
    dead[Symbol.dispose]();
    fs.rmSync(place.instance.runtimeDir, { recursive: true });
    using _alive = await session(place.instance, "alive");
    const directory = join(place.instance.stateDir, "locks");
    const strangers = ["note.txt", basename(dead.life.path).replace("default", "default2")];
    for (const file of strangers) fs.writeFileSync(join(directory, file), "");
    const old = new Date(Date.now() - 3_600_000);
    for (const file of locks(place)) fs.utimesSync(join(directory, file), old, old);
    await cleanStale(place.instance);
    expect(locks(place).toSorted()).toEqual([...strangers, basename(_alive.life.path)].toSorted());
  });

  test("that cannot be created make no session, and the message names the directory", async () => {
    using place = testInstance();
    fs.mkdirSync(place.instance.stateDir, { recursive: true, mode: 0o700 });
    fs.writeFileSync(join(place.instance.stateDir, "locks"), "a file");
    const claim = claimSession(place.instance, { name: { kind: "number" }, maxSessions: 9, bind: () => undefined });
    await expect(claim).rejects.toThrow(join(place.instance.stateDir, "locks"));
    expect(listSessions(place.instance)).toEqual([]);
    expect(fs.readdirSync(place.instance.namesDir)).toEqual([]);
  });

  test("name the process that holds them where the kernel cannot", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    expect(listenerPid(dev.socket)).toBe(process.pid);
  });
});
