/**
 * Scarce resources: descriptors, file sizes, address space, disk space, a writable directory, a readable file. A
 * failed operation reports why and leaves nothing behind; running programs continue; freed resources are used again.
 */
import { describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { descriptorsOf } from "../../support/processes.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { program } from "../../support/wsh-program.ts";
import { canMount, Enclave, limited, runBehind } from "./enclosed.ts";
import { vanish } from "./vanish.ts";

if (!canMount)
  console.error("SKIPPED: no mount name spaces here, so nothing is tested on full and read-only file systems");

/** A session works: a command's output and its exit code arrive. */
const WORKS = ["--", "echo works; (exit 4)"] as const;

describe("few descriptors", () => {
  test("a session works with 24 of them, and its shell has the limit that was set", async () => {
    await using wsh = new Wsh();
    await wsh.ok("list");
    const made = await runBehind(wsh, limited("-n 24"), "new", "few");
    expect(made).toMatchObject({ code: 0, stdout: "few\n" });
    expect(await wsh.ok("exec", "few", "--", "ulimit -n")).toBe("24\n");
  });

  test("a session process at its limit refuses connections, keeps its program, and answers again afterwards", async () => {
    await using wsh = new Wsh();
    await runBehind(wsh, limited("-n 40"), "new", "few");
    const [info] = await wsh.list();
    const socket = join(wsh.instance.sessionsDir, `${info?.pane_id.slice(1)}.sock`);
    const crowd = await Promise.all(Array.from({ length: 60 }, () => connect(socket)));
    expect(descriptorsOf(wsh.hosts()[0] ?? 0)).toBeLessThanOrEqual(40);
    for (const peer of crowd) peer.end();
    await until("the host to answer again", async () => (await wsh.run("exec", "few", ...WORKS)).code === 4);
    expect(await wsh.list()).toMatchObject([{ name: "few", pid: info?.pid }]);
  });

  test("a server at its limit continues, and answers again afterwards", async () => {
    await using wsh = new Wsh();
    const child = Bun.spawn([...limited("-n 64"), ...program, "server", "--bind", "none"], {
      cwd: wsh.dir,
      env: { ...wsh.env },
      stdout: "ignore",
      stderr: "ignore",
    });
    const healthy = async (): Promise<boolean> => (await wsh.fetch("/health").catch(() => null))?.ok === true;
    await until("the server", healthy);
    const crowd = await Promise.all(Array.from({ length: 100 }, () => connect(wsh.instance.httpSocket)));
    for (const peer of crowd) peer.end();
    await until("the server to answer again", healthy);
    expect(child.exitCode).toBeNull();
    await wsh.session("after");
    const names = await until("its connections to be closed", async () => {
      const answer = await wsh.fetch("/sessions");
      if (answer.ok) return answer.json();
      // Until then, it says what is scarce.
      expect(await answer.json()).toMatchObject({ error: { code: "resource_limit_reached" } });
      return null;
    });
    expect(names).toMatchObject([{ name: "after" }]);
  });
});

test("short files: logs that may not grow end nothing", async () => {
  await using wsh = new Wsh({ env: { WSH_LOG: "debug" } });
  // Blocks of 512 or 1024 bytes: the shell's integration script fits, a few lines of a log do not.
  mkdirSync(wsh.instance.stateDir, { recursive: true, mode: 0o700 });
  writeFileSync(wsh.instance.sessionLog, "x".repeat(60 * 1024), { mode: 0o600 });
  expect(await runBehind(wsh, limited("-f 60"), "new", "short")).toMatchObject({ code: 0 });
  // Its shell has started, and read its files.
  await wsh.shows("short", "$");
  vanish(wsh.instance.runtimeDir);
  await until("the session to register again, which it logs", async () => (await wsh.list()).length === 1);
  await until("its name, too", async () => (await wsh.run("status", "short")).code === 0);
  expect(await wsh.run("exec", "short", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
});

test("little address space: refused with a reason, nothing is left behind", async () => {
  await using wsh = new Wsh();
  const { code, stderr } = await runBehind(wsh, limited("-v 1500000"), "new", "big");
  expect(code).not.toBe(0);
  expect(stderr).not.toBe("");
  expect(await wsh.list()).toEqual([]);
  await until("nothing to run", () => wsh.processes().length === 0);
});

test("a program that uses up its permitted memory ends alone", async () => {
  await using wsh = new Wsh();
  await wsh.session("eater");
  const eat = "(ulimit -v 200000; exec awk 'BEGIN { for (;;) s = s \"0123456789abcdef\" s }') 2>/dev/null";
  expect((await wsh.run("exec", "eater", "--", eat)).code).not.toBe(0);
  expect(await wsh.run("exec", "eater", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
});

describe("nowhere to write", () => {
  test("logs to /dev/full: everything else works", async () => {
    await using wsh = new Wsh({ config: 'log_file = "/dev/full"\nlog_level = "debug"\n' });
    await wsh.server();
    await wsh.session("s");
    expect(await wsh.run("exec", "s", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
    expect(await (await wsh.fetch("/sessions")).json()).toMatchObject([{ name: "s" }]);
  });

  test("a state directory that is a file: sessions run, a token cannot be kept and that is reported", async () => {
    await using wsh = new Wsh();
    mkdirSync(join(wsh.env.HOME ?? "", ".local"), { recursive: true });
    writeFileSync(join(wsh.env.HOME ?? "", ".local/state"), "");
    await wsh.session("s");
    expect(await wsh.run("exec", "s", ...WORKS)).toMatchObject({ code: 4 });
    const { code, stderr } = await wsh.run("server", "--bind", "127.0.0.1:0");
    expect(code).toBe(1);
    expect(stderr).toContain(".local/state");
  });

  test("no HOME at all", async () => {
    // Without both, state would be kept in the home of the person who runs the tests.
    const state = mkdtempSync(join(tmpdir(), "wsh-t-"));
    using _gone = { [Symbol.dispose]: () => rmSync(state, { recursive: true }) };
    await using wsh = new Wsh({ env: { HOME: "", XDG_STATE_HOME: state } });
    await wsh.session("homeless");
    expect(await wsh.run("exec", "homeless", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
    await wsh.server();
    expect(await (await wsh.fetch("/sessions")).json()).toMatchObject([{ name: "homeless" }]);
  });

  test("a runtime directory that cannot be created is named", async () => {
    await using wsh = new Wsh();
    for (const args of [["new", "x"], ["server"]]) {
      const child = await runBehind(wsh, ["env", "XDG_RUNTIME_DIR=/proc"], ...args);
      expect(child).toMatchObject({ code: 1 });
      expect(child.stderr).toContain("/proc/wsh");
      expect(child.stderr).toContain("XDG_RUNTIME_DIR");
    }
    expect(await runBehind(wsh, ["env", "XDG_RUNTIME_DIR=/proc"], "list")).toMatchObject({ code: 0 });
  });

  test("a configuration that cannot be read is named, and keeps nobody from a terminal", async () => {
    await using wsh = new Wsh();
    await wsh.session("s");
    mkdirSync(wsh.instance.configFile, { recursive: true });
    const { code, stderr } = await wsh.run("new", "t");
    expect(code).toBe(0);
    expect(stderr).toContain(wsh.instance.configFile);
    for (const name of ["s", "t"]) expect(await wsh.run("exec", name, ...WORKS)).toMatchObject({ code: 4 });
  });
});

describe.skipIf(!canMount)("a full disk", () => {
  test("under the state directory: sessions start and work, the very first apart, whose id cannot be kept", async () => {
    await using enclave = await Enclave.open((wsh) => join(wsh.env.HOME ?? "", ".local/state"), "64k");
    enclave.fill();
    const first = await enclave.run("new", "first");
    expect(first.code).toBe(1);
    expect(first.stderr).toMatch(/counters.*(ENOSPC|no space)/i);
    enclave.empty();
    await enclave.ok("new", "first");
    enclave.fill();
    await enclave.ok("new", "s");
    expect(await enclave.run("exec", "s", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
    const refused = await enclave.run("server", "--bind", "127.0.0.1:0");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/ENOSPC|no space/i);
  });

  test("under the runtime directory: sessions start and work, since only sockets and links are there", async () => {
    await using enclave = await Enclave.open((wsh) => wsh.env.XDG_RUNTIME_DIR ?? "", "128k");
    enclave.fill();
    await enclave.ok("new", "s");
    expect(await enclave.run("exec", "s", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
    await enclave.ok("server", "--ensure", "--bind", "none");
    expect(await enclave.ok("persist", "on")).toContain("is persistent");
  });

  test("under both: running sessions continue, a new one is refused and leaves nothing", async () => {
    await using enclave = await Enclave.open((wsh) => wsh.dir, "512k");
    await enclave.ok("new", "before");
    enclave.fill();
    const refused = await enclave.run("new", "later");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/ENOSPC|no space/i);
    expect(await enclave.run("exec", "before", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
    expect((await enclave.ok("list", "--names")).trim()).toBe("before");
    enclave.empty();
    await enclave.ok("new", "later");
    expect(await enclave.run("exec", "later", ...WORKS)).toMatchObject({ code: 4 });
  });

  test("a runtime directory that becomes read-only: sessions can be used, not made", async () => {
    await using enclave = await Enclave.open((wsh) => wsh.env.XDG_RUNTIME_DIR ?? "", "1m");
    await enclave.ok("new", "s");
    enclave.shell('mount -o remount,ro "$0"');
    expect(await enclave.run("exec", "s", ...WORKS)).toMatchObject({ code: 4, stdout: "works\n" });
    expect((await enclave.ok("list", "--names")).trim()).toBe("s");
    const refused = await enclave.run("new", "t");
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/EROFS|read-only/i);
    enclave.shell('mount -o remount,rw "$0"');
    await enclave.ok("new", "t");
  });
});

test("a failed session is not listed, and its name is free", async () => {
  await using wsh = new Wsh();
  for (const limit of [8, 9, 10, 11]) {
    const refused = await runBehind(wsh, limited(`-n ${limit}`), "new", "name");
    if (refused.code === 0) await wsh.ok("kill", "name");
    expect(await wsh.list("--all")).toEqual([]);
  }
  await wsh.session("name");
  expect(await wsh.list()).toMatchObject([{ name: "name" }]);
});

/** A silent connection; also one that is refused. */
async function connect(path: string): Promise<{ end(): void }> {
  const nothing = { end: (): void => {} };
  return Bun.connect({ unix: path, socket: { data: () => {} } }).catch(() => nothing);
}
