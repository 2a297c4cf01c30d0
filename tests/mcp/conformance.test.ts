/**
 * The MCP conformance suite against a real server: both sets of requirements with the suite's fixtures, and those that need
 * none against the normal server. Requirements listed as not scored are reported by the suite and not required.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { McpInstance } from "../support/mcp-instance.ts";
import { isCompiled, program } from "../support/wsh-program.ts";

const suite = join(import.meta.dir, "../../node_modules/@modelcontextprotocol/conformance/dist/index.js");

/** Runs under Bun: the suite's released form does not start on every Node. */
async function conformance(url: URL, ...args: readonly string[]): Promise<{ code: number; output: string }> {
  const child = Bun.spawn([process.execPath, suite, "server", "--url", url.href, ...args], {
    cwd: withFixtures.dir,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  const output = await new Response(child.stdout).text();
  return { code: await child.exited, output: output.slice(output.indexOf("SUMMARY")) };
}

const withFixtures = new McpInstance();
const asUsed = new McpInstance();
let fixtures: URL;
let used: URL;
let extended: Bun.Subprocess | null = null;

/** The same server from its source, with the suite's fixtures. */
function startExtended(): Promise<URL> {
  const { dir, env } = withFixtures;
  const child = Bun.spawn([process.execPath, join(import.meta.dir, "conformance-server.ts")], {
    cwd: dir,
    env: { ...env },
    stdio: ["ignore", "ignore", "inherit"],
  });
  extended = child;
  return withFixtures.address(child);
}

beforeAll(async () => {
  [fixtures, { url: used }] = await Promise.all([startExtended(), asUsed.startServer()]);
});
afterAll(async () => {
  extended?.kill();
  await extended?.exited;
  await Promise.all([withFixtures[Symbol.asyncDispose](), asUsed[Symbol.asyncDispose]()]);
});

test.each(["2025-11-25", "2026-07-28"])("the requirements of %s", async (revision) => {
  const { code, output } = await conformance(fixtures, "--requirements", revision);
  expect(code === 0 ? "passes" : output).toBe("passes");
  const total = /Total: (\d+) passed/.exec(output)?.[1];
  console.log(`conformance ${revision}: ${total} checks passed`);
  expect(Number(total)).toBeGreaterThanOrEqual(84);
});

const generic = [
  ["2025-11-25", "server-initialize"],
  ["2025-11-25", "ping"],
  ["2025-11-25", "tools-list"],
  ["2025-11-25", "resources-list"],
  ["2025-11-25", "prompts-list"],
  ["2025-11-25", "server-session-lifecycle"],
  ["2025-11-25", "dns-rebinding-protection"],
  ["2026-07-28", "tools-list"],
  ["2026-07-28", "resources-list"],
  ["2026-07-28", "prompts-list"],
  ["2026-07-28", "caching"],
  ["2026-07-28", "sep-2164-resource-not-found"],
  ["2026-07-28", "dns-rebinding-protection"],
  ["2026-07-28", "http-header-validation"],
] as const;

/**
 * Requirements of the transport alone, each by its newest revision; the others are tested with the extended server in every
 * run. The host is checked before the revision is known.
 */
const brief: readonly string[] = ["server-session-lifecycle", "dns-rebinding-protection", "caching"];
const isNewest = (at: number): boolean => generic.findLastIndex(([, scenario]) => scenario === generic[at]?.[1]) === at;
const asked =
  process.env.WSH_TEST_FULL === "1"
    ? generic
    : generic.filter(([, scenario], at) => brief.includes(scenario) && isNewest(at));

test.each(asked)("%s without fixtures: %s", async (version, scenario) => {
  const { code, output } = await conformance(used, "--scenario", scenario, "--spec-version", version);
  expect(code === 0 ? "passes" : output).toBe("passes");
});

test.skipIf(!isCompiled)("the binary contains none of the fixtures", async () => {
  const binary = Buffer.from(await Bun.file(program[0] ?? "").arrayBuffer());
  for (const name of ["test_simple_text", "test://static-text", "test_simple_prompt"]) {
    expect({ name, isThere: binary.includes(name) }).toEqual({ name, isThere: false });
  }
});
