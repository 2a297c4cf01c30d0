/** `wsh setup` on the command line. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tools } from "../../src/mcp/tools/tools.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

test("alone it lists the hosts, with those that are installed and those that know wsh", async () => {
  await using wsh = new Wsh({ env: { PATH: "" } });
  mkdirSync(join(wsh.dir, "home/.gemini"), { recursive: true });
  writeFileSync(join(wsh.dir, ".mcp.json"), '{"mcpServers":{"wsh":{"command":"wsh"}}}');
  writeFileSync(join(wsh.dir, "home/.claude.json"), "{ broken");
  const rows = Object.fromEntries(
    (await wsh.ok("setup"))
      .split("\n")
      .slice(1)
      .map((line) => line.split(/ {2,}/))
      .map(([id, _name, here, user, project]) => [id, [here, user, project]]),
  );
  expect(rows.gemini).toEqual(["found", "-", "-"]);
  expect(rows["claude-code"]).toEqual(["found", "unreadable", "wsh"]);
  expect(rows["claude-desktop"]).toEqual(["-", "-", "n/a"]);
  expect(rows.zed).toEqual(["-", "-", "-"]);
});

test("writes its own command, shows it first with --dry-run, keeps the old file, removes it again", async () => {
  await using wsh = new Wsh();
  const file = join(wsh.dir, "home/.cursor/mcp.json");
  mkdirSync(join(wsh.dir, "home/.cursor"));
  const before = '{\n  // mine\n  "mcpServers": {}\n}\n';
  writeFileSync(file, before);

  const shown = await wsh.ok("setup", "cursor", "--dry-run", "--tools", "core");
  expect(shown).toContain(file);
  expect(shown).toContain('+       "args"');
  expect(readFileSync(file, "utf8")).toBe(before);

  const written = await wsh.ok("-L", "work", "setup", "cursor", "--tools", "core", "--session", "dev", "--read-only");
  expect(written).toContain(`${file}.before-wsh`);
  expect(readFileSync(`${file}.before-wsh`, "utf8")).toBe(before);
  const text = readFileSync(file, "utf8");
  expect(text).toContain("// mine");
  const entry = JSON.parse(text.replace("// mine", "")).mcpServers.wsh;
  const [command, ...own] = program;
  const args = ["mcp", "-L", "work", "--tools", "core", "--session", "dev", "--read-only"];
  expect(entry).toEqual({ command, args: [...own, ...args] });

  expect(await wsh.ok("-L", "work", "setup", "cursor", "--remove")).toContain("Removed from");
  expect(readFileSync(file, "utf8")).not.toContain("wsh");
  expect(await wsh.ok("setup", "cursor", "--remove")).toContain("does not know wsh");
});

test("the command that setup writes starts and answers", async () => {
  await using wsh = new Wsh();
  await wsh.ok("setup", "claude-code");
  const { mcpServers } = JSON.parse(readFileSync(join(wsh.dir, "home/.claude.json"), "utf8"));
  const { command, args } = mcpServers.wsh;
  const child = Bun.spawn([command, ...args], { env: wsh.env, cwd: wsh.dir, stdin: "pipe", stdout: "pipe" });
  child.stdin.write('{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n');
  await child.stdin.end();
  const answer = JSON.parse((await new Response(child.stdout).text()).trim());
  expect(answer.result.tools).toHaveLength(tools.length);
});

test("a project's file contains no path of this machine", async () => {
  await using wsh = new Wsh();
  await wsh.ok("setup", "vscode", "--scope", "project");
  expect(JSON.parse(readFileSync(join(wsh.dir, ".vscode/mcp.json"), "utf8"))).toEqual({
    servers: { wsh: { type: "stdio", command: "wsh", args: ["mcp"] } },
  });
});

test("usage errors exit 2, files that cannot be edited 1, and nothing is written", async () => {
  await using wsh = new Wsh();
  expect((await wsh.run("setup", "emacs")).code).toBe(2);
  expect((await wsh.run("setup", "cursor", "--scope", "galaxy")).code).toBe(2);
  const scope = await wsh.run("setup", "claude-desktop", "--scope", "project");
  expect([scope.code, scope.stderr]).toEqual([1, expect.stringContaining("--scope user")]);
  writeFileSync(join(wsh.dir, "home/.claude.json"), "{\n oops\n}");
  const broken = await wsh.run("setup", "claude-code");
  expect(broken.code).toBe(1);
  expect(broken.stderr).toContain("line 2");
  expect(existsSync(join(wsh.dir, "home/.claude.json.before-wsh"))).toBe(false);
});
