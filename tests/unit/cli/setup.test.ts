import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { parse } from "smol-toml";
import { register as registerSetup } from "../../../src/cli/commands/setup.ts";
import { type AiHost, aiHosts, type PathInputs } from "../../../src/cli/setup/ai-hosts.ts";
import { applyChange, planChange } from "../../../src/cli/setup/config-change.ts";
import { readJsonc, removeFromJsonc, setInJsonc } from "../../../src/cli/setup/jsonc.ts";
import { removeFromToml, setInToml } from "../../../src/cli/setup/toml.ts";

const root = mkdtempSync(join(tmpdir(), "wsh-setup-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let places = 0;
function freshPlaces(platform: NodeJS.Platform = "linux"): PathInputs {
  const home = join(root, `home-${places++}`);
  const cwd = join(home, "project");
  mkdirSync(cwd, { recursive: true });
  return { home, cwd, platform, env: {} };
}

function hostNamed(id: string): AiHost {
  const host = aiHosts.find((candidate) => candidate.id === id);
  if (host === undefined) throw new Error(id);
  return host;
}

const launch = { command: "/opt/wsh", args: ["mcp", "--tools", "core"] };
const entry = { command: "/opt/wsh", args: ["mcp"] };

/** @returns the host's file, and the copy of its earlier content */
function applied(host: AiHost, own: PathInputs): { readonly file: string; readonly backup: string | undefined } {
  const change = planChange(host, "user", own, launch);
  return { file: change.file.file, backup: applyChange(change) };
}

describe("a JSON file with comments", () => {
  const text = `{
    // my servers
    "mcpServers": {
        "other": { "command": "x" }, // keep me
    },
    "theme": "dark" /* also me */
}
`;

  test("gets the entry; comments, order and indentation stay", () => {
    const after = setInJsonc(text, ["mcpServers", "wsh"], entry);
    expect(readJsonc(after)).toEqual({ mcpServers: { other: { command: "x" }, wsh: entry }, theme: "dark" });
    for (const kept of ["// my servers", "// keep me", "/* also me */", '\n        "wsh": {\n']) {
      expect(after).toContain(kept);
    }
    expect(after.indexOf('"other"')).toBeLessThan(after.indexOf('"wsh"'));
  });

  test("keeps a person's additions to our entry", () => {
    const mine = `{"mcpServers": {"wsh": {"command": "old", "env": {"A": "1"} /* mine */, "args": []}}}`;
    const after = setInJsonc(mine, ["mcpServers", "wsh"], entry);
    expect(readJsonc(after)).toEqual({ mcpServers: { wsh: { ...entry, env: { A: "1" } } } });
    expect(after).toContain("/* mine */");
  });

  test("set twice changes nothing, set and removed parses to the original", () => {
    const once = setInJsonc(text, ["mcpServers", "wsh"], entry);
    expect(setInJsonc(once, ["mcpServers", "wsh"], entry)).toBe(once);
    const removed = removeFromJsonc(once, ["mcpServers", "wsh"]);
    expect(readJsonc(removed)).toEqual(readJsonc(text));
    expect(removed).toContain("// keep me");
  });

  test.each(["", "\n", "{}", "\uFEFF{}", "{\r\n}\r\n"])("%j becomes a file with the entry", (empty) => {
    expect(readJsonc(setInJsonc(empty, ["mcpServers", "wsh"], entry))).toEqual({ mcpServers: { wsh: entry } });
  });

  test("that is broken is refused with its line", () => {
    expect(() => setInJsonc('{\n "a": 1\n "b": 2\n}', ["x"], {})).toThrow("line 3");
    expect(() => setInJsonc("[]", ["x"], {})).toThrow("JSON object");
  });
});

describe("a TOML file", () => {
  const text = `# my settings
model = "o4" # best

[mcp_servers.other]
command = "x"
args = [
  "[mcp_servers.wsh]", # not a table
]

# about profiles
[profiles.fast]
note = """
[mcp_servers.wsh]
"""
`;
  const path = ["mcp_servers", "wsh"];

  test("gets the table at its end; everything before stays byte for byte", () => {
    const after = setInToml(text, path, entry);
    expect(after.startsWith(text)).toBe(true);
    expect(after.slice(text.length)).toBe('\n[mcp_servers.wsh]\ncommand = "/opt/wsh"\nargs = ["mcp"]\n');
    expect(setInToml(after, path, entry)).toBe(after);
    expect(removeFromToml(after, path)).toBe(text);
  });

  test("has only the keys of our table changed", () => {
    const mine = `[mcp_servers."wsh"] # mine
args = [
  "old",
]
startup_timeout_sec = 5

  [mcp_servers.wsh.env]
  A = "1"
[next]
command = "n"
`;
    const after = setInToml(mine, path, entry);
    expect(after).toBe(`[mcp_servers."wsh"] # mine
args = ["mcp"]
startup_timeout_sec = 5
command = "/opt/wsh"

  [mcp_servers.wsh.env]
  A = "1"
[next]
command = "n"
`);
    expect(removeFromToml(after, path)).toBe('[next]\ncommand = "n"\n');
  });

  test("without a line end at its end, and with CRLF", () => {
    expect(setInToml('a = "b"', path, entry)).toBe(
      'a = "b"\n\n[mcp_servers.wsh]\ncommand = "/opt/wsh"\nargs = ["mcp"]\n',
    );
    expect(setInToml("a = 1\r\n", path, entry)).toBe(
      'a = 1\r\n\r\n[mcp_servers.wsh]\r\ncommand = "/opt/wsh"\r\nargs = ["mcp"]\r\n',
    );
    expect(setInToml("[mcp_servers.wsh]\nstartup_timeout_sec = 1", path, entry)).toBe(
      '[mcp_servers.wsh]\nstartup_timeout_sec = 1\ncommand = "/opt/wsh"\nargs = ["mcp"]\n',
    );
  });

  test.each([
    'mcp_servers = { other = { command = "x" } }\n',
    '[mcp_servers]\nwsh = { command = "old" }\n',
    'mcp_servers.wsh.command = "old"\n',
  ])("written in another way is refused with what to write: %j", (other) => {
    expect(() => setInToml(other, path, entry)).toThrow("inline or uses dotted keys");
  });

  test("a path with quotes and backslashes is read back unchanged", () => {
    const odd = { command: 'C:\\Program "Files"\\wsh.exe', args: ["mcp"] };
    expect(parse(setInToml("", path, odd))).toEqual({ mcp_servers: { wsh: odd } });
  });

  test("that is broken is refused", () => {
    expect(() => setInToml("a = ", path, entry)).toThrow("not valid TOML");
  });
});

describe("every host", () => {
  for (const host of aiHosts) {
    for (const scope of Object.keys(host.files) as ("user" | "project")[]) {
      test(`${host.id} (${scope}): created, unchanged the second time, removed`, () => {
        const where = freshPlaces();
        const created = planChange(host, scope, where, launch);
        expect(created.kind).toBe("create");
        expect(applyChange(created)).toBeUndefined();
        expect(created.file.file.startsWith(where.home)).toBe(true);
        const text = readFileSync(created.file.file, "utf8");
        expect(text).toContain("/opt/wsh");
        expect(statSync(created.file.file).mode & 0o777).toBe(0o600);

        expect(planChange(host, scope, where, launch).kind).toBe("none");
        const moved = planChange(host, scope, where, { command: "/new/wsh", args: ["mcp"] });
        expect(moved.kind).toBe("update");
        const backup = applyChange(moved);
        expect(readFileSync(backup ?? "", "utf8")).toBe(text);

        applyChange(planChange(host, scope, where, undefined));
        expect(readFileSync(created.file.file, "utf8")).not.toContain("/new/wsh");
        expect(planChange(host, scope, where, undefined).kind).toBe("none");
      });
    }
  }

  test("has the shape that the host reads", () => {
    const shape = (id: string) => {
      const text = planChange(hostNamed(id), "user", freshPlaces(), launch).newText;
      return id === "codex" ? parse(text) : readJsonc(text);
    };
    const { command, args } = launch;
    expect(shape("claude-code")).toEqual({ mcpServers: { wsh: { type: "stdio", command, args } } });
    expect(shape("claude-desktop")).toEqual({ mcpServers: { wsh: { command, args } } });
    expect(shape("cursor")).toEqual({ mcpServers: { wsh: { command, args } } });
    expect(shape("vscode")).toEqual({ servers: { wsh: { type: "stdio", command, args } } });
    expect(shape("codex")).toEqual({ mcp_servers: { wsh: { command, args } } });
    expect(shape("gemini")).toEqual({ mcpServers: { wsh: { command, args } } });
    expect(shape("zed")).toEqual({ context_servers: { wsh: { command, args } } });
    expect(shape("opencode")).toEqual({ mcp: { wsh: { type: "local", command: [command, ...args] } } });
  });

  test("opencode: the nested form is kept if used, an existing .jsonc is preferred to a new .json", () => {
    const where = freshPlaces();
    const file = join(where.cwd, "opencode.jsonc");
    writeFileSync(file, '{ "mcp": { "servers": {} } } // v2\n');
    const change = planChange(hostNamed("opencode"), "project", where, launch);
    expect(change.file.file).toBe(file);
    expect(readJsonc(change.newText)).toMatchObject({ mcp: { servers: { wsh: { type: "local" } } } });
    expect(change.newText).toContain("// v2");
  });

  test("settings are in each system's place", () => {
    const file = (id: string, platform: NodeJS.Platform, env: PathInputs["env"] = {}) =>
      hostNamed(id).files.user?.({ home: "/h", cwd: "/w", platform, env })[0];
    expect(file("claude-desktop", "darwin")).toBe("/h/Library/Application Support/Claude/claude_desktop_config.json");
    expect(file("claude-desktop", "linux", { XDG_CONFIG_HOME: "/x" })).toBe("/x/Claude/claude_desktop_config.json");
    expect(file("vscode", "linux")).toBe("/h/.config/Code/User/mcp.json");
    expect(file("zed", "darwin", { XDG_CONFIG_HOME: "/x" })).toBe("/h/.config/zed/settings.json");
    expect(file("codex", "linux", { CODEX_HOME: "/c" })).toBe("/c/config.toml");
    expect(file("claude-code", "linux", { CLAUDE_CONFIG_DIR: "/c" })).toBe("/c/.claude.json");
  });

  test.skipIf(process.getuid?.() !== 0)(
    "root takes no file of the user's: what is there and what is made is theirs",
    () => {
      const own = freshPlaces();
      const uid = 12_345;
      chownSync(own.home, uid, uid);
      const made = applied(hostNamed("claude-code"), own);
      const { file } = hostNamed("codex").files.user?.(own) === undefined ? made : applied(hostNamed("codex"), own);
      for (const path of [made.file, file, dirname(file)]) expect(statSync(path).uid, path).toBe(uid);
      chownSync(made.file, uid, 77);
      chmodSync(made.file, 0o640);
      writeFileSync(made.file, "{}");
      const { backup = "" } = applied(hostNamed("claude-code"), own);
      for (const path of [made.file, backup]) {
        const { uid: owner, gid, mode } = statSync(path);
        expect([owner, gid, mode & 0o777], path).toEqual([uid, 77, 0o640]);
      }
    },
  );

  test("a symbolic link stays a link and the mode stays", () => {
    const where = freshPlaces();
    const file = join(where.home, ".cursor", "mcp.json");
    const target = join(where.home, "dotfiles.json");
    writeFileSync(target, "{}", { mode: 0o640 });
    mkdirSync(dirname(file));
    symlinkSync(target, file);
    applyChange(planChange(hostNamed("cursor"), "user", where, launch));
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(target, "utf8")).toContain("/opt/wsh");
    expect(statSync(target).mode & 0o777).toBe(0o640);
  });

  test("a broken file is named and left alone", () => {
    const where = freshPlaces();
    writeFileSync(join(where.home, ".claude.json"), "{ oops");
    expect(() => planChange(hostNamed("claude-code"), "user", where, launch)).toThrow(join(where.home, ".claude.json"));
  });

  test("a scope that a host does not have is refused with the available ones", () => {
    expect(() => planChange(hostNamed("claude-desktop"), "project", freshPlaces(), launch)).toThrow("scope 'project'");
  });
});

test("an unknown host is a usage error", () => {
  const program = new Command().exitOverride().configureOutput({ writeErr: () => {} });
  registerSetup(program);
  program.commands[0]?.exitOverride().configureOutput({ writeErr: () => {} });
  expect(() => program.parse(["setup", "emacs"], { from: "user" })).toThrow("Allowed choices are claude-code");
});
