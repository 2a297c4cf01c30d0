/** Untrusted text (commands, paths, files) in wsh's output is visible, and a terminal executes none of it. */
import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { formatLine } from "../../src/log/log.ts";
import { visible, visibleCell, visibleJson, visibleLines } from "../../src/protocol/harmless-text.ts";
import { Wsh } from "../support/wsh.ts";

/** Sets a title in 7 and in 8 bits, erases, and reverses the reading direction. */
const HOSTILE = "\x1b]0;owned\x07\x9b2J\u202egnp.exe";
/** Characters that a terminal would execute, or that would hide text; newlines are ours. */
const ACTIVE = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;

describe("pure functions", () => {
  test("every control character is written out, all other text is kept", () => {
    expect(visible(`a${HOSTILE}\n`)).toBe("a\\x1b]0;owned\\x07\\x9b2J\\u202egnp.exe\\x0a");
    expect(visible("grün 日本 👩‍👩‍👧 नि")).toBe("grün 日本 👩‍👩‍👧 नि");
    expect(visibleLines("a\tb\r\nc\x1b")).toBe("a  b\nc\\x1b");
    expect(visibleCell("make\n\tall\x7f")).toBe("make all\\x7f");
  });

  test("JSON has the same value", () => {
    const value = { [HOSTILE]: [`\u2028${HOSTILE}`, 1, null] };
    for (const indent of [0, 2]) {
      const json = visibleJson(value, indent);
      expect(json).not.toMatch(ACTIVE);
      expect(JSON.parse(json)).toEqual(value);
    }
    expect(visibleJson(undefined)).toBe("null");
  });

  test("a log line of either format", () => {
    for (const format of ["text", "json"] as const) {
      const line = formatLine(format, new Date(0), "warn", HOSTILE, { [HOSTILE]: HOSTILE, list: [HOSTILE] });
      expect(line).not.toMatch(ACTIVE);
      expect(line.split("\n")).toHaveLength(2);
    }
  });
});

test("errors, tables, status and JSON of a session whose command and directory are hostile", async () => {
  await using wsh = new Wsh();
  const directory = join(wsh.dir, `d${HOSTILE.replaceAll("/", "")}`);
  mkdirSync(directory);
  await wsh.session("s", "--cwd", directory);
  const id = await wsh.ok("exec", "s", "--background", "--", `cat # ${HOSTILE.replace("\x07", "")}`);
  const busy = await wsh.run("exec", "s", "--", "true");
  expect(busy.code).not.toBe(0);
  const shown = [busy.stderr];
  for (const args of [
    ["list"],
    ["list", "--json"],
    ["status", "s"],
    ["status", "s", "--json"],
    ["commands", "s"],
    ["commands", "s", "--json"],
  ]) {
    shown.push(await wsh.ok(...args));
  }
  for (const text of shown) expect(text).not.toMatch(ACTIVE);
  expect(JSON.parse(shown[2] ?? "")).toMatchObject([{ name: "s", cwd: directory }]);
  expect(Number(id)).toBeGreaterThan(0);
});

test("messages that quote a path, a file or an argument", async () => {
  await using wsh = new Wsh();
  const config = join(wsh.dir, `c${HOSTILE}.toml`);
  const missing = await wsh.runWith({ env: { WSH_CONFIG: config } }, "new", "x");
  const argument = await wsh.run("new", HOSTILE);
  const option = await wsh.run("list", `--${HOSTILE}`);
  const unknown = await wsh.run(HOSTILE);
  writeFileSync(join(wsh.dir, ".mcp.json"), `{"mcpServers":{"${"\x9b2J"}":{}}}`);
  const change = await wsh.run("setup", "claude-code", "--scope", "project", "--dry-run");
  const doctor = await wsh.runWith({ env: { WSH_CONFIG: config, SHELL: HOSTILE } }, "doctor");
  const info = await wsh.runWith({ env: { XDG_STATE_HOME: `/tmp/${HOSTILE}` } }, "info");
  expect([missing.code, argument.code !== 0, option.code, unknown.code, change.code]).toEqual([1, true, 2, 2, 0]);
  for (const { stdout, stderr } of [missing, argument, option, unknown, change, doctor, info]) {
    expect(stdout + stderr).not.toMatch(ACTIVE);
  }
});
