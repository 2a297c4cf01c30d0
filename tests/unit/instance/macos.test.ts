/**
 * The registry on macOS: connections to a full queue are refused, sockets raise no events and cannot be watched,
 * file names are case-insensitive, regular files of /tmp are deleted. Its suites run on such a platform, too.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { resolveInstance } from "../../../src/instance/paths.ts";
import { installScripts } from "../../../src/launch/script-files.ts";
import { usePlatform } from "../../../src/platform/platform.ts";
import { parseTarget } from "../../../src/protocol/names.ts";
import { lockBeside, removeLock } from "../../../src/registry/life-lock.ts";
import { claimSession } from "../../../src/registry/register.ts";
import { cleanStale, findSession, listSessions, releaseSession } from "../../../src/registry/registry.ts";
import { watchRegistry } from "../../../src/registry/registry-watch.ts";
import { readServerInfo, writeServerInfo } from "../../../src/registry/server-info.ts";
import { claimServer, isServerAlive } from "../../../src/registry/single-server.ts";
import { onFakeDarwin } from "../../support/fake-darwin/environment.ts";
import { cleanTmp, fakeDarwin } from "../../support/fake-darwin/platform.ts";
import { listen, session, testInstance } from "../../support/registry.ts";
import { until } from "../../support/until.ts";

test.each([
  "registry/registry",
  "registry/ids",
  "registry/life-lock",
  "launch/launch",
  "instance/instance",
  "instance/kept-files",
])("the suite of %s passes there", async (suite) => {
  const file = join(import.meta.dir, "..", `${suite}.test.ts`);
  const child = Bun.spawn([process.execPath, "test", "--timeout", "60000", file], {
    env: { ...process.env, ...onFakeDarwin },
    stdout: "ignore",
    stderr: "pipe",
  });
  const said = await new Response(child.stderr).text();
  expect(await child.exited, said).toBe(0);
  expect(said).toMatch(/ [1-9]\d* pass\n/);
});

describe("there", () => {
  let used: Disposable;
  beforeAll(() => {
    used = usePlatform(fakeDarwin);
  });
  afterAll(() => used[Symbol.dispose]());

  test("the daily cleaning of /tmp removes nothing that sessions or a server need", async () => {
    using place = testInstance();
    const { instance } = place;
    using dev = await session(instance, "dev");
    const { bound, life } = await claimServer(instance, () => listen(instance.httpSocket));
    const info = { pid: 1, version: "0", server_id: "x", base_prefix: "", started_at: 1, addresses: [] };
    writeServerInfo(instance, { ...info, persist: true, audit_file: null });
    const scripts = installScripts(instance, [{ name: "a", text: "a" }]);
    expect(cleanTmp(instance.runtimeDir)).toEqual([]);
    expect(dev.life.isFound).toBe(true);
    expect(isServerAlive(instance)).toBe(true);
    expect(readServerInfo(instance)).toMatchObject({ persist: true });
    expect(fs.readFileSync(join(scripts, "a"), "utf8")).toBe("a");
    bound.stop();
    life[Symbol.dispose]();
  });

  test("names that differ in case are two sessions, and two instances", async () => {
    using place = testInstance();
    using upper = await session(place.instance, "Dev");
    using lower = await session(place.instance, "dev");
    expect(findSession(place.instance, parseTarget("Dev")).id).toBe(upper.id);
    expect(findSession(place.instance, parseTarget("dev")).id).toBe(lower.id);
    const instances = ["Dev", "dev"].map((serverName) => resolveInstance({ flags: { serverName }, env: place.env }));
    for (const kind of ["httpSocket", "sessionsDir", "tokenFile", "countersFile", "sessionLog", "infoFile"] as const) {
      expect(new Set(instances.map((instance) => instance[kind].toLowerCase())).size, kind).toBe(2);
    }
    // The environment that a session passes on selects the same instance.
    const socket = instances[0]?.httpSocket;
    expect(resolveInstance({ flags: { socket }, env: place.env })).toEqual({ ...instances[0] } as never);
  });

  test("a new or ended session is noticed, also where the file events are lost", async () => {
    using place = testInstance();
    using _first = await session(place.instance, "first");
    let calls = 0;
    using deaf = usePlatform({
      ...fakeDarwin,
      sockets: { ...fakeDarwin.sockets, watch: () => ({ close: () => undefined }) },
    });
    using _watch = watchRegistry(place.instance, () => {
      calls += 1;
    });
    using second = await session(place.instance, "second");
    await until("the new session is noticed", () => calls > 0);
    calls = 0;
    await releaseSession(place.instance, second.id);
    await until("its end is noticed", () => calls > 0);
    expect(deaf).toBeDefined();
  });

  test("a busy process whose connections are refused keeps its socket and its name", async () => {
    using place = testInstance();
    using refusing = usePlatform({
      ...fakeDarwin,
      sockets: { ...fakeDarwin.sockets, connect: () => ({ kind: "refused" as const }) },
    });
    using dev = await session(place.instance, "dev");
    for (let i = 0; i < 300; i += 1) expect(refusing && (await cleanStale(place.instance, [dev.id]))).toEqual([]);
    expect(fs.existsSync(dev.socket)).toBe(true);
    const again = claimSession(place.instance, {
      name: { kind: "exact", name: "dev" },
      maxSessions: 9,
      bind: () => undefined,
    });
    await expect(again).rejects.toMatchObject({ code: "session_name_conflict" });
    dev[Symbol.dispose]();
    expect(await cleanStale(place.instance)).toMatchObject([{ name: "dev" }]);
    expect(listSessions(place.instance)).toEqual([]);
    removeLock(lockBeside(dev.socket)); // repeating it changes nothing
  });
});
