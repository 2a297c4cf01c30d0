/** `wsh setup` in a directory with other people's files, and in files that programs read differently. */
import { describe, expect, test } from "bun:test";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setInJsonc } from "../../../src/cli/setup/jsonc.ts";
import { removeFromToml, setInToml } from "../../../src/cli/setup/toml.ts";
import { Wsh } from "../../support/wsh.ts";

const SERVERS = '{"mcpServers":{"other":{"command":"x"}}}\n';

/** An instance, its directory as a project, and a file of the person outside it. */
function project(): {
  wsh: Wsh;
  repository: string;
  victim: string;
  setup: (...args: string[]) => Bun.SyncSubprocess<"pipe", "pipe">;
} {
  const wsh = new Wsh();
  const repository = join(realpathSync(wsh.dir), "repository");
  const victim = join(realpathSync(wsh.dir), "home/.bashrc");
  mkdirSync(repository);
  const setup = (...args: string[]) =>
    Bun.spawnSync([...wsh.command("setup", ...args)], { cwd: repository, env: { ...wsh.env } });
  return { wsh, repository, victim, setup };
}

describe("a repository's links", () => {
  test.each(["../home/.bashrc", "../nothing"])("a backup is never written through one (%s)", async (where) => {
    const { wsh, repository, victim, setup } = project();
    await using _ = wsh;
    const mine = readFileSync(victim, "utf8");
    writeFileSync(join(repository, ".mcp.json"), SERVERS);
    symlinkSync(where, join(repository, ".mcp.json.before-wsh"));

    const { exitCode, stdout } = setup("claude-code", "--scope", "project");
    expect(exitCode).toBe(0);
    expect(readFileSync(victim, "utf8")).toBe(mine);
    expect(existsSync(join(wsh.dir, "nothing"))).toBe(false);
    expect(readlinkSync(join(repository, ".mcp.json.before-wsh"))).toBe(where);
    expect(stdout.toString()).toContain(".mcp.json.before-wsh.2");
    expect(readFileSync(join(repository, ".mcp.json.before-wsh.2"), "utf8")).toBe(SERVERS);
  });

  test("an older copy stays", async () => {
    const { wsh, repository, setup } = project();
    await using _ = wsh;
    writeFileSync(join(repository, ".mcp.json"), SERVERS);
    expect(setup("claude-code", "--scope", "project").exitCode).toBe(0);
    expect(setup("claude-code", "--scope", "project", "--remove").exitCode).toBe(0);
    expect(readFileSync(join(repository, ".mcp.json.before-wsh"), "utf8")).toBe(SERVERS);
    expect(readFileSync(join(repository, ".mcp.json.before-wsh.2"), "utf8")).toContain('"wsh"');
  });

  test("a file or directory that leads out of the project is refused, and nothing is written", async () => {
    const { wsh, repository, setup } = project();
    await using _ = wsh;
    writeFileSync(join(wsh.dir, "outside.json"), SERVERS);
    symlinkSync("../outside.json", join(repository, ".mcp.json"));
    mkdirSync(join(wsh.dir, "elsewhere"));
    symlinkSync("../elsewhere", join(repository, ".cursor"));
    symlinkSync("../absent/settings.json", join(repository, "opencode.json"));
    mkdirSync(join(repository, ".git/hooks"), { recursive: true });
    symlinkSync(".git/hooks", join(repository, ".vscode"));
    for (const host of ["claude-code", "cursor", "opencode", "vscode"]) {
      const { exitCode, stderr } = setup(host, "--scope", "project");
      expect([host, exitCode]).toEqual([host, 1]);
      expect(stderr.toString()).toMatch(/leads|symbolic link/);
    }
    expect(readFileSync(join(wsh.dir, "outside.json"), "utf8")).toBe(SERVERS);
    expect([...readdirSync(join(wsh.dir, "elsewhere")), ...readdirSync(join(repository, ".git/hooks"))]).toEqual([]);
    expect(existsSync(join(wsh.dir, "absent"))).toBe(false);
    expect(setup().stdout.toString()).toMatch(/claude-code .*unreadable/);
  });

  test("a link that stays in the project is followed, with a message", async () => {
    const { wsh, repository, setup } = project();
    await using _ = wsh;
    writeFileSync(join(repository, "servers.json"), SERVERS);
    symlinkSync("servers.json", join(repository, ".mcp.json"));
    const { exitCode, stdout } = setup("claude-code", "--scope", "project");
    expect([exitCode, stdout.toString()]).toEqual([0, expect.stringContaining(join(repository, "servers.json"))]);
    expect(lstatSync(join(repository, ".mcp.json")).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(repository, "servers.json"), "utf8")).toContain('"wsh"');
  });

  test("a device or bytes that are not text are refused", async () => {
    const { wsh, setup } = project();
    await using _ = wsh;
    const settings = join(wsh.dir, "home/.claude.json");
    const bytes = Buffer.from([...Buffer.from('{"a":"'), 0xff, ...Buffer.from('"}')]);
    writeFileSync(settings, bytes);
    const { exitCode, stderr } = setup("claude-code");
    expect([exitCode, stderr.toString()]).toEqual([1, expect.stringContaining("UTF-8")]);
    expect(readFileSync(settings).equals(bytes)).toBe(true);
    mkdirSync(join(wsh.dir, "home/.cursor"));
    symlinkSync("/dev/zero", join(wsh.dir, "home/.cursor/mcp.json"));
    expect(setup("cursor").stderr.toString()).toContain("not a regular file");
  });
});

test("a byte order mark at the beginning of a TOML file stays, and does not matter", () => {
  const text = '\ufeffmodel = "x"\n[mcp_servers.wsh]\ncommand = "a"\n';
  const after = setInToml(text, ["mcp_servers", "wsh"], { command: "/opt/wsh" });
  expect(after).toBe('\ufeffmodel = "x"\n[mcp_servers.wsh]\ncommand = "/opt/wsh"\n');
  expect(removeFromToml(text, ["mcp_servers", "wsh"])).toBe('\ufeffmodel = "x"\n');
});

describe("duplicate keys", () => {
  const entry = { command: "/opt/wsh", args: ["mcp"] };
  test.each([
    ['{"mcpServers":{"a":{"command":"x"}},\n"mcpServers":{"b":{"command":"y"}}}', /line 2.*"mcpServers"/],
    ['{"mcpServers":{"wsh":{"command":"x"},\n\n"wsh":{"command":"y"}}}', /line 3.*"wsh"/],
    ['{"mcpServers":{"wsh":{"command":"x",\n"command":"y"}}}', /line 2.*"command"/],
    ['{"mcpServers":{"wsh":{"env":{}},"other":{}},"mcpServers":{}}', /line 1.*"mcpServers"/],
    ['{"mcpServers":[]}', /'mcpServers' is not a JSON object/],
    ['{"mcpServers":"x"}', /'mcpServers' is not a JSON object/],
  ])("on the way to ours: refused with the line (%s)", (text, reason) => {
    expect(() => setInJsonc(text, ["mcpServers", "wsh"], entry)).toThrow(reason);
  });

  test("elsewhere they do not matter", () => {
    const after = setInJsonc('{"a":1,"a":2,"mcpServers":{"b":{"c":1,"c":2}}}', ["mcpServers", "wsh"], entry);
    expect(JSON.parse(after)).toEqual({ a: 2, mcpServers: { b: { c: 2 }, wsh: entry } });
  });

  test("in TOML they do not parse", () => {
    const text = '[mcp_servers.wsh]\ncommand = "a"\n[mcp_servers.wsh]\ncommand = "b"\n';
    expect(() => setInToml(text, ["mcp_servers", "wsh"], entry)).toThrow();
  });
});
