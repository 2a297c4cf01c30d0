/** Running wsh permanently: the doctor's findings, the units for systemd and launchd, the server's log. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

interface Finding {
  readonly subject: string;
  readonly state: string;
  readonly text: string;
  readonly advice?: string;
}

async function examine(wsh: Wsh, env: Record<string, string> = {}): Promise<{ code: number; findings: Finding[] }> {
  const { code, stdout } = await wsh.runWith({ env }, "doctor", "--json");
  return { code, findings: JSON.parse(stdout) };
}

describe("wsh doctor", () => {
  test("finds nothing wrong on a correct set-up, with and without a server", async () => {
    await using wsh = new Wsh();
    const before = await examine(wsh);
    expect(before.findings.filter(({ state }) => state === "wrong")).toEqual([]);
    expect(before.code).toBe(0);
    await wsh.server();
    await wsh.session("one");
    const { code, findings } = await examine(wsh);
    expect(code).toBe(0);
    expect(findings.find(({ subject }) => subject === "server")?.text).toMatch(
      /process \d+ at .*t\.http\.sock; 1 session$/,
    );
    expect(await wsh.ok("doctor")).toMatch(/^ok +runtime directory +/m);
  });

  test("names obstacles in a session's shell and in startup files", async () => {
    await using wsh = new Wsh();
    const home = join(wsh.dir, "home");
    fs.appendFileSync(
      join(home, ".bashrc"),
      "# exec fish\nreadonly PROMPT_COMMAND\n[ -t 9 ] && exec zsh\n. ~/ble.sh 2>/dev/null\n",
    );
    await wsh.session("one");
    await wsh.exec("one", "true");
    await wsh.enter("one", "exec cat");
    const found = await until("a note", async () => {
      const { code, findings } = await examine(wsh);
      expect(code).toBe(0);
      return findings.some(({ subject }) => subject === "session's shell") ? findings : null;
    });
    const texts = found
      .filter(({ subject, state }) => state === "note" && /shell|startup/.test(subject))
      .map(({ text }) => text);
    expect(texts).toEqual([
      expect.stringMatching(/\.bashrc replaces the shell with zsh/),
      expect.stringMatching(/\.bashrc makes PROMPT_COMMAND readonly/),
      expect.stringMatching(/\.bashrc loads ble\.sh/),
      expect.stringMatching(/^'one': exec is refused: the shell has become 'cat'/),
    ]);
  });

  test.each([
    [
      "an open directory",
      (wsh: Wsh) => fs.chmodSync(wsh.instance.runtimeDir, 0o755),
      {},
      "is accessible to others",
      "chmod 700",
    ],
    [
      "a token that others can read",
      (wsh: Wsh) => {
        fs.mkdirSync(wsh.instance.stateDir, { recursive: true, mode: 0o700 });
        fs.writeFileSync(wsh.instance.tokenFile, "x".repeat(32), { mode: 0o644 });
      },
      {},
      "can be read by others",
      "restart the server",
    ],
    [
      "a setting that is none",
      (wsh: Wsh) => fs.writeFileSync(wsh.instance.configFile, "scrollback_lines = 'many'\n"),
      {},
      "scrollback_lines",
      "wsh config",
    ],
    [
      "a file where a socket belongs",
      (wsh: Wsh) => fs.writeFileSync(wsh.instance.httpSocket, ""),
      {},
      "is not a socket",
      "Move it away",
    ],
    ["a shell that does not exist", () => {}, { SHELL: "/no/such/shell" }, "does not exist", "Set it"],
  ] as const)("finds %s, says what to do, and exits 1", async (_, spoil, env, text, advice) => {
    await using wsh = new Wsh();
    fs.mkdirSync(wsh.instance.runtimeDir, { mode: 0o700 });
    spoil(wsh);
    const { code, findings } = await examine(wsh, env);
    expect(code).toBe(1);
    const wrong = findings.find(({ state }) => state === "wrong");
    expect(wrong?.text).toContain(text);
    expect(wrong?.advice).toContain(advice);
  });

  test("notes facts that need no action", async () => {
    await using wsh = new Wsh();
    const server = await wsh.server();
    await server.kill("SIGKILL");
    const { code, findings } = await examine(wsh, { SHELL: "/bin/sh", TMUX: "/tmp/tmux,1,0" });
    expect(code).toBe(0);
    const notes = findings.filter(({ state }) => state === "note").map(({ text }) => text);
    expect(notes.some((text) => text.includes("left from a server that died"))).toBe(true);
    expect(notes.some((text) => text.includes("no integration"))).toBe(true);
    expect(notes).toContain("inside tmux");
  });
});

test("the doctor names the login shell that did not report its PATH", async () => {
  await using wsh = new Wsh();
  const { stateDir } = wsh.instance;
  fs.mkdirSync(stateDir, { recursive: true, mode: 0o700 });
  const kept = { shell: "/bin/zsh", home: "/h", at: Date.now(), path: null };
  fs.writeFileSync(join(stateDir, "login-path.json"), JSON.stringify(kept), { mode: 0o600 });
  const { code, findings } = await examine(wsh);
  expect(code).toBe(0);
  expect(findings.find(({ subject }) => subject === "login PATH")?.text).toContain(
    "/bin/zsh reported no PATH to wsh mcp",
  );
});

describe("wsh service", () => {
  test("systemd: ends the server alone and restarts it", async () => {
    await using wsh = new Wsh();
    const unit = await wsh.ok("service", "systemd");
    for (const line of ["KillMode=process", "OOMPolicy=continue", "Restart=on-failure", "WantedBy=default.target"]) {
      expect(unit.split("\n")).toContain(line);
    }
    expect(unit).toMatch(/^ExecStart=\/.* server --server-name t --bind none$/m);
  });

  testWith("systemd-analyze")("systemd: finds no fault in the unit", async () => {
    await using wsh = new Wsh();
    const path = join(wsh.dir, "wsh-t.service");
    await Bun.write(path, await wsh.ok("service", "systemd"));
    const { stderr } = Bun.spawnSync(["systemd-analyze", "verify", "--man=no", path], { stderr: "pipe" });
    const faults = stderr.toString().split("\n");
    expect(faults.filter((line) => line.includes("wsh-t.service"))).toEqual([]);
  });

  /** The property list as an XML parser reads it, without its comments. */
  function parsed(plist: string): Record<string, unknown> & { ProgramArguments: string[] } {
    const read = "import plistlib, json, sys; print(json.dumps(plistlib.loads(sys.stdin.buffer.read())))";
    const { stdout, stderr } = Bun.spawnSync(["python3", "-c", read], { stdin: Buffer.from(plist), stderr: "pipe" });
    expect(stderr.toString()).toBe("");
    return JSON.parse(stdout.toString());
  }

  testWith("python3")("launchd: a valid property list, with a PATH and a locale for sessions", async () => {
    await using wsh = new Wsh({ env: { PATH: `/opt/a&b/bin::./bin:/usr/bin:/bin:/usr/bin`, LANG: "de_DE.UTF-8" } });
    const plist = await wsh.ok("service", "launchd", "--bind", "127.0.0.1:8080");
    const value = parsed(plist);
    expect(value).toMatchObject({
      Label: "wsh.t",
      RunAtLoad: true,
      AbandonProcessGroup: true,
      ProcessType: "Interactive",
      EnvironmentVariables: { PATH: "/opt/a&b/bin:/usr/bin:/bin", LANG: "de_DE.UTF-8" },
    });
    expect(value.ProgramArguments.slice(-5)).toEqual(["server", "--server-name", "t", "--bind", "127.0.0.1:8080"]);
    expect(plist).toContain("launchctl bootstrap gui/$(id -u) ~/Library/LaunchAgents/wsh.t.plist");
  });

  testWith("python3")("launchd: names and locales that XML or macOS would refuse unchanged", async () => {
    for (const name of ["a--b", "end-", "plain-name"]) {
      await using wsh = new Wsh({ name, env: { LANG: "C" } });
      const plist = await wsh.ok("service", "launchd");
      expect(parsed(plist)).toMatchObject({
        Label: `wsh.${name}`,
        EnvironmentVariables: { LANG: "en_US.UTF-8" },
      });
      for (const comment of plist.match(/<!--.*?-->/gs) ?? []) expect(comment.slice(4, -3)).not.toMatch(/--|-$/);
    }
    await using wsh = new Wsh();
    const { code, stderr } = await wsh.runWith(
      { env: { PATH: `/a\u0001b:${process.env.PATH}` } },
      "service",
      "launchd",
    );
    expect({ code, description: stderr.includes("cannot be written to a property list") }).toEqual({
      code: 2,
      description: true,
    });
  });

  test("another system is a usage error", async () => {
    await using wsh = new Wsh();
    expect((await wsh.run("service", "upstart")).code).toBe(2);
  });
});

test("the server's log goes to a file when settings say so, JSON or text, at the configured level", async () => {
  await using wsh = new Wsh({ config: "" });
  const file = join(wsh.dir, "log/server.log");
  fs.writeFileSync(wsh.instance.configFile, `log_file = "${file}"\nlog_format = "json"\nlog_level = "debug"\n`);
  const server = await wsh.server();
  await wsh.fetch("/sessions", { method: "POST", body: "{}", headers: { "Content-Type": "application/json" } });
  await server.kill("SIGTERM");
  const lines = fs
    .readFileSync(file, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(lines.map(({ msg }) => msg)).toContain("server listens");
  expect(lines.some(({ level }) => level === "debug")).toBe(true);
  expect(lines.at(-1).msg).toContain("SIGTERM; sessions keep running");
  expect(fs.statSync(file).mode & 0o777).toBe(0o600);
});
