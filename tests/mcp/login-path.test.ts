/** `wsh mcp` under a host started from the desktop: the PATH of the person's login shell, queried once, without risk. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { askLoginShell, isDesktopEnvironment } from "../../src/launch/login-path.ts";
import { contentOf } from "../support/content-of.ts";
import { givenTime } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const DESKTOP_PATH = "/usr/bin:/bin:/usr/sbin:/sbin";
const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-login-"));
afterAll(() => fs.rmSync(dir, { recursive: true, force: true }));

const never = new AbortController().signal;
let shells = 0;

/** A stand-in shell that behaves as told, whatever its arguments are. */
function shell(script: string): string {
  const file = join(dir, `${shells++}-sh`);
  fs.writeFileSync(file, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return file;
}

test("only an environment that comes from no shell is queried", () => {
  expect(isDesktopEnvironment({ PATH: DESKTOP_PATH })).toBe(true);
  expect(isDesktopEnvironment({ PATH: "/usr/local/bin:/usr/bin:/bin:/snap/bin", SHLVL: "0" })).toBe(true);
  expect(isDesktopEnvironment({})).toBe(true);
  expect(isDesktopEnvironment({ PATH: DESKTOP_PATH, SHLVL: "1" })).toBe(false);
  expect(isDesktopEnvironment({ PATH: `/opt/homebrew/bin:${DESKTOP_PATH}` })).toBe(false);
});

test("startup files may print anything: the PATH is found, without relative or repeated entries", async () => {
  const file = shell(`echo "Welcome <PATH>"; export PATH="/opt/x/bin:.:/usr/bin:bin:/opt/x/bin"
while [ "$1" != -c ]; do shift; done; eval "$2"; echo bye`);
  expect(await askLoginShell(file, { HOME: dir, PATH: DESKTOP_PATH }, never)).toBe("/opt/x/bin:/usr/bin");
});

test("the shell runs at home, without the variables that make a shell run files", async () => {
  const seen = join(dir, "seen");
  const file = shell(`pwd >"${seen}"; env >>"${seen}"`);
  const env = {
    HOME: dir,
    PATH: DESKTOP_PATH,
    BASH_ENV: "/tmp/a",
    ENV: "/tmp/b",
    ZDOTDIR: "/tmp/c",
    PROMPT_COMMAND: "d",
  };
  expect(await askLoginShell(file, env, never)).toBeNull();
  const [cwd, ...names] = fs.readFileSync(seen, "utf8").trim().split("\n");
  expect(cwd).toBe(fs.realpathSync(dir));
  const known = ["HOME", "PATH", "SHELL", "TERM", "WSH_LOGIN_PATH", "PWD", "OLDPWD", "SHLVL", "_"];
  expect(names.map((line) => line.slice(0, line.indexOf("="))).filter((name) => !known.includes(name))).toEqual([]);
});

test("a shell that hangs, floods or lies is ended with its children, and its answer is discarded", async () => {
  const pids = join(dir, "pids");
  const hangs = shell(`sleep 1000 & echo $! >"${pids}"; echo $$ >>"${pids}"; wait`);
  const written = (): string[] => (fs.existsSync(pids) ? fs.readFileSync(pids, "utf8").trim().split("\n") : []);
  const started = await givenTime("the shell", async (ms) => {
    expect(await askLoginShell(hangs, { HOME: dir }, never, ms)).toBeNull();
    return written().length === 2 ? written() : null;
  });
  const isGone = (pid: string): boolean => {
    const stat = fs.existsSync(`/proc/${pid}/stat`) ? fs.readFileSync(`/proc/${pid}/stat`, "utf8") : "";
    return stat === "" || / Z /.test(stat);
  };
  await until("both to end", () => started.every(isGone));
  expect(await askLoginShell(shell("exec yes"), { HOME: dir }, never)).toBeNull();
  for (const value of ["", "bin:.", "/a\\n/b", "x".repeat(40_000)]) {
    const lies = shell(`while [ "$1" != -c ]; do shift; done; PATH='${value.replace("\\n", "\n")}'; eval "$2"`);
    expect(await askLoginShell(lies, { HOME: dir, PATH: DESKTOP_PATH }, never)).toBeNull();
  }
  expect(await askLoginShell(join(dir, "none"), { HOME: dir }, never)).toBeNull();
});

const call = (id: number, command: string): string =>
  `${JSON.stringify({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "wsh_exec", arguments: { command } } })}\n`;

test("sessions of a host from the desktop have it, and the next bridge does not query again", async () => {
  await using wsh = new Wsh({ env: { PATH: DESKTOP_PATH } });
  const home = wsh.env.HOME ?? "";
  const asked = join(wsh.dir, "asked");
  // Whatever the shell of this account is, only the bridge's query sets it.
  const profile = `if [ -n "$WSH_LOGIN_PATH" ]; then echo noise; echo x >>"${asked}"; PATH="/opt/mine/bin:$PATH"; fi\n`;
  for (const name of [".bash_profile", ".zprofile", ".profile"]) fs.appendFileSync(join(home, name), profile);
  for (const _ of [1, 2]) {
    const { code, stdout, stderr } = await wsh.runWith({ input: call(1, "echo path=$PATH") }, "mcp");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const line of stdout.trim().split("\n")) expect(JSON.parse(line)).toMatchObject({ jsonrpc: "2.0" });
    expect(stdout).toContain("path=/opt/mine/bin:/usr/");
    expect(fs.readFileSync(asked, "utf8")).toBe("x\n");
  }
  // From a terminal nothing is queried.
  fs.rmSync(join(wsh.instance.stateDir, "login-path.json"));
  await wsh.runWith({ input: call(1, "true"), env: { SHLVL: "1" } }, "mcp");
  expect(fs.readFileSync(asked, "utf8")).toBe("x\n");
});

test("a bridge that is ended during the query ends at once, and so does the shell", async () => {
  await using wsh = new Wsh({ env: { PATH: DESKTOP_PATH } });
  const pid = join(wsh.dir, "pid");
  for (const name of [".bash_profile", ".zprofile", ".profile"]) {
    fs.appendFileSync(
      join(wsh.env.HOME ?? "", name),
      `[ -z "$WSH_LOGIN_PATH" ] || { echo $$ >"${pid}"; sleep 600; }\n`,
    );
  }
  const bridge = wsh.spawn(["mcp"]);
  await until("the shell to start", () => contentOf(pid) !== "");
  bridge.kill("SIGTERM");
  expect(await bridge.exited).toBe(0);
  expect(await new Response(bridge.stderr).text()).toBe("");
  const shellPid = fs.readFileSync(pid, "utf8").trim();
  await until("the shell to end", () => !fs.existsSync(`/proc/${shellPid}`));
});
