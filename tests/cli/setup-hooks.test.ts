/** `wsh setup HOST --hooks` on the command line. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

/** A program on PATH with the host's name that prints this when queried. */
function installed(wsh: Wsh, name: string, prints: string): Record<string, string> {
  const directory = join(wsh.dir, "programs");
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, name), `#!/bin/sh\ncat <<'TEXT'\n${prints}\nTEXT\n`, { mode: 0o755 });
  return { PATH: `${directory}:${process.env.PATH}` };
}

test("Claude Code gets a plugin and Gemini CLI an extension of ours, complete, and both are removed completely", async () => {
  await using wsh = new Wsh();
  const home = join(wsh.dir, "home");
  const made = {
    "claude-code": [join(home, ".claude/skills/wsh-hooks"), ".claude-plugin/plugin.json", "claude Stop", 1],
    gemini: [join(home, ".gemini/extensions/wsh-hooks"), "gemini-extension.json", "gemini AfterAgent", 1_000],
  } as const;
  for (const [host, [directory, manifest, hook, timeout]] of Object.entries(made)) {
    mkdirSync(dirname(directory), { recursive: true });
    expect(await wsh.ok("setup", host, "--hooks", "--dry-run")).toContain("Would create");
    expect(existsSync(directory)).toBe(false);
    const said = await wsh.ok("setup", host, "--hooks");
    expect(said).toMatch(host === "gemini" ? "It is an extension written by wsh." : "It is a plugin written by wsh.");
    expect(JSON.parse(readFileSync(join(directory, manifest), "utf8"))).toMatchObject({ name: "wsh-hooks" });
    const { hooks } = JSON.parse(readFileSync(join(directory, "hooks/hooks.json"), "utf8"));
    const [event = ""] = hook.split(" ").slice(1);
    // Hosts trust the text: it never changes.
    const command = `[ -n "$WSH_PANE" ] && wsh hook ${hook} >/dev/null 2>&1; exit 0`;
    expect(hooks[event]).toEqual([{ hooks: [{ type: "command", command, timeout }] }]);
    expect(await wsh.ok("setup", host, "--hooks")).toContain("already");
    // A file of another version is replaced, without a copy that the host might read.
    writeFileSync(join(directory, "hooks/hooks.json"), '{"hooks": {}, "old": "&& wsh hook "}');
    expect(await wsh.ok("setup", host, "--hooks")).toStartWith("Updated in ");
    expect(readdirSync(join(directory, "hooks"))).toEqual(["hooks.json"]);
    expect(await wsh.ok("setup", host, "--hooks", "--remove")).toStartWith("Removed from ");
    expect(existsSync(directory)).toBe(false);
    expect(existsSync(dirname(directory))).toBe(true);
    mkdirSync(dirname(join(directory, manifest)), { recursive: true });
    writeFileSync(join(directory, manifest), "{}");
    expect((await wsh.run("setup", host, "--hooks")).stderr).toContain("was not written by wsh");
    expect(readFileSync(join(directory, manifest), "utf8")).toBe("{}");
  }
});

test("a Claude Code without support for plugins there gets entries in its settings; a newer one loses them again", async () => {
  await using wsh = new Wsh();
  const settings = join(wsh.dir, "home/.claude/settings.json");
  const plugin = join(wsh.dir, "home/.claude/skills/wsh-hooks");
  const old = installed(wsh, "claude", "Manage plugins");
  expect(await wsh.runWith({ env: old }, "setup", "claude-code", "--hooks")).toMatchObject({ code: 0 });
  expect(existsSync(plugin)).toBe(false);
  expect(readFileSync(settings, "utf8")).toContain("wsh hook claude Stop");
  const now = installed(wsh, "claude", "Scaffold a new plugin at ~/.claude/skills/<name>/");
  expect((await wsh.runWith({ env: now }, "setup", "claude-code", "--hooks")).stdout).toContain(
    "plugin written by wsh",
  );
  expect(existsSync(plugin)).toBe(true);
  expect(readFileSync(settings, "utf8")).not.toContain("wsh hook");
});

test("hooks are merged with others, written once, and removed alone", async () => {
  await using wsh = new Wsh();
  const env = installed(wsh, "claude", "Manage plugins");
  const run = async (...args: string[]): Promise<string> => (await wsh.runWith({ env }, ...args)).stdout;
  const file = join(wsh.dir, "home/.claude/settings.json");
  mkdirSync(dirname(file), { recursive: true });
  const before = `{
  // mine
  "model": "opus",
  "hooks": {
    "Stop": [
      // rings
      { "hooks": [{ "type": "command", "command": "say done" }] }
    ]
  }
}
`;
  writeFileSync(file, before);
  expect(await run("setup", "claude-code", "--hooks", "--dry-run")).toContain("wsh hook claude Stop");
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(await run("setup", "claude-code", "--hooks")).toContain(`${file}.before-wsh`);
  const written = readFileSync(file, "utf8");
  expect(written).toContain("// mine");
  expect(written).toContain("// rings");
  const { hooks } = JSON.parse(written.replace(/^ *\/\/.*$/gm, ""));
  expect(hooks.Stop.length).toBe(2);
  expect(hooks.Stop[0].hooks[0].command).toBe("say done");
  // Hosts trust the text: it never changes.
  expect(hooks.Stop[1].hooks).toEqual([
    { type: "command", command: '[ -n "$WSH_PANE" ] && wsh hook claude Stop >/dev/null 2>&1; exit 0', timeout: 1 },
  ]);
  expect(await run("setup", "claude-code", "--hooks")).toContain("already");
  expect(await wsh.ok("doctor").catch(() => "")).not.toContain("internal");
  await run("setup", "claude-code", "--hooks", "--remove");
  const { hooks: left } = JSON.parse(readFileSync(file, "utf8").replace(/^ *\/\/.*$/gm, ""));
  expect(left).toEqual({ Stop: [{ hooks: [{ type: "command", command: "say done" }] }] });
});

test("every host's hooks are written and removed; a file of another owner is left alone", async () => {
  await using wsh = new Wsh();
  for (const host of ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode"]) {
    const written = await wsh.ok("setup", host, "--hooks");
    expect(written).toStartWith("Created ");
    expect(await wsh.ok("setup", host, "--hooks")).toContain("already");
    expect(await wsh.ok("setup", host, "--hooks", "--remove")).toStartWith("Removed from ");
    expect(await wsh.ok("setup", host, "--hooks", "--remove")).toContain("contains no hooks");
  }
  expect(await wsh.ok("setup", "codex", "--hooks")).toContain("trust the hooks with /hooks");
  const plugin = join(wsh.dir, "config/opencode/plugins/wsh.js");
  const own = existsSync(dirname(plugin)) ? plugin : join(wsh.dir, "home/.config/opencode/plugins/wsh.js");
  writeFileSync(own, "export const Mine = 1;\n");
  expect((await wsh.run("setup", "opencode", "--hooks")).code).toBe(1);
  expect(readFileSync(own, "utf8")).toBe("export const Mine = 1;\n");
});

test("doctor names hooks that have never run, with the possible causes, until they have", async () => {
  await using wsh = new Wsh();
  const [command = "", ...first] = program;
  const path = { PATH: `${join(wsh.dir, "bin")}:${process.env.PATH}` };
  mkdirSync(join(wsh.dir, "bin"));
  writeFileSync(join(wsh.dir, "bin/wsh"), `#!/bin/sh\nexec ${[command, ...first].join(" ")} "$@"\n`, { mode: 0o755 });
  const doctor = async (env = path): Promise<string> => {
    const { stdout } = await wsh.runWith({ env }, "doctor");
    return stdout
      .split("\n")
      .filter((line) => /hooks|trust|PATH|daemon/.test(line))
      .join("\n");
  };
  expect(await doctor()).not.toContain("hooks");
  await wsh.ok("setup", "codex", "--hooks");
  expect(await doctor()).toContain("hooks of codex have never run in a session");
  expect(await doctor()).toContain("trust the hooks with /hooks");
  // A hook outside any session does not count as run there.
  await wsh.runWith({ env: path }, "hook", "codex", "Stop");
  expect(await doctor()).toContain("never run");
  const hook = '[ -n "$WSH_PANE" ] && wsh hook codex Stop >/dev/null 2>&1; exit 0';
  const codex = join(wsh.dir, "codex");
  // Repeated until it has run: on a busy machine a hook gives up, so that no agent waits for it.
  const told = join(wsh.dir, "told");
  const again = `until [ -e '${told}' ]; do PATH=${path.PATH} sh -c '${hook}' </dev/null; sleep 0.2; done`;
  writeFileSync(codex, `#!/bin/sh\n${again}\necho told\nsleep 1000\n`, { mode: 0o755 });
  await wsh.ok("new", "s", "--", codex);
  await until("the hook", async () => (await doctor()).includes("hooks of codex have run"));
  writeFileSync(told, "");
  await wsh.shows("s", "told");
  // As from a background server, which is not a process of the pane.
  const around = { WSH_PANE: "@1", WSH_SOCKET: wsh.instance.httpSocket };
  await wsh.ok("new", "t", "--", "sleep", "1000");
  const pane = (await wsh.list()).find(({ name }) => name === "t");
  await until("the hook", async () => {
    await wsh.runWith({ env: { ...around, WSH_PANE: pane?.pane_id ?? "" } }, "hook", "codex", "Stop");
    return (await doctor()).includes("hooks of codex run outside its pane");
  });
  expect(await doctor()).toContain("daemon_auto_start");
  rmSync(told);
  await wsh.ok("new", "u", "--", codex);
  await until("the hook", async () => (await doctor()).includes("hooks of codex have run"));
  writeFileSync(told, "");
  await wsh.shows("u", "told");
  await wsh.ok("setup", "gemini", "--hooks");
  expect(await doctor()).toContain("hooks of gemini have never run");
  const hosts = join(wsh.dir, "home/.codex/hooks.json");
  utimesSync(hosts, new Date(Date.now() + 60_000), new Date(Date.now() + 60_000));
  expect(await doctor()).toContain("hooks of codex have run, but not since the file was changed");
  writeFileSync(hosts, "{ not json");
  expect(await doctor()).toContain(hosts);
  expect(await doctor({ PATH: "/usr/bin:/bin" })).toContain("wsh is not on PATH");
});
