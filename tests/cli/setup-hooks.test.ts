/** `wsh setup HOST --hooks` as it is typed. */
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Wsh } from "../support/wsh.ts";

test("hooks are merged beside others, written once, and taken out again alone", async () => {
  await using wsh = new Wsh();
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
  expect(await wsh.ok("setup", "claude-code", "--hooks", "--dry-run")).toContain("wsh hook claude Stop");
  expect(readFileSync(file, "utf8")).toBe(before);
  expect(await wsh.ok("setup", "claude-code", "--hooks")).toContain(`${file}.before-wsh`);
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
  expect(await wsh.ok("setup", "claude-code", "--hooks")).toContain("already");
  expect(await wsh.ok("doctor").catch(() => "")).not.toContain("internal");
  await wsh.ok("setup", "claude-code", "--hooks", "--remove");
  const { hooks: left } = JSON.parse(readFileSync(file, "utf8").replace(/^ *\/\/.*$/gm, ""));
  expect(left).toEqual({ Stop: [{ hooks: [{ type: "command", command: "say done" }] }] });
});

test("every host's hooks are written and removed; a file that is another's is left", async () => {
  await using wsh = new Wsh();
  for (const host of ["claude-code", "codex", "gemini", "cursor", "copilot", "opencode"]) {
    const written = await wsh.ok("setup", host, "--hooks");
    expect(written).toStartWith("Created ");
    expect(await wsh.ok("setup", host, "--hooks")).toContain("already");
    expect(await wsh.ok("setup", host, "--hooks", "--remove")).toStartWith("Removed from ");
    expect(await wsh.ok("setup", host, "--hooks", "--remove")).toContain("holds no hooks");
  }
  expect(await wsh.ok("setup", "codex", "--hooks")).toContain("trust it with /hooks");
  const plugin = join(wsh.dir, "config/opencode/plugins/wsh.js");
  const own = existsSync(dirname(plugin)) ? plugin : join(wsh.dir, "home/.config/opencode/plugins/wsh.js");
  writeFileSync(own, "export const Mine = 1;\n");
  expect((await wsh.run("setup", "opencode", "--hooks")).code).toBe(1);
  expect(readFileSync(own, "utf8")).toBe("export const Mine = 1;\n");
});
