/** Files that a cleaner of /tmp would remove are kept elsewhere, each for its owner. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { type Instance, prepareRuntimeDir, resolveInstance } from "../../../src/instance/paths.ts";
import { installScripts } from "../../../src/launch/script-files.ts";
import { writeStdinFile } from "../../../src/launch/stdin-file.ts";
import {
  readLastServerInfo,
  readServerInfo,
  type ServerInfo,
  sweepServerInfos,
  writeServerInfo,
} from "../../../src/registry/server-info.ts";
import { session, type TestInstance, testInstance } from "../../support/registry.ts";

const info: ServerInfo = {
  pid: 1,
  version: "0.1.0",
  server_id: crypto.randomUUID(),
  base_prefix: "",
  started_at: 1_700_000_000_000,
  addresses: [],
  persist: true,
  audit_file: null,
};
const scripts = [
  { name: "a.bash", text: "echo a\n" },
  { name: "zsh/.zshenv", text: "echo z\n" },
];

/** The same account's instance elsewhere. */
function elsewhere(place: TestInstance, env: Record<string, string>): Instance {
  const instance = resolveInstance({ env: { ...place.env, ...env } });
  prepareRuntimeDir(instance);
  return instance;
}

function filesIn(directory: string): string[] {
  return fs
    .readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe("a server's description", () => {
  test("is found by any process that finds its runtime directory, whatever that one's state directory is", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    writeServerInfo(place.instance, info);
    expect(readServerInfo(elsewhere(place, { XDG_STATE_HOME: join(place.dir, "other") }))).toEqual(info);
    expect(filesIn(place.instance.runtimeDir)).toEqual([]);
  });

  test("is not mistaken for another's: of a second runtime directory, or a second instance", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    writeServerInfo(place.instance, info);
    for (const env of [{ XDG_RUNTIME_DIR: join(place.dir, "run2") }, { WSH_SERVER_NAME: "other" }]) {
      const other = elsewhere(place, env);
      expect(other.stateDir).toBe(place.instance.stateDir);
      expect(readLastServerInfo(other)).toBeNull();
      writeServerInfo(other, { ...info, persist: false });
    }
    expect(readServerInfo(place.instance)).toEqual(info);
  });

  test("of the last server is known after the runtime directory was emptied, as by a reboot, but to servers only", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    writeServerInfo(place.instance, info);
    fs.rmSync(place.instance.runtimeDir, { recursive: true });
    expect(readServerInfo(place.instance)).toBeNull();
    expect(readLastServerInfo(place.instance)).toEqual(info);
  });

  test("replaces the file of an earlier version", () => {
    using place = testInstance();
    prepareRuntimeDir(place.instance);
    fs.writeFileSync(place.instance.infoFile, JSON.stringify({ ...info, persist: false }));
    expect(readServerInfo(place.instance)?.persist).toBe(false);
    writeServerInfo(place.instance, info);
    expect(readServerInfo(place.instance)).toEqual(info);
    expect(fs.lstatSync(place.instance.infoFile).isSymbolicLink()).toBe(true);
  });
});

describe("scripts", () => {
  test("are complete again after some were removed", () => {
    using place = testInstance();
    const directory = installScripts(place.instance, scripts);
    expect(directory.startsWith(place.instance.stateDir)).toBe(true);
    fs.rmSync(join(directory, "zsh"), { recursive: true });
    expect(installScripts(place.instance, scripts)).toBe(directory);
    expect(fs.readFileSync(join(directory, "zsh/.zshenv"), "utf8")).toBe("echo z\n");
  });

  test("of earlier versions are removed when they were not used for a month", () => {
    using place = testInstance();
    const [old, recent] = ["old", "recent"].map((text) => installScripts(place.instance, [{ name: "a", text }]));
    const long = new Date(Date.now() - 40 * 24 * 3_600_000);
    fs.utimesSync(old ?? "", long, long);
    const current = installScripts(place.instance, scripts);
    expect([old, recent, current].map((path) => fs.existsSync(path ?? ""))).toEqual([false, true, true]);
  });
});

describe("a state directory that is not writable", () => {
  const spoilt: [string, (instance: Instance) => void][] = [
    ["a file", ({ stateDir }) => fs.writeFileSync(stateDir, "")],
    ["whose parent is a file", ({ stateDir }) => fs.rmSync(join(stateDir, "..", ".."), { recursive: true })],
  ];
  test.each(spoilt)("%s, is replaced by one in the runtime directory", async (what, spoil) => {
    using place = testInstance();
    const { instance } = place;
    fs.mkdirSync(join(instance.stateDir, ".."), { recursive: true });
    spoil(instance);
    if (what === "whose parent is a file") fs.writeFileSync(join(instance.stateDir, "..", ".."), "");
    prepareRuntimeDir(instance);
    expect(installScripts(instance, scripts).startsWith(instance.runtimeDir)).toBe(true);
    writeServerInfo(instance, info);
    expect(readServerInfo(instance)).toEqual(info);
    using dev = await session(instance, "dev");
    expect(dev.life.isFound).toBe(true);
    expect(fs.readFileSync(writeStdinFile(instance, "x\n"), "utf8")).toBe("x\n");
  });

  test("and is open to others, is refused", async () => {
    using place = testInstance();
    fs.mkdirSync(place.instance.stateDir, { recursive: true });
    fs.chmodSync(place.instance.stateDir, 0o755);
    prepareRuntimeDir(place.instance);
    for (const write of [
      () => installScripts(place.instance, scripts),
      () => writeServerInfo(place.instance, info),
      () => writeStdinFile(place.instance, "x"),
    ]) {
      expect(write).toThrow(expect.objectContaining({ code: "unsafe_path" }));
    }
  });
});

test("a standard input is the account's alone, and a leftover one is removed after a day", () => {
  using place = testInstance();
  prepareRuntimeDir(place.instance);
  const left = writeStdinFile(place.instance, "secret\n");
  expect(fs.statSync(left).mode & 0o777).toBe(0o600);
  const old = new Date(Date.now() - 2 * 24 * 3_600_000);
  fs.utimesSync(left, old, old);
  const next = writeStdinFile(place.instance, "next\n");
  expect(fs.existsSync(left)).toBe(false);
  expect(fs.readFileSync(next, "utf8")).toBe("next\n");
});

test("a session and a server leave no regular file in the runtime directory", async () => {
  using place = testInstance();
  using _dev = await session(place.instance, "dev");
  writeServerInfo(place.instance, info);
  expect(filesIn(place.instance.runtimeDir)).toEqual([]);
});

test("descriptions of servers whose runtime directory is gone are removed, but no setting, and nothing of running ones", () => {
  using place = testInstance();
  const ended = { ...info, pid: null, persist: false };
  const servers = join(place.instance.stateDir, "servers");
  const write = (name: string, said: ServerInfo): string => {
    const before = fs.existsSync(servers) ? fs.readdirSync(servers) : [];
    const dir = join(place.dir, name);
    fs.mkdirSync(dir, { mode: 0o700 });
    writeServerInfo(elsewhere(place, { XDG_RUNTIME_DIR: dir }), said);
    return fs.readdirSync(servers).find((file) => !before.includes(file)) ?? "";
  };
  const [gone, chosen, living, kept] = [
    write("gone", ended),
    write("chosen", { ...ended, persist: true }),
    write("living", { ...ended, pid: process.pid }),
    write("kept", ended),
  ];
  for (const name of ["gone", "chosen", "living"]) fs.rmSync(join(place.dir, name), { recursive: true });
  // Of another machine with this home directory, whose directories are not visible here.
  const other = join(servers, "default.othermachi.json");
  fs.copyFileSync(join(servers, gone), other);
  sweepServerInfos(place.instance);
  expect(fs.readdirSync(servers).sort()).toEqual([chosen, living, kept, "default.othermachi.json"].sort());
  sweepServerInfos(place.instance);
});
