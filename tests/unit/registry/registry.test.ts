import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { type Instance, prepareRuntimeDir } from "../../../src/instance/paths.ts";
import { platform } from "../../../src/platform/platform.ts";
import { parseTarget } from "../../../src/protocol/names.ts";
import type { SessionIds } from "../../../src/registry/directories.ts";
import { watchOwnFiles } from "../../../src/registry/own-files-watch.ts";
import { claimSession, restoreSession } from "../../../src/registry/register.ts";
import {
  cleanStale,
  findSession,
  isRegistered,
  listSessions,
  markEnded,
  markLive,
  releaseSession,
  renameSession,
} from "../../../src/registry/registry.ts";
import { watchRegistry } from "../../../src/registry/registry-watch.ts";
import { fakeDaemon, listen, session, testInstance } from "../../support/registry.ts";
import { until } from "../../support/until.ts";

function names(instance: Instance): (string | null)[] {
  return listSessions(instance).map((entry) => entry.name);
}

function idsOf({ id, session, window }: SessionIds): SessionIds {
  return { id, session, window };
}

function idOf(instance: Instance, target: string): number {
  return findSession(instance, parseTarget(target)).id;
}

describe("naming a session", () => {
  test("numbers go up from 0 and are not assigned again", async () => {
    using place = testInstance();
    using first = await session(place.instance);
    using second = await session(place.instance);
    expect([first.name, second.name]).toEqual(["0", "1"]);
    await releaseSession(place.instance, second.id);
    using third = await session(place.instance);
    expect(third.name).toBe("2");
    expect(names(place.instance)).toEqual(["0", "2"]);
  });

  test("a number that somebody chose as a name is skipped", async () => {
    using place = testInstance();
    using _chosen = await session(place.instance, "0");
    using automatic = await session(place.instance);
    expect(automatic.name).toBe("1");
  });

  test("plain wsh gets 'default' while it is free", async () => {
    using place = testInstance();
    using first = await session(place.instance, { kind: "default" });
    using second = await session(place.instance, { kind: "default" });
    expect([first.name, second.name]).toEqual(["default", "0"]);
  });

  test("a command's session is named by its id", async () => {
    using place = testInstance();
    using command = await session(place.instance, { kind: "prefix", prefix: "exec-" });
    expect(command.name).toBe(`exec-${command.session}`);
  });

  test("a name of a running session is refused, and nothing is left behind", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    const bound: string[] = [];
    const bind = (path: string): void => void bound.push(path);
    const again = claimSession(place.instance, { name: { kind: "exact", name: "dev" }, maxSessions: 9, bind });
    await expect(again).rejects.toMatchObject({ code: "session_name_conflict" });
    expect(bound).toEqual([]);
    const { id, session: own, window, socket } = dev;
    expect(listSessions(place.instance)).toEqual([
      { id, session: own, window, socket, name: "dev", ended: false, isMember: false },
    ]);
  });

  test("names with dots are names, not paths", async () => {
    using place = testInstance();
    const odd = [".hidden", "a.b", "A-b_c.9"];
    const sessions = await Promise.all(odd.map((name) => session(place.instance, name)));
    expect(names(place.instance).sort()).toEqual(odd.toSorted());
    expect(odd.map((name) => idOf(place.instance, name))).toEqual(sessions.map(({ id }) => id));
    for (const each of sessions) each[Symbol.dispose]();
  });

  test("a lost counter continues above the numbers in use", async () => {
    using place = testInstance();
    using _named = await session(place.instance, "41");
    const { id } = await session(place.instance, "dev");
    fs.rmSync(place.instance.countersFile);
    using next = await session(place.instance);
    expect(next.name).toBe("42");
    expect(next.id).toBe(id + 1);
  });
});

describe("many at once", () => {
  test("twenty claims have twenty ids and twenty names", async () => {
    using place = testInstance();
    const all = await Promise.all(Array.from({ length: 20 }, () => session(place.instance, { kind: "default" })));
    expect(new Set(all.map(({ id }) => id)).size).toBe(20);
    expect(new Set(all.map(({ name }) => name)).size).toBe(20);
    expect(names(place.instance)).toHaveLength(20);
    for (const each of all) each[Symbol.dispose]();
  });

  test("of several processes that want one name, one gets it", async () => {
    using place = testInstance();
    const starters = Array.from({ length: 5 }, () =>
      Bun.spawn({ cmd: fakeDaemon("claim", "dev")(), env: place.env, stdin: "pipe", stdout: "pipe" }),
    );
    const answers = await Promise.all(
      starters.map(async ({ stdout }) => {
        const { value } = await stdout.getReader().read();
        return new TextDecoder().decode(value).trim();
      }),
    );
    expect(answers.toSorted()).toEqual(["claimed dev", ...Array(4).fill("session_name_conflict")]);
    for (const starter of starters) starter.kill("SIGKILL");
    await Promise.all(starters.map(({ exited }) => exited));
    expect((await cleanStale(place.instance)).map(({ name }) => name)).toEqual(["dev"]);
  });
});

describe("the session limit", () => {
  test("counts running sessions, not dead ones", async () => {
    using place = testInstance();
    using _kept = await session(place.instance, "kept", 2);
    const killed = await session(place.instance, "killed", 2);
    await expect(session(place.instance, "more", 2)).rejects.toMatchObject({ code: "max_sessions_reached" });
    killed[Symbol.dispose]();
    using _more = await session(place.instance, "more", 2);
    expect(names(place.instance)).toEqual(["kept", "more"]);
  });

  test("ended sessions that are still readable keep nobody out: past the limit those that ended first are named", async () => {
    using place = testInstance();
    using late = await session(place.instance, "late", 3);
    using early = await session(place.instance, "early", 3);
    await markEnded(place.instance, early.id);
    await Bun.sleep(20); // times of files are kept in ticks of the kernel
    await markEnded(place.instance, late.id);
    using third = await session(place.instance, "third", 1);
    expect(third.tooOld.map(({ name }) => name)).toEqual(["early"]);
    await expect(session(place.instance, "more", 1)).rejects.toMatchObject({ code: "max_sessions_reached" });
  });

  test("a bind that fails leaves nothing", async () => {
    using place = testInstance();
    const claim = claimSession(place.instance, {
      name: { kind: "exact", name: "dev" },
      maxSessions: 9,
      bind: () => Promise.reject(new Error("no room")),
    });
    await expect(claim).rejects.toThrow("no room");
    expect(listSessions(place.instance)).toEqual([]);
    using _dev = await session(place.instance, "dev");
  });
});

describe("finding a session", () => {
  test("by name, window, pane and id", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    for (const target of ["dev", "dev:0", "dev:main.0", `@${dev.id}`, `@s${dev.session}`, `@w${dev.window}`]) {
      expect(idOf(place.instance, target)).toBe(dev.id);
    }
    for (const target of ["de", "Dev", "@99", "@s99", "@w99", `${dev.id}`]) {
      expect(() => idOf(place.instance, target)).toThrow(expect.objectContaining({ code: "session_not_found" }));
    }
  });

  test("by name while one process after the other takes it over", async () => {
    using place = testInstance();
    const { sessionsDir, namesDir } = place.instance;
    prepareRuntimeDir(place.instance);
    const turns = 400;
    // As takeOverSession does: the next socket, the link moved to it, the last socket removed.
    const code = `
      const fs = require("node:fs");
      const socket = (id) => ${JSON.stringify(sessionsDir)} + "/" + id + ".sock";
      const name = ${JSON.stringify(join(namesDir, "dev"))};
      for (let id = 1; id <= ${turns}; id++) {
        Bun.listen({ unix: socket(id), socket: { data() {} } });
        fs.symlinkSync("../" + id + ".sock", name + "~~");
        fs.renameSync(name + "~~", name);
        if (id > 1) fs.rmSync(socket(id - 1));
        Bun.sleepSync(2);
      }`;
    await using _child = Bun.spawn([process.execPath, "-e", code], { stdout: "inherit", stderr: "inherit" });
    await until("the first process", () => fs.existsSync(join(namesDir, "dev")));
    let last = 0;
    while (last < turns) {
      const id = idOf(place.instance, "dev");
      expect(id).toBeGreaterThanOrEqual(last);
      last = id;
    }
  });

  test("without any session ever, there is nothing", () => {
    using place = testInstance();
    expect(listSessions(place.instance)).toEqual([]);
    expect(fs.existsSync(place.instance.runtimeDir)).toBe(false);
  });

  test("an ended session keeps its name until another takes it, and stays readable by its id", async () => {
    using place = testInstance();
    using old = await session(place.instance, "dev");
    await markEnded(place.instance, old.id);
    expect(findSession(place.instance, parseTarget("dev"))).toMatchObject({ id: old.id, ended: true });
    using young = await session(place.instance, "dev");
    expect(idOf(place.instance, "dev")).toBe(young.id);
    expect(idOf(place.instance, `@${old.id}`)).toBe(old.id);
    await releaseSession(place.instance, young.id);
    expect(idOf(place.instance, "dev")).toBe(old.id);
  });

  test("of several ended sessions of one name the newest is selected", async () => {
    using place = testInstance();
    using old = await session(place.instance, "dev");
    await markEnded(place.instance, old.id);
    using young = await session(place.instance, "dev");
    await markEnded(place.instance, young.id);
    expect(idOf(place.instance, "dev")).toBe(young.id);
    expect(names(place.instance)).toEqual(["dev", "dev"]);
  });

  test("a restarted session takes its name back, if it is free", async () => {
    using place = testInstance();
    using old = await session(place.instance, "dev");
    await markEnded(place.instance, old.id);
    await markLive(place.instance, old.id);
    expect(findSession(place.instance, parseTarget("dev"))).toMatchObject({ id: old.id, ended: false });
    await markEnded(place.instance, old.id);
    using _young = await session(place.instance, "dev");
    await expect(markLive(place.instance, old.id)).rejects.toMatchObject({ code: "session_name_conflict" });
    expect(findSession(place.instance, parseTarget(`@${old.id}`))).toMatchObject({ name: "dev", ended: true });
  });
});

describe("renaming", () => {
  test("moves the name; the same name is no change; a taken one is refused", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    using build = await session(place.instance, "build");
    await renameSession(place.instance, dev.id, "prod");
    expect(names(place.instance)).toEqual(["prod", "build"]);
    await renameSession(place.instance, dev.id, "prod");
    await expect(renameSession(place.instance, build.id, "prod")).rejects.toMatchObject({
      code: "session_name_conflict",
    });
    await expect(renameSession(place.instance, build.id, "a/b")).rejects.toMatchObject({
      code: "invalid_session_name",
    });
    await expect(renameSession(place.instance, 99, "x")).rejects.toMatchObject({ code: "session_not_found" });
    expect(names(place.instance)).toEqual(["prod", "build"]);
  });

  test("an ended session can be renamed and stays ended", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    await markEnded(place.instance, dev.id);
    await renameSession(place.instance, dev.id, "old");
    expect(listSessions(place.instance)).toMatchObject([{ id: dev.id, name: "old", ended: true }]);
  });
});

describe("the remains of a killed session process", () => {
  test("its name can be taken at once", async () => {
    using place = testInstance();
    const dead = await session(place.instance, "dev");
    dead[Symbol.dispose]();
    using next = await session(place.instance, "dev");
    expect(listSessions(place.instance).map(({ id }) => id)).toEqual([next.id]);
    expect(next.id).not.toBe(dead.id);
  });

  test("are cleaned up; running ones and files that are not sockets stay", async () => {
    using place = testInstance();
    using _alive = await session(place.instance, "alive");
    const dead = await session(place.instance, "dead");
    dead[Symbol.dispose]();
    const strangers = ["77.sock", "note.txt", "names/stranger"].map((file) => join(place.instance.sessionsDir, file));
    for (const path of strangers) fs.writeFileSync(path, "mine");
    expect(await cleanStale(place.instance)).toMatchObject([{ id: dead.id, name: "dead" }]);
    expect(names(place.instance)).toEqual(["alive"]);
    for (const path of strangers) expect(fs.readFileSync(path, "utf8")).toBe("mine");
  });

  test("a name whose socket is gone is cleaned away, or taken, at any length", async () => {
    using place = testInstance();
    const long = "x".repeat(64);
    for (const name of ["a", "b", long]) {
      const dead = await session(place.instance, name);
      dead[Symbol.dispose]();
      fs.rmSync(dead.socket);
    }
    using _taken = await session(place.instance, "a");
    using _long = await session(place.instance, long);
    await cleanStale(place.instance);
    expect(fs.readdirSync(place.instance.namesDir).sort()).toEqual(["@s4.w4", "@s5.w5", "a", long]);
    expect(names(place.instance)).toEqual(["a", long]);
  });
});

describe("watching", () => {
  test("sees a session come, be renamed and go", async () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    let seen: (string | null)[] = [];
    using _watch = watchRegistry(place.instance, () => {
      seen = names(place.instance);
    });
    using dev = await session(place.instance, "dev");
    await until("the new session is seen", () => seen.includes("dev"));
    await renameSession(place.instance, dev.id, "prod");
    await until("the new name is seen", () => seen.includes("prod"));
    await releaseSession(place.instance, dev.id);
    await until("the end is seen", () => seen.length === 0);
  });

  test("continues when the runtime directory is deleted and made again", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    let calls = 0;
    using _watch = watchRegistry(place.instance, () => {
      calls += 1;
    });
    fs.rmSync(place.instance.runtimeDir, { recursive: true });
    await until("the loss is seen", () => calls > 0);
    expect(isRegistered(place.instance, dev.id)).toBe(false);

    const listeners: Disposable[] = [];
    const restored = await restoreSession(
      place.instance,
      { ...idsOf(dev), name: "dev", ended: false },
      dev.life,
      (path) => {
        listeners.push(listen(path));
      },
    );
    expect(restored).toMatchObject({ ...idsOf(dev), name: "dev", socket: dev.socket });
    calls = 0;
    using _other = await session(place.instance, "other");
    await until("the new directory is watched", () => calls > 0);
    expect(names(place.instance)).toEqual(["dev", "other"]);
    for (const listener of listeners) listener[Symbol.dispose]();
  });

  test("begins when the directory appears", async () => {
    using place = testInstance();
    let calls = 0;
    using _watch = watchRegistry(place.instance, () => {
      calls += 1;
    });
    using _dev = await session(place.instance, "dev");
    await until("the session is seen", () => calls > 0);
  });

  test("a session process sees the loss of its own socket, and nothing of the others", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    let losses = 0;
    const listeners: Disposable[] = [];
    const files = { socket: dev.socket, life: dev.life };
    using _watch = watchOwnFiles(files, () => {
      losses += 1;
    });
    using other = await session(place.instance, "other");
    await renameSession(place.instance, dev.id, "prod");
    await releaseSession(place.instance, other.id);
    expect(losses).toBe(0);
    for (let round = 1; round <= 2; round += 1) {
      fs.rmSync(place.instance.runtimeDir, { recursive: true });
      // Sockets cannot be watched on macOS: it is seen at the next check, within 10 s.
      await until("the loss is seen", () => losses > 0);
      const as = { ...idsOf(dev), name: "prod", ended: false };
      const { life } = await restoreSession(place.instance, as, files.life, (path) => {
        listeners.push(listen(path));
      });
      files.life = life;
      await until("it is registered again", () => isRegistered(place.instance, dev.id));
      // The watch is on the new socket before the next loss, or finds it missing at its next check.
      losses = 0;
    }
    for (const listener of listeners) listener[Symbol.dispose]();
  });

  test.if(platform().sockets.reportsSockets)("names bound by others use up no ids", async () => {
    using place = testInstance();
    const { sessionsDir } = place.instance;
    // As in the process's own directory, and as in a separate file system.
    const elsewhere = join(place.dir, "else", sessionsDir);
    const bound: Disposable[] = [];
    for (const dir of [elsewhere, sessionsDir]) fs.mkdirSync(dir, { recursive: true, mode: 0o700 });
    for (const path of [join(elsewhere, "7.sock"), join(sessionsDir, "999999999.sock")]) {
      bound.push(listen(path));
      fs.rmSync(path);
    }
    using first = await session(place.instance, "dev");
    expect(first.id).toBe(1);
    expect(names(place.instance)).toEqual(["dev"]);
    for (const listener of bound) listener[Symbol.dispose]();
  });

  test("a restored session whose name was taken gets a number", async () => {
    using place = testInstance();
    using dev = await session(place.instance, "dev");
    fs.rmSync(place.instance.runtimeDir, { recursive: true });
    using thief = await session(place.instance, "dev");
    expect(thief.id).not.toBe(dev.id);
    const listeners: Disposable[] = [];
    const restored = await restoreSession(
      place.instance,
      { ...idsOf(dev), name: "dev", ended: false },
      dev.life,
      (path) => {
        listeners.push(listen(path));
      },
    );
    expect(restored).toMatchObject({ id: dev.id, name: "0" });
    expect(names(place.instance)).toEqual(["0", "dev"]);
    for (const listener of listeners) listener[Symbol.dispose]();
  });
});
