/** Ids of sessions, windows and panes: none is assigned twice, whatever happens to the counters or to the registry. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { dirname, join } from "node:path";
import { checkpointsDir, type Instance } from "../../../src/instance/paths.ts";
import { platform } from "../../../src/platform/platform.ts";
import type { SessionIds } from "../../../src/registry/directories.ts";
import { restoreSession } from "../../../src/registry/register.ts";
import { listSessions, releaseSession } from "../../../src/registry/registry.ts";
import { fakeDaemon, listen, session, testInstance } from "../../support/registry.ts";

function idsOf({ id, session, window }: SessionIds): SessionIds {
  return { id, session, window };
}

function counters(pane: number, session: number, window: number, name: number): string {
  const [p, s, w, n] = [pane, session, window, name].map((value) => String(value).padStart(9, "0"));
  return `pane ${p} session ${s} window ${w} name ${n}\n`;
}

function store(instance: Instance, content: string): void {
  fs.mkdirSync(instance.stateDir, { recursive: true, mode: 0o700 });
  fs.writeFileSync(instance.countersFile, content, { mode: 0o600 });
}

describe("ids", () => {
  test("of each kind count separately, are linked beside the name, and are removed with the session", async () => {
    using place = testInstance();
    store(place.instance, counters(7, 3, 5, 0));
    using dev = await session(place.instance, "dev");
    expect(idsOf(dev)).toEqual({ id: 7, session: 3, window: 5 });
    expect(fs.readdirSync(place.instance.namesDir).sort()).toEqual(["@s3.w5", "dev"]);
    expect(listSessions(place.instance)).toMatchObject([{ id: 7, session: 3, window: 5, name: "dev" }]);
    expect(fs.readFileSync(place.instance.countersFile, "utf8")).toBe(counters(8, 4, 6, 0));
    await releaseSession(place.instance, { ...idsOf(dev), name: "dev" });
    expect(fs.readdirSync(place.instance.namesDir)).toEqual([]);
  });

  test("are assigned once, though the runtime directory is emptied, as by a reboot", async () => {
    using place = testInstance();
    using before = await session(place.instance);
    fs.rmSync(place.instance.runtimeDir, { recursive: true });
    before[Symbol.dispose]();
    using after = await session(place.instance);
    expect(idsOf(after)).toEqual({ id: before.id + 1, session: before.session + 1, window: before.window + 1 });
    expect(after.name).toBe("1");
  });

  test("are assigned once by many processes at once", async () => {
    using place = testInstance();
    const starters = Array.from({ length: 8 }, (_, n) =>
      Bun.spawn({ cmd: fakeDaemon("claim", `s${n}`)(), env: place.env, stdin: "pipe", stdout: "pipe" }),
    );
    await Promise.all(starters.map(async ({ stdout }) => stdout.getReader().read()));
    const entries = listSessions(place.instance);
    expect(entries).toHaveLength(8);
    for (const kind of ["id", "session", "window"] as const) {
      expect(new Set(entries.map((entry) => entry[kind])).size, kind).toBe(8);
    }
    for (const starter of starters) starter.kill("SIGKILL");
    await Promise.all(starters.map(({ exited }) => exited));
  });

  test("are assigned once by two runtime directories that share the state directory", async () => {
    using place = testInstance();
    const runtimeDir = join(place.dir, "second");
    const sessionsDir = join(runtimeDir, place.instance.name);
    const other = { ...place.instance, runtimeDir, sessionsDir, namesDir: join(sessionsDir, "names") };
    const both = Array.from({ length: 20 }, (_, n) => session(n % 2 === 0 ? place.instance : other));
    const all = await Promise.all(both);
    for (const kind of ["id", "session", "window"] as const) {
      expect(new Set(all.map((each) => each[kind])).size, kind).toBe(20);
    }
    for (const each of all) each[Symbol.dispose]();
  });
});

describe("a counter file that is", () => {
  const whole = counters(9, 9, 9, 0);
  test.each([
    ["empty", ""],
    ["cut off", whole.slice(0, 30)],
    ["garbage", "\0\xff\n\n pane x"],
    ["of impossible numbers", counters(1, 1, 1, 1).replaceAll("0", "9").replace("pane 9", "pane 99")],
    ["endless", "0".repeat(3_000_000)],
    ["negative", whole.replaceAll("000000009", "-00000009")],
    ["set back", counters(1, 1, 1, 0)],
  ])("%s leads to no id that is in use", async (_, content) => {
    using place = testInstance();
    store(place.instance, counters(7, 3, 5, 0));
    using dev = await session(place.instance, "dev");
    store(place.instance, content);
    using next = await session(place.instance);
    expect(next.id).toBeGreaterThan(dev.id);
    expect(next.session).toBeGreaterThan(dev.session);
    expect(next.window).toBeGreaterThan(dev.window);
    expect(fs.readFileSync(place.instance.countersFile, "utf8")).toMatch(
      /^pane \d{9} session \d{9} window \d{9} name \d{9}\n$/,
    );
  });

  test.if(platform().sockets.reportsSockets)("lost with the registry assigns no id of a running session", async () => {
    using place = testInstance();
    store(place.instance, counters(7, 3, 5, 0));
    using dev = await session(place.instance, "dev");
    fs.rmSync(place.instance.runtimeDir, { recursive: true });
    fs.rmSync(place.instance.countersFile);
    using next = await session(place.instance, "next");
    const listeners: Disposable[] = [];
    const bind = (path: string): void => void listeners.push(listen(path));
    const restored = await restoreSession(place.instance, { ...idsOf(dev), name: "dev", ended: false }, dev.life, bind);
    expect(idsOf(restored)).toEqual(idsOf(dev));
    for (const kind of ["id", "session", "window"] as const) expect(next[kind], kind).not.toBe(dev[kind]);
    for (const listener of listeners) listener[Symbol.dispose]();
  });

  test.each([
    ["lost", null],
    ["set back", counters(1, 1, 1, 0)],
    ["set back to where only a pane is above", counters(5, 4, 4, 0)],
  ])("%s leads to no id of a session that was lost, or has a checkpoint with a label", async (_, content) => {
    using place = testInstance();
    store(place.instance, content ?? "");
    if (content === null) fs.rmSync(place.instance.countersFile);
    for (const [folder, file] of [
      ["s2", "p2.lock"],
      ["s3", "p6.1.state"],
      ["s1.before", "p7.1.state"],
    ] as const) {
      const directory = join(checkpointsDir(place.instance), folder);
      fs.mkdirSync(directory, { recursive: true, mode: 0o700 });
      fs.writeFileSync(join(directory, file), "", { mode: 0o600 });
    }
    using next = await session(place.instance);
    expect(next.id).toBe(8);
    expect(next.session).toBeGreaterThan(3);
    expect(next.window).toBeGreaterThan(3);
  });

  test("used up, a directory, a link or a pipe makes no session, and the error names the file", async () => {
    using place = testInstance();
    const { countersFile } = place.instance;
    const spoilt = [
      () => store(place.instance, counters(999_999_999, 1, 1, 0)),
      () => store(place.instance, counters(1, 1, 999_999_999, 0)),
      () => fs.mkdirSync(countersFile, { recursive: true, mode: 0o700 }),
      () => fs.symlinkSync(join(place.dir, "elsewhere"), countersFile),
      () => Bun.spawnSync(["mkfifo", countersFile]),
    ];
    fs.mkdirSync(dirname(countersFile), { recursive: true, mode: 0o700 });
    for (const spoil of spoilt) {
      fs.rmSync(countersFile, { recursive: true, force: true });
      spoil();
      const message = expect.stringContaining(countersFile);
      await session(place.instance, "dev").then(
        () => expect().fail("a session was made"),
        (error) => expect(`${error.code} ${error.message} ${error.hintAt("cli")}`).toEqual(message),
      );
      expect(listSessions(place.instance)).toEqual([]);
    }
  });
});
