/**
 * The hooks that `wsh setup HOST --hooks` writes, tested with the installed hosts: they accept
 * them, run them in a session, and are known by their process names. No host is logged in; Claude Code and Codex use
 * a stand-in for their service on this machine.
 */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { appendFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isMissing, testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

/** Hosts take seconds to start, and this machine may be busy. */
setDefaultTimeout(120_000);
const PATIENCE_MS = 100_000;

interface Agent {
  readonly name: string;
  readonly state: string;
  readonly source: string;
}

let wsh: Wsh;
let service: Bun.Server<undefined>;
let env: Record<string, string>;
beforeAll(() => {
  wsh = new Wsh();
  service = standIn();
  const bin = join(wsh.dir, "bin");
  const home = join(wsh.dir, "home");
  for (const made of [bin, home, join(wsh.dir, "project"), join(home, ".codex")]) mkdirSync(made, { recursive: true });
  writeFileSync(join(bin, "wsh"), `#!/bin/sh\nexec ${program.join(" ")} "$@"\n`, { mode: 0o755 });
  writeFileSync(join(wsh.dir, "profile"), "PS1='$ '\n");
  env = {
    PATH: `${bin}:${process.env.PATH}`,
    HOME: home,
    ANTHROPIC_BASE_URL: service.url.href,
    ANTHROPIC_API_KEY: "sk-ant-none",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
    NO_KEY: "none",
  };
});
afterAll(async () => {
  await service.stop(true);
  await wsh[Symbol.asyncDispose]();
});

/** Answers every turn with the same words, in the streaming format of Anthropic and OpenAI. */
function standIn(): Bun.Server<undefined> {
  const text = "Hello.";
  const stream = (events: readonly (readonly [string, object])[]): Response =>
    new Response(
      events.map(([type, data]) => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`).join(""),
      {
        headers: { "content-type": "text/event-stream" },
      },
    );
  return Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch(request) {
      const { pathname } = new URL(request.url);
      if (pathname.endsWith("/responses")) {
        const content = [{ type: "output_text", text, annotations: [] }];
        const item = { id: "m", type: "message", role: "assistant", status: "completed", content };
        const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
        const response = { id: "r", object: "response", status: "completed", model: "m", output: [item], usage };
        return stream([
          ["response.created", { response: { ...response, status: "in_progress", output: [] } }],
          ["response.output_item.done", { output_index: 0, item }],
          ["response.completed", { response }],
        ]);
      }
      if (!pathname.endsWith("/messages")) return Response.json({});
      const usage = { input_tokens: 1, output_tokens: 1 };
      const message = { id: "m", type: "message", role: "assistant", model: "m", content: [], usage };
      return stream([
        ["message_start", { message: { ...message, stop_reason: null, stop_sequence: null } }],
        ["content_block_start", { index: 0, content_block: { type: "text", text: "" } }],
        ["content_block_delta", { index: 0, delta: { type: "text_delta", text } }],
        ["content_block_stop", { index: 0 }],
        ["message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage }],
        ["message_stop", {}],
      ]);
    },
  });
}

/** Runs the host's own command to its end. */
async function host(...command: readonly string[]): Promise<string> {
  const child = Bun.spawn([...command], {
    cwd: join(wsh.dir, "project"),
    env: { ...wsh.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
    timeout: PATIENCE_MS,
  });
  const texts = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const said = texts.join("");
  if ((await child.exited) !== 0) throw new Error(`${command.join(" ")}: ${said}`);
  return said;
}

const setUp = (...args: readonly string[]) => wsh.runWith({ env }, "setup", ...args, "--hooks");

async function start(name: string, command: string): Promise<void> {
  const line = `cd '${join(wsh.dir, "project")}'; ${command}`;
  const { code, stderr } = await wsh.runWith({ env }, "new", name, "--", "bash", "-c", `${line}; exec sleep 1000`);
  if (code !== 0) throw new Error(stderr);
}

/** Waits until the session's agent has this state. */
function agent(session: string, is: (agent: Agent) => boolean): Promise<Agent> {
  return until(
    `the agent of ${session}`,
    async () => {
      const listed = JSON.parse(await wsh.ok("agents", "--json")) as (Agent & { session: string })[];
      const found = listed.find((each) => each.session === session);
      return found !== undefined && is(found) ? found : null;
    },
    PATIENCE_MS,
  );
}

testWith("claude")("Claude Code validates and loads our plugin, and its hooks report a whole turn", async () => {
  expect((await setUp("claude-code")).stdout).toContain("plugin written by wsh");
  const plugin = join(wsh.dir, "home/.claude/skills/wsh-hooks");
  expect(await host("claude", "plugin", "validate", "--strict", plugin)).toContain("Validation passed");
  expect(await host("claude", "plugin", "list")).toMatch(/wsh-hooks@skills-dir[\s\S]*loaded/);
  const events = join(wsh.dir, "events");
  // Besides our own hooks: shows which of the plugin's events occur at all.
  writeFileSync(events, "");
  await start("claude", `claude -p hi; wsh doctor | grep claude-code > '${events}'`);
  await agent("claude", ({ name }) => name === "claude");
  await until("the end of the turn", async () => (await Bun.file(events).text()).includes("have run"), PATIENCE_MS);
});

testWith("gemini")("Gemini CLI validates and loads our extension, and its hook reports the start", async () => {
  expect((await setUp("gemini")).stdout).toContain("extension of ours");
  const extension = join(wsh.dir, "home/.gemini/extensions/wsh-hooks");
  expect(await host("gemini", "extensions", "validate", extension)).toContain("successfully validated");
  expect(await host("gemini", "extensions", "list")).toMatch(/wsh-hooks \(1\.0\.0\)/);
  await start("gemini", "GEMINI_API_KEY=none gemini");
  expect(await agent("gemini", ({ source }) => source === "hook")).toMatchObject({ name: "gemini", state: "idle" });
});

testWith("codex")("Codex asks whether it may trust our hooks, and then reports a whole turn", async () => {
  await setUp("codex");
  const project = join(wsh.dir, "project");
  appendFileSync(
    join(wsh.dir, "home/.codex/config.toml"),
    `model = "m"
model_provider = "here"
[model_providers.here]
name = "here"
base_url = "${service.url.href}v1"
env_key = "NO_KEY"
wire_api = "responses"
[projects."${project}"]
trust_level = "trusted"
[features]
daemon_auto_start = false
`,
  );
  await start("codex", "codex");
  await until(
    "its question",
    async () => (await wsh.screen("codex")).includes("hooks are new or changed"),
    PATIENCE_MS,
  );
  await wsh.call("codex", "input.send", { keys: ["ArrowDown", "Enter"] });
  await until("its prompt", async () => (await wsh.screen("codex")).includes("Ask Codex"), PATIENCE_MS);
  await wsh.type("codex", "hi");
  await until("the text", async () => /› hi/.test(await wsh.screen("codex")), PATIENCE_MS);
  await wsh.call("codex", "input.send", { keys: ["Enter"] });
  expect(await agent("codex", ({ state }) => state === "done")).toMatchObject({ name: "codex", source: "hook" });
});

testWith("opencode")("OpenCode loads our plugin", async () => {
  await setUp("opencode");
  await start("opencode", "opencode");
  expect(await agent("opencode", ({ source }) => source === "hook")).toMatchObject({ name: "opencode", state: "idle" });
});

describe("hosts' start screens are recognised by their processes' names", () => {
  for (const name of ["copilot", "amp", "goose", "cursor-agent", "aider"]) {
    test.skipIf(isMissing(name))(name, async () => {
      await start(name, name);
      expect((await agent(name, () => true)).name).toBe(name);
    });
  }
});
