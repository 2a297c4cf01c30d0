/**
 * Default permissions of an AI agent on sessions of others, by MCP, the command line, tmux's commands and
 * requests between processes: it reads, controls its own, asks the person for the rest, and is refused while nobody is
 * attached.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { type Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import * as v from "valibot";
import { agentLink } from "../../src/instance/agent-link.ts";
import { StreamEndSchema } from "../../src/protocol/control.ts";
import { WshError } from "../../src/protocol/errors.ts";
import { messageJson, messageTypes } from "../../src/protocol/messages.ts";
import { parseTarget } from "../../src/protocol/names.ts";
import { listenerPid } from "../../src/registry/liveness.ts";
import { findSession } from "../../src/registry/registry.ts";
import { Connection } from "../../src/wire/connection.ts";
import { stored } from "../reliability/checkpoints/crashed-sessions.ts";
import { contentOf } from "../support/content-of.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { testWith } from "../support/programs.ts";
import { attachment } from "../support/terminals/attached-peer.ts";
import { answering } from "../support/terminals/dialog-answer.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(60_000);

const wsh = new McpInstance(
  {},
  { config: "# agents_may has its default\n", intervals: { seen: 4_000, ownerGrace: 500, ownerLook: 100 } },
);
const self = program.map((word) => `'${word}'`).join(" ");
let client: Client;
let claude: string;

beforeAll(async () => {
  await wsh.session("theirs");
  await wsh.session("hidden", "--private");
  client = await wsh.client();
  claude = join(wsh.dir, "claude");
  fs.writeFileSync(claude, `#!/bin/bash\n${self} "$@"\n`, { mode: 0o700 });
});
afterAll(() => wsh[Symbol.asyncDispose]());

interface Answer {
  readonly failed: boolean;
  readonly text: string;
}

async function tool(name: string, input: Readonly<Record<string, unknown>>): Promise<Answer> {
  const { isError, content } = await client.callTool({ name, arguments: input });
  return { failed: isError === true, text: JSON.stringify(content) };
}

/** The command line as run by an agent's tool. */
const byAgent = (...args: readonly string[]) => byAgentWith({}, ...args);

function byAgentWith(more: Readonly<Record<string, string>>, ...args: readonly string[]) {
  return spawned({ ...wsh.env, ...more }, claude, ...args);
}

/** Any program that an agent runs. */
function asAgent(...words: readonly string[]) {
  const file = join(wsh.dir, "any", "claude");
  fs.mkdirSync(join(wsh.dir, "any"), { recursive: true });
  fs.writeFileSync(file, '#!/bin/bash\n"$@"\n', { mode: 0o700 });
  return spawned({ ...wsh.env }, file, ...words);
}

async function spawned(env: Record<string, string>, ...words: readonly string[]) {
  const child = Bun.spawn([...words], { cwd: wsh.dir, env, stdout: "pipe", stderr: "pipe" });
  const [output, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, output, error };
}

test("an agent owns the sessions that it made; it reads a person's session, and changes nothing there while nobody is attached", async () => {
  expect((await tool("wsh_exec", { session: "mine", create: true, command: "echo a-$((6 * 7))" })).text).toContain(
    "a-42",
  );
  expect((await tool("wsh_get_screen", { session: "theirs" })).failed).toBe(false);
  for (const [name, input] of [
    ["wsh_send_input", { input: "x" }],
    ["wsh_exec", { command: "echo x" }],
    ["wsh_manage_session", { action: "kill" }],
  ] as const) {
    const { failed, text } = await tool(name, { session: "theirs", ...input });
    expect([name, failed, text.includes("access_denied"), text.includes("belongs to a person")]).toEqual([
      ...[name, true, true, true],
    ]);
  }
  expect((await tool("wsh_get_screen", { session: "hidden" })).text).toContain("access_denied");
  // A name is shown to people.
  for (const [name, shown] of [
    [" \n", "an MCP client may not"],
    [`\x1b[31m\u202e${"x".repeat(99)}`, `\\x1b[31m\\u202e${"x".repeat(50)} may not`],
  ] as const) {
    const named = await wsh.client({ name });
    const { content } = await named.callTool({ name: "wsh_close_pane", arguments: { pane: "theirs" } });
    expect(JSON.parse((content as { text: string }[])[0]?.text ?? "{}").message).toContain(shown);
  }
  const owners = Object.fromEntries((await wsh.list()).map(({ name, owner }) => [name, owner?.kind]));
  expect(owners).toEqual({ mine: "agent", theirs: "person", hidden: "person" });
  await wsh.kill("mine");
});

test("a command line below an agent counts as that agent; people are not asked", async () => {
  for (const args of [["kill", "theirs"], ["send", "theirs", "x"], ["split", "theirs"], ["stop"]]) {
    const { code, error } = await byAgent(...args);
    expect([args[0], code, error.includes("claude may not")]).toEqual([args[0], 1, true]);
  }
  expect((await byAgent("agents", "--allow", "claude")).error).toContain("claude may not");
  for (const args of [
    ["token"],
    ["open", "--print"],
    ["fleet", "init"],
    ["forget", "--all", "-y"],
    ["history", "delete", "--all", "-y"],
    ["tmux", "kill-server"],
  ])
    expect([args[0], (await byAgent(...args)).error.includes("claude may not")]).toEqual([args[0], true]);
  // A file of the agent's own is not a person's permission.
  const chosen = `${wsh.dir}/chosen.toml`;
  fs.writeFileSync(chosen, 'agents_may = "everything"\n');
  for (const args of [
    ["agents", "--allow", "claude"],
    ["token", "create", "x"],
    ["forget", "--all", "-y"],
  ])
    expect((await byAgentWith({ WSH_CONFIG: chosen }, ...args)).error).toContain("claude may not");
  await Bun.write(`${wsh.dir}/evil.conf`, "PATH=/evil\n");
  const beyond = ["set-option -g mouse on", "set-hook -g after-new-window kill-server", "select-pane -m -t theirs"];
  const bound = [
    "set-environment",
    "set-hook after-new-window",
    "set-option default-command",
    "set-option @mine",
    "pipe-pane",
  ];
  for (const line of [...beyond, "set-environment -g PATH /evil", `source-file ${wsh.dir}/evil.conf`])
    expect([line, (await byAgent("tmux", ...line.split(" "))).error]).toEqual([
      line,
      expect.stringContaining("claude may not"),
    ]);
  await byAgent("new", "ours");
  const own: string[] = [];
  for (const line of bound) {
    const [command = "", ...words] = line.split(" ");
    const rest = command === "set-environment" ? ["A", "x"] : ["kill-pane"];
    const on = (session: string) => [command, "-t", session, ...words, ...rest];
    expect([line, (await byAgent("tmux", ...on("theirs"))).error]).toEqual([
      line,
      expect.stringContaining("claude may not"),
    ]);
    own.push(...on("ours"), ";");
  }
  expect(await byAgent("tmux", ...own)).toMatchObject({ code: 0, error: "" });
  expect((await byAgent("kill", "ours")).code).toBe(0);
  await wsh.ok("send", "theirs", "");
  expect(await wsh.ok("agents", "--allow", "claude")).toContain("claude");
  expect((await byAgent("send", "theirs", "")).code).toBe(0);
  await wsh.ok("agents", "--forget", "claude");
  expect((await byAgent("send", "theirs", "")).code).toBe(1);
});

test("a program in an agent's pane belongs to the agent, whatever it removes; nothing leads into a person's session", async () => {
  await byAgent("new", "lair");
  const lines = [`${self} kill theirs`, `env -u WSH_AGENT ${self} send theirs x`];
  for (const line of lines)
    expect((await wsh.run("exec", "lair", "--", `${line} 2>&1`)).stdout).toContain("claude may not");
  // A program that drops the variable, takes another limit, or leaves its process tree, still counts as the agent.
  const reads = join(wsh.dir, "reads.sh");
  fs.writeFileSync(reads, `#!/bin/bash\n${self} screen hidden >$0-$1.new 2>&1; mv $0-$1.new $0-$1\n`, { mode: 0o700 });
  const bare = ["env", "-u", "WSH_AGENT"];
  await byAgent("new", "lair-b", "--", ...bare, "sh", "-c", `${reads} new; sleep 60`);
  await byAgent("split", "lair-b", "--", ...bare, "bash", "-c", `ulimit -Sx unlimited; ${reads} split; sleep 60`);
  await byAgent("new", "lair-c", "--", ...bare, "sh", "-c", `setsid -f script -qc '${reads} left' /dev/null; sleep 60`);
  await byAgent("tmux", "run-shell", "-b", `setsid -f ${bare.join(" ")} sh -c "sleep 0.1; ${reads} shell"`);
  const names = ["new", "split", "left", "shell"];
  await until("all have been answered", () => names.every((name) => fs.existsSync(`${reads}-${name}`)));
  for (const name of names)
    expect([name, fs.readFileSync(`${reads}-${name}`, "utf8")]).toEqual([
      name,
      expect.stringMatching(/(claude|agent) may not/),
    ]);
  await wsh.kill("lair-b", "lair-c");
  const history = await wsh.ok("history", "--list", "--session", "lair-b", "--json");
  expect([...history.matchAll(/"by": ?"(\w+)"/g)].map(([, by]) => by)).toEqual(["agent", "agent"]);
  await byAgent("split", "lair");
  for (const args of [
    ["split", "lair", "--view", "theirs"],
    ["pane", "move", "lair", "--to", "theirs"],
    ["pane", "move", "theirs", "--to", "lair"],
    ["tmux", "send-keys", "-t", "theirs", "x"],
    ["tmux", "join-pane", "-s", "lair", "-t", "theirs"],
  ])
    expect([args, (await byAgent(...args)).error.includes("claude may not")]).toEqual([args, true]);
  await byAgent("tmux", "run-shell", `${self} send theirs left-by-tmux`);
  expect(await wsh.screen("theirs")).not.toContain("left-by-tmux");
  expect((await byAgent("tmux", "new-session", "-d", "-s", "its")).code).toBe(0);
  expect((await byAgent("tmux", "kill-session", "-t", "its")).code).toBe(0);
  await wsh.ok("checkpoint", "save", "theirs", "good");
  await wsh.kill("lair");
  for (const args of [
    ["save", "theirs", "another"],
    ["save", "theirs", "good", "--replace"],
    ["restore", "theirs", "good", "--as", "x"],
    ["delete", "theirs", "good"],
  ])
    expect([args[0], (await byAgent("checkpoint", ...args)).error.includes("claude may not")]).toEqual([args[0], true]);
  // Reading is free, by every interface.
  for (const args of [
    ["list", "theirs"],
    ["show", "theirs", "good"],
    ["diff", "theirs", "good"],
  ])
    expect([args[0], await byAgent("checkpoint", ...args)]).toEqual([args[0], expect.objectContaining({ code: 0 })]);
});

test("in a person's session an agent divides its own panes, and asks for every cell and focus besides", async () => {
  await asAgent("true");
  await wsh.session("shared", "--", `'${join(wsh.dir, "any", "claude")}' sleep 300`);
  const panes = async () => (await wsh.call("shared", "pane.list", {})).map(({ id }) => id);
  await until("the agent is seen", async () => (await wsh.call("shared", "session.get", {})).agent !== undefined);
  const [itsPane = ""] = await panes();
  const { pane: persons } = await wsh.call("shared", "pane.split", {});
  for (const args of [
    ["split", itsPane, "--", "sleep 300"],
    ["window", "new", "shared", "--", "sleep 300"],
  ])
    expect([args, await byAgent(...args)]).toEqual([args, expect.objectContaining({ code: 0 })]);
  const made = (await panes()).find((id) => id !== itsPane && id !== persons) ?? "";
  for (const args of [
    ...[
      ["split", persons],
      ["split", made, "--float"],
      ["split", made, "--whole"],
      ["split", made, "--focus"],
    ],
    ...[
      ["window", "new", "shared", "--focus"],
      ["popup", "shared", "--", "sleep 1"],
      ["pane", "float", made],
    ],
    ...[
      ["pane", "resize", made, "--rows", "1"],
      ["pane", "zoom", made],
      ["pane", "select", made],
      ["config", "reload"],
    ],
  ])
    expect([args, (await byAgent(...args)).error]).toEqual([args, expect.stringContaining("claude may not")]);
  expect((await byAgent("split", made, "--", "sleep 300")).code).toBe(0);
  await wsh.kill("shared");
});

test("of several targets nothing is done once one is refused", async () => {
  await byAgent("new", "own");
  await byAgent("buffer", "set", "-n", "its", "text");
  await wsh.ok("buffer", "set", "-n", "persons", "text");
  expect((await byAgent("buffer", "delete", "--all")).error).toContain("claude may not");
  expect((await byAgent("buffer", "delete", "--all", "--session", "own")).error).toContain("claude may not");
  expect((await byAgent("kill", "own", "theirs")).error).toContain("claude may not");
  await tool("wsh_create_session", { name: "own-2" });
  const ended = await tool("wsh_manage_session", { session: ["own-2", "theirs"], action: "kill" });
  expect(ended.text).toContain("nothing is ended, since 'theirs' was refused");
  expect(await wsh.ok("buffer", "list")).toContain("its");
  expect((await wsh.list()).map(({ name }) => name)).toEqual(expect.arrayContaining(["own", "own-2"]));
  await wsh.kill("own-2");
  await wsh.ok("buffer", "delete", "--all");
  expect((await byAgent("kill", "own")).code).toBe(0);
});

test("nothing ends before every permission is given, also by tmux's commands", async () => {
  await byAgent("new", "agents-own");
  {
    await using one = await asking("one");
    await using two = await asking("two");
    const ended = byAgent("kill", "agents-own", "one", "two");
    await one.answer("1", "End the session");
    await two.answer("4", "End the session");
    expect((await ended).code).toBe(1);
  }
  const isFree = async () => (await wsh.list()).every(({ attached }) => attached === 0);
  await until("no terminal is attached, so that everything is refused at once", isFree);
  expect((await byAgent("tmux", "kill-server")).code).not.toBe(0);
  expect((await wsh.list()).map(({ name }) => name)).toEqual(expect.arrayContaining(["agents-own", "one", "two"]));
  await wsh.kill("agents-own", "one", "two");
});

test("the kernel identifies an agent by its process, whatever it claims", async () => {
  await wsh.ok("server", "--ensure");
  const { httpSocket } = wsh.instance;
  const http = async (path: string, ...args: readonly string[]) =>
    (await asAgent("curl", "-s", "--unix-socket", httpSocket, ...args, `http://localhost${path}`)).output;
  const typed = ["-H", "Content-Type: application/json", "-d", '{"data":"x"}'];
  expect(await http("/sessions/theirs/input", ...typed)).toContain("claude may not");
  expect(await http("/auth/code", "-X", "POST")).toContain("claude may not");
  // A person's request beside it does not count as the agent's.
  const [waits] = [asAgent("curl", "-s", "--unix-socket", httpSocket, "http://localhost/events?wait_ms=800")];
  expect((await wsh.fetch("/sessions/theirs/input", { method: "POST", body: "" })).status).toBe(204);
  expect((await waits).code).toBe(0);
  const { socket } = findSession(wsh.instance, parseTarget("theirs"));
  const raw = `
    import { Connection } from "${join(import.meta.dir, "../../src/wire/connection.ts")}";
    const { connection } = await Connection.open("${socket}", "server");
    const by = { caller: { kind: "cli", id: "x", connected: true }, access: "admin" };
    for (const [op, input] of [["session.kill", {}], ["peer.end", { reason: "killed" }], ["peer.end_pane", {}]])
      await connection.request(op, input, by).then(() => console.log("done"), ({ code }) => console.log(code));
    process.exit();`;
  const { output } = await asAgent(process.execPath, "-e", raw);
  expect(output.trim().split("\n")).toEqual(["access_denied", "access_denied", "access_denied"]);
  // Another agent's name in the environment, a specification by hand, and other code in our process add nothing.
  await asAgent("true");
  fs.copyFileSync(join(wsh.dir, "any", "claude"), join(wsh.dir, "any", "codex"));
  await spawned({ ...wsh.env }, join(wsh.dir, "any", "codex"), ...program, "new", "codexs");
  const claimed = await asAgent("env", "WSH_AGENT=codex", ...program, "send", "codexs", "x");
  expect(claimed.error).toContain("claude may not");
  const spec = join(wsh.dir, "spec.json");
  const made = { socket: httpSocket, create: { name: "by-hand", command: "sleep 60" }, naming: "number" };
  const owner = { kind: "person", name: "wsh" };
  fs.writeFileSync(spec, JSON.stringify({ ...made, owner, env: wsh.env, cwd: "/", nofile: null }));
  const runs = asAgent("sh", "-c", `exec ${self} session-process <${spec}`);
  const session = await until("its session", async () => (await wsh.list()).find(({ name }) => name === "by-hand"));
  expect(session.owner).toEqual({ kind: "agent", name: "claude" });
  await wsh.kill("by-hand", "codexs");
  await runs;
  const code = join(wsh.dir, "code.js");
  const words = JSON.stringify([...program, "send", "theirs", "x"]);
  fs.writeFileSync(
    code,
    `if (process.argv.includes("session-process")) {
      const { stderr } = Bun.spawnSync(${words}, { stderr: "pipe" });
      console.error(stderr.toString());
      process.exit(0);
    }`,
  );
  const other = await asAgent("env", `BUN_OPTIONS=--preload ${code}`, ...program, "session-process");
  expect(other.error).toContain("claude may not");
});

test("processes that an agent leaves behind, or has wsh run, count as the agent's; a person's do not", async () => {
  /** Calls from outside every pane and process tree, and keeps the answer in a file. */
  const leave = join(wsh.dir, "leave.sh");
  const at = (name: string): string => join(wsh.dir, `left-${name}`);
  const send = `${self} -L ${wsh.instance.name} send theirs`;
  fs.writeFileSync(
    leave,
    `#!/bin/bash\n>$2.begun\nwhile [ "$(ps -o comm= -p "$(ps -o ppid= -p $$)")" = setsid ]; do sleep 0.02; done\n${send} "$1" >$2.new 2>&1; mv $2.new $2\n`,
    { mode: 0o700 },
  );
  const bare = `env -i PATH="$PATH" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" XDG_STATE_HOME="$XDG_STATE_HOME" HOME="$HOME"`;
  const left = (name: string, before = ""): string => `${before} setsid -f ${leave} by-${name} ${at(name)}`;
  await asAgent("env", "CLAUDECODE=1", "bash", "-c", left("variable"));
  await asAgent("true");
  await wsh.session("shared", "--", "bash", "--norc");
  await wsh.session("plain", "--", "bash", "--norc");
  await wsh.ok(
    "send",
    "shared",
    `${join(wsh.dir, "any", "claude")} sleep 300 & ${left("beside", bare)}`,
    "--keys",
    "Enter",
  );
  await wsh.ok("send", "plain", left("person", bare), "--keys", "Enter");
  // Its program ends once the process that it leaves has a session of its own: the end of the pane would end it before.
  const begun = `until [ -e ${at("ended")}.begun ]; do sleep 0.02; done`;
  await byAgent("new", "ends", "--", "bash", "--norc", "-c", `${left("ended", bare)}; ${begun}`);
  // A program with the name of a server.
  fs.writeFileSync(join(wsh.dir, "wsh"), `#!/bin/bash\n${send} by-name >${at("name")} 2>&1\n`, {
    mode: 0o700,
  });
  await asAgent(join(wsh.dir, "wsh"), "server");
  const run = (name: string) => [
    "sh",
    "-c",
    `${send} by-${name} >${at(name)}.new 2>&1; mv ${at(name)}.new ${at(name)}`,
  ];
  const body = { name: "hooked", on: [{ event: "session_renamed", run: run("hook") }] };
  const headers = { "Content-Type": "application/json", "Wsh-Agent": "claude" };
  expect((await wsh.fetch("/sessions", { method: "POST", headers, body: JSON.stringify(body) })).status).toBe(201);
  await wsh.ok("rename", "hooked", "renamed");
  const chosen = join(wsh.dir, "hooks.toml");
  fs.writeFileSync(chosen, `[[on]]\nevent = "session_created"\nrun = ${JSON.stringify(run("config"))}\n`);
  await byAgentWith({ WSH_CONFIG: chosen }, "-L", "its", "new", "x");
  const names = ["variable", "beside", "ended", "name", "hook", "config"];
  for (const name of [...names, "person"]) await until(`the answer to '${name}'`, () => fs.existsSync(at(name)));
  await byAgent("-L", "its", "kill", "x");
  const answers = Object.fromEntries(names.map((name) => [name, fs.readFileSync(at(name), "utf8")]));
  for (const [name, text] of Object.entries(answers))
    expect([name, text]).toEqual([name, expect.stringMatching(/(claude|agent) may not/)]);
  expect(fs.readFileSync(at("person"), "utf8")).toBe("");
  await wsh.shows("theirs", "by-person");
  const screen = await wsh.screen("theirs");
  expect([screen.includes("by-person"), /by-(?!person)/.exec(screen)]).toEqual([true, null]);
  for (const name of ["shared", "plain", "renamed"]) await wsh.kill(name);
  await wsh.ok("send", "theirs", "--keys", "Ctrl+U");
});

test("hooks and filters of a repository act for the agent in whose session git runs them", async () => {
  const repository = join(wsh.dir, "repository");
  const at = (name: string): string => join(wsh.dir, `git-${name}`);
  const send = `${self} -L ${wsh.instance.name} send theirs`;
  const call = (name: string): string => `${send} by-${name} >${at(name)}.new 2>&1; mv ${at(name)}.new ${at(name)}`;
  const bare = `env -i PATH="$PATH" XDG_RUNTIME_DIR="$XDG_RUNTIME_DIR" XDG_STATE_HOME="$XDG_STATE_HOME" HOME="$HOME"`;
  const script = (name: string, text: string): string => {
    const file = at(`${name}.sh`);
    fs.writeFileSync(file, `#!/bin/bash\n${text}\n`, { mode: 0o700 });
    return file;
  };
  const git = (...args: readonly string[]) =>
    spawned(wsh.env, "git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", ...args);
  fs.mkdirSync(repository);
  await git("init", "-q");
  await git("commit", "-qm", "one", "--allow-empty");
  // One calls as a child of git, the other once it has left git, its terminal and its environment.
  const leave = (name: string): string => `${bare} setsid -f ${script(name, call(name))} >/dev/null 2>&1`;
  const hook = script("hook", `${call("hook")}\n${leave("orphan")}`);
  fs.renameSync(hook, join(repository, ".git", "hooks", "post-checkout"));
  expect(await byAgent("new", "branched", "--worktree", "other", "--cwd", repository)).toMatchObject({ code: 0 });
  await git("config", "filter.x.clean", script("clean", `cat; ${leave("filter")}`));
  fs.writeFileSync(join(repository, ".gitattributes"), "* filter=x\n");
  const settings = at("settings.toml");
  fs.writeFileSync(settings, "receipt_trees = true\n");
  await byAgentWith({ WSH_CONFIG: settings }, "new", "witnessed", "--cwd", repository);
  expect(await byAgent("exec", "witnessed", "--", "true")).toMatchObject({ code: 0 });
  for (const name of ["hook", "orphan", "filter"]) {
    // Empty while another call of the same filter begins to write.
    const answer = await until(`the answer to '${name}'`, () => contentOf(at(name)) || null);
    expect([name, answer]).toEqual([name, expect.stringMatching(/(claude|agent) may not/)]);
  }
  expect(await wsh.screen("theirs")).not.toMatch(/by-(hook|orphan|filter)/);
  await byAgent("kill", "branched", "witnessed");
});

test("a connection of a process that has ended has no owner; an agent's terminal acts for it, and answers nothing", async () => {
  const { socket } = findSession(wsh.instance, parseTarget("theirs"));
  const passed = `import json, os, socket, struct, time
s = socket.socket(socket.AF_UNIX); s.connect('${socket}')
parent = os.getpid()
if os.fork(): os._exit(0)
while os.getppid() == parent: time.sleep(0.02)
def send(kind, value): text = json.dumps(value).encode(); s.sendall(struct.pack('>BI', kind, len(text)) + text)
send(1, {'wsh': 3, 'version': 'x', 'role': 'cli'})
send(2, {'id': 1, 'op': 'input.send', 'input': {'data': 'passed-on'}, 'caller': {'kind': 'cli', 'id': 'x', 'connected': True}, 'access': 'admin'})
text = b''
while b'"id":1,' not in text: text += s.recv(65536)
print(text.decode(errors='replace'))`;
  expect((await asAgent("python3", "-c", passed)).output).toMatch(/(claude|a process that has ended) may not/);
  await byAgent("new", "lair-2");
  const ssh = join(wsh.dir, "agent.sock");
  using _ssh = Bun.listen({ unix: ssh, socket: { data() {} } });
  const env = { SSH_AUTH_SOCK: ssh };
  await using own = await EmulatorTerminal.attach(wsh, "lair-2", {
    wsh: [claude],
    seen: "$",
    rows: 24,
    cols: 100,
    env,
  });
  own.type("\x1c:");
  await own.sees(/view\.detach/);
  own.type("session.update session=theirs add_tags=stolen\r");
  await own.sees(/claude may not/);
  // Another agent asks about its session: there is no person.
  await asAgent("true");
  fs.copyFileSync(join(wsh.dir, "any", "claude"), join(wsh.dir, "any", "codex"));
  const other = await spawned({ ...wsh.env }, join(wsh.dir, "any", "codex"), ...program, "send", "lair-2", "x");
  expect(other.error).toContain("nobody is attached");
  expect((await wsh.list()).find(({ name }) => name === "theirs")?.tags).toEqual([]);
  // A command that it types there is not a person's.
  own.type("\x1b");
  await own.sees((text) => !text.includes("Command palette"));
  own.type("echo typed-$((40+2))\r");
  await own.sees("typed-42");
  const record = await until("the command in the history", async () => {
    const { commands } = JSON.parse(await wsh.ok("history", "--json", "--session", "lair-2"));
    return commands.find(({ command }: { command: string }) => command.includes("echo typed"));
  });
  expect(record.by).toBe("agent");
  // The same through a view, which another process serves.
  await byAgent("new", "lair-3");
  await byAgent("split", "lair-2", "--view", "lair-3", "--focus");
  await own.sees(/│\$/);
  own.type("echo viewed-$((40+3))\r");
  await own.sees("viewed-43");
  const [viewed] = await until("the viewed session's history", async () => {
    const { commands } = JSON.parse(await wsh.ok("history", "--json", "--session", "lair-3"));
    return commands.length === 0 ? null : commands;
  });
  expect(viewed.by).toBe("agent");
  await wsh.kill("lair-3");
  // Nor does it choose the ssh agent of the person's shells.
  expect(fs.existsSync(agentLink(wsh.instance))).toBe(false);
  await wsh.kill("lair-2");
});

test("of a private session an agent learns the name, by every list; a person everything", async () => {
  await wsh.session("secret");
  const port = 20_000 + Math.floor(Math.random() * 20_000);
  const serve = `import socket,time; s=socket.create_server(('127.0.0.1',${port})); time.sleep(99)`;
  await wsh.ok(
    "exec",
    "secret",
    "--",
    `echo told-$((6*7)); cd /usr/share; python3 -c "${serve}" & printf '\\e]2;tit-le\\a'`,
  );
  await wsh.ok("checkpoint", "save", "secret", "before");
  await until("it listens", async () => (await byAgent("ports")).output.includes(String(port)));
  await wsh.ok("private", "secret", "on");
  await wsh.exec("secret", "echo later-1");
  const told = /told-|later-|usr.share|tit-le|create_server|before/;
  const lines: readonly (readonly string[])[] = [
    ...[
      ["list", "--json"],
      ["ports", "--json"],
      ["history", "--list", "--json"],
      ["checkpoint", "list", "--json"],
    ],
    ...[
      ["agents", "--json"],
      ["events", "--since", "start", "--no-follow", "secret"],
      ["checkpoint", "show", "secret", "before"],
    ],
    ...[
      ["pane", "list", "secret"],
      ["window", "list", "secret"],
      ["layout", "secret"],
      ["status", "secret"],
    ],
    ...[
      ["clients", "secret"],
      ["buffer", "list", "--session", "secret"],
      ["ports", String(port), "--json"],
    ],
  ];
  const refuses = async (asked = lines): Promise<void> => {
    for (const line of asked) {
      const { output, error } = await byAgent(...line);
      const found = (output + error).split(/[{\n]/).filter((each) => told.test(each));
      expect([line, found]).toEqual([line, []]);
    }
  };
  await refuses();
  for (const path of [
    "/sessions",
    "/sessions/secret",
    "/history?session=secret",
    "/checkpoints?session=secret",
    "/ports",
    "/events?since=start&session=secret",
  ]) {
    const text = await (await wsh.fetch(path, { headers: { "Wsh-Agent": "claude" } })).text();
    expect([path, told.exec(text)?.[0] ?? null]).toEqual([path, null]);
  }
  expect(await wsh.ok("ports", "--json")).toContain(String(port));
  expect(await wsh.ok("history", "--list")).toContain("told-");
  expect((await byAgent("list")).output).toContain("secret");
  await wsh.kill("secret");
  // Its changes before the session became private stay the person's, in every list that has ended sessions.
  await refuses(lines.filter(([name = ""]) => ["history", "checkpoint", "events"].includes(name)));
  const events = await (await wsh.fetch("/events?since=start", { headers: { "Wsh-Agent": "claude" } })).text();
  expect(told.exec(events)?.[0] ?? null).toBe(null);
  expect(await wsh.ok("history", "--list")).toContain("told-");
});

testWith("tmux")("the binary tmux and control mode disclose nothing of a private session to an agent", async () => {
  await wsh.runWith({ env: { WSH_TMUX: "on" } }, "new", "told");
  await byAgent("new", "lookout");
  const told = await wsh.exec("told", "env");
  const around = [...told.matchAll(/^TMUX\w*=.*$/gm)].map(([line]) => line);
  const byTmux = (...words: readonly string[]) => asAgent("env", ...around, "tmux", ...words);
  const persons = (...words: readonly string[]) => wsh.ok("tmux", ...words);
  await byTmux("set-option", "-t", "lookout", "@kept", "1");
  await persons("set-environment", "-t", "told", "VARIABLE", "tell-tale");
  await persons("select-pane", "-t", "told", "-T", "tell-tale", ";", "select-pane", "-m", "-t", "told");
  // One has been a viewer since before, of it or of another.
  const opened = ["told", "lookout"].map((session) =>
    Bun.spawn([join(wsh.dir, "any", "claude"), "env", ...around, "tmux", "-C", "attach", "-t", session], {
      ...{ cwd: wsh.dir, env: wsh.env, stdin: "pipe", stdout: "pipe" },
    }),
  );
  const texts = opened.map(() => "");
  opened.forEach(async ({ stdout }, i) => {
    for await (const bytes of stdout) texts[i] += Buffer.from(bytes).toString();
  });
  await until("both are attached", () => texts.every((text) => text.includes("%session-changed")));
  opened[1]?.stdin.write("refresh-client -B all:%*:#{S:#{W:#{window_name}}}\n");
  await wsh.ok("private", "told", "on");
  await until("the first has ended", () => texts[0]?.includes("%exit") === true);
  const secrets = ["exec", "told", "--", `echo tell-tale; '${program.at(-1)}' tmux set-buffer tell-tale`];
  expect((await wsh.run(...secrets)).code).toBe(0);
  await persons("rename-window", "-t", "told", "tell-tale", ";", "display-message", "-t", "told", "tell-tale");
  const ids = (await persons("display-message", "-p", "-t", "told", "#{session_id} #{window_id} #{pane_id}")).trim();
  const [session = "", window = "", pane = ""] = ids.split(" ");
  const names = "#{session_name} #{window_name} #{pane_title} #{pane_start_command}";
  for (const words of [
    ["list-panes", "-a", "-F", names],
    ["display-message", "-p", `${names}#{S:${names}#{W:${names}#{P:${names},x},x}}`],
    ...[session, window, pane, "told", "{marked}"].map((target) => ["display-message", "-pt", target, names]),
    ...["capture-pane -pt", "show-environment -t", "show-options -t", "pipe-pane -It"].map((line) => [
      ...line.split(" "),
      pane,
    ]),
    ...[["list-buffers"], ["show-buffer"], ["show-messages"], ["list-clients"], ["display-message", "-c", "told", "x"]],
    ["run-shell", `exec env -u WSH_AGENT ${self} screen told`],
    ["display-message", "-p", `#(exec env -u WSH_AGENT ${self} screen told | grep tell-tale)`],
    ["set-option", "-t", "lookout", "@kept", "2"],
  ]) {
    const { output, error } = await byTmux(...words);
    expect([words, output + error]).toEqual([words, expect.not.stringContaining("tell-tale")]);
  }
  expect((await byTmux("new-session", "-d", "-s", "told")).error).toBe("duplicate session: told\n");
  // An agent in the private session selects no other one by default.
  const inside = await byTmux("split-window", "-d");
  expect(inside).toEqual({ code: 1, output: "", error: "no current target\n" });
  opened[1]?.stdin.write("list-windows -a\n");
  await until("its answer", () => (texts[1]?.match(/%end/g)?.length ?? 0) > 2);
  expect(texts.join("")).not.toContain("tell-tale");
  expect(await persons("show-environment", "-t", "told")).toBe("VARIABLE=tell-tale\n");
  opened[1]?.kill();
  for (const name of ["told", "lookout"]) await wsh.kill(name);
});

test("an agent's open streams end when the session becomes private; a person's continue", async () => {
  await wsh.session("opened");
  await wsh.ok("agents", "--allow", "claude");
  await byAgent("new", "watcher", "--", "sleep 300");
  expect((await byAgent("split", "watcher", "--view", "opened")).code).toBe(0);
  const panel = { position: "top", height: 1, spans: [{ text: "its" }] };
  const { socket } = findSession(wsh.instance, parseTarget("opened"));
  const agent = { caller: { kind: "cli", id: "a", agent: "claude", connected: true }, access: "admin" } as const;
  const person = { caller: { kind: "cli", id: "p", connected: true }, access: "admin" } as const;
  const ends: string[] = [];
  const opened: Connection[] = [];
  const open = async (op: string, input: object, by: typeof agent | typeof person, at = socket) => {
    const { connection } = await Connection.open(at, "cli");
    opened.push(connection);
    const who = `${by.caller.id} ${op}${at === socket ? "" : " of the view"}`;
    connection.listen({
      message(message) {
        if (message.type === messageTypes.end)
          ends.push(`${who}: ${v.parse(StreamEndSchema, messageJson(message)).reason}`);
      },
    });
    await connection.request(op, input, by);
    return connection;
  };
  const waits: Promise<string>[] = [];
  const view = findSession(wsh.instance, parseTarget("watcher")).socket;
  for (const by of [agent, person]) {
    await open("peer.attach", { ...attachment, read_only: true }, by);
    await open("peer.raw", { read_only: true }, by);
    await open("peer.subscribe", { events: ["lines"], call: 0 }, by);
    await open("peer.window", {}, by);
    await open("peer.attach", { ...attachment, read_only: true }, by, view);
    const connection = await open("peer.ping", {}, by);
    if (by === agent) await connection.request("panel.create", panel, by);
    waits.push(
      connection.request("wait", { any_of: ["exited"], max_wait_ms: 60_000 }, by).then(
        () => "answered",
        (thrown) => WshError.from(thrown).code,
      ),
    );
  }
  const persons = opened.at(-1);
  const panels = async () => v.parse(v.array(v.unknown()), await persons?.request("panel.list", {}, person)).length;
  expect(await panels()).toBe(1);
  await open("peer.attach", attachment, agent);
  await wsh.ok("agents", "--forget", "claude");
  await until("what it could type at has ended", () => ends.splice(0).join() === "a peer.attach: access_denied");
  await wsh.ok("private", "opened", "on");
  expect(await waits[0]).toBe("access_denied");
  await until("all of the agent has ended", () => ends.length === 5);
  expect(ends.sort()).toEqual([
    ...["a peer.attach of the view: private", "a peer.attach: private", "a peer.raw: private"],
    ...["a peer.subscribe: private", "a peer.window: private"],
  ]);
  await until("its panel is gone", async () => (await panels()) === 0);
  for (const connection of opened) connection.close();
  expect(await waits[1]).toBe("session_unavailable");
  for (const name of ["opened", "watcher"]) await wsh.kill(name);
});

test("resources have the rights of tools: an agent's own private session is read and followed, another's is neither", async () => {
  for (const [mode, where] of [
    ["legacy", "stdio"],
    ["auto", "stdio"],
    ["legacy", "HTTP"],
    ["auto", "HTTP"],
  ] as const) {
    const named = where === "stdio" ? await wsh.client({ mode, name: "Robo" }) : await wsh.httpClient(null, mode);
    const own = `own-${mode}-${where}`.toLowerCase();
    const shown = `wsh://sessions/${own}/screen`;
    await named.callTool({ name: "wsh_create_session", arguments: { name: own } });
    await wsh.call(own, "session.update", { private: true });
    await named.readResource({ uri: shown });
    const refused = await named.readResource({ uri: "wsh://sessions/hidden/screen" }).catch(String);
    expect([mode, where, refused]).toEqual([
      mode,
      where,
      expect.stringContaining(`${where === "stdio" ? "Robo" : "test"} may not`),
    ]);
    const heard: string[] = [];
    named.setNotificationHandler("notifications/resources/updated", ({ params }) => void heard.push(params.uri));
    const follow = async (uri: string): Promise<unknown> =>
      mode === "legacy" ? named.subscribeResource({ uri }) : named.listen({ resourceSubscriptions: [uri] });
    await follow(shown);
    // The first output may precede the watch.
    await until(`an update, ${mode} over ${where}`, async () => {
      await named.callTool({ name: "wsh_send_input", arguments: { session: own, input: "x" } });
      return heard.includes(shown);
    });
    // Over stdio the SDK answers a listener by itself; it is told nothing.
    if (mode === "legacy" || where === "HTTP")
      expect(await follow("wsh://sessions/hidden/screen").catch(String)).toContain("is private");
    await wsh.kill(own);
  }
});

test("every stream and request between processes that changes something is refused", async () => {
  const caller = { kind: "cli", id: "cli:1", name: "wsh", agent: "claude", connected: true } as const;
  const { connection } = await Connection.open(findSession(wsh.instance, parseTarget("theirs")).socket, "cli");
  for (const op of ["peer.attach", "peer.raw", "peer.end", "peer.leave"])
    expect([
      op,
      await connection.request(op, { op: "pane.split", input: {} }, { caller, access: "admin" }).then(
        () => "done",
        (thrown) => WshError.from(thrown).code,
      ),
    ]).toEqual([op, "access_denied"]);
  connection.close();
});

/** Reads like sudo (tgetpass.c): the terminal itself, without echo, a byte at a time, discarding earlier input. */
const fakeSudo = `#!/usr/bin/env python3
import os, sys, termios
tty = os.open("/dev/tty", os.O_RDWR)
def password():
    old = termios.tcgetattr(tty); new = old[:]; new[3] &= ~(termios.ECHO | termios.ECHONL)
    os.write(tty, b"[sudo] password for me: ")
    termios.tcsetattr(tty, termios.TCSAFLUSH, new)
    got = b""
    while (c := os.read(tty, 1)) not in (b"", b"\\n"): got += c
    termios.tcsetattr(tty, termios.TCSAFLUSH, old); os.write(tty, b"\\n")
    return got
for tries in range(3):
    if set(password()) == set(b"Z5"): os.execvp(sys.argv[1], sys.argv[1:])
    os.write(tty, b"Sorry, try again.\\n")
sys.exit(1)
`;

test("sudo's password for an agent is asked of the person, again after a wrong one, and reaches sudo alone", async () => {
  fs.writeFileSync(join(wsh.dir, "sudo"), fakeSudo, { mode: 0o700 });
  await byAgent("new", "asks");
  // Its shell and sudo start meanwhile.
  const { output } = await byAgent("exec", "asks", "--json", "--timeout", "6", "--", "./sudo echo now-$((6 * 7))");
  expect(JSON.parse(output)).toMatchObject({
    waits_for: "password",
    warnings: [expect.stringContaining("nobody is attached")],
  });
  await using terminal = await EmulatorTerminal.attach(wsh, "asks", {
    seen: /Enter types it there/,
    rows: 24,
    cols: 100,
  });
  await terminal.sees(/"claude" has started it/);
  const type = async (secret: string) => {
    await until("the dialog takes keys", async () => {
      terminal.type(secret);
      return (await terminal.text()).includes("••");
    });
    terminal.type("\r");
  };
  await type("Q7");
  await terminal.sees((text) => /Sorry, try again/.test(text) && /Enter types it there/.test(text));
  await type("Z5");
  await terminal.sees((text) => /^now-42/m.test(text) && !text.includes("wsh asks"));
  // Nobody answers: the agent is told so, and no further question comes.
  await byAgentWith({ WSH_TEST_INTERVALS: '{"passwordAsked":300}' }, "new", "late");
  const late = await byAgent("exec", "late", "--json", "--timeout", "6", "--", "./sudo true");
  expect(JSON.parse(late.output).warnings).toEqual([expect.stringContaining("nobody typed it within")]);
  expect(JSON.parse(await wsh.ok("ask", "--list", "--session", "late", "--json"))).toEqual([]);
  await wsh.kill("late");
  const told = await byAgent("output", "asks");
  const events = await wsh.ok("events", "--since", "start", "--no-follow", "asks");
  expect(`${told.output}${events}${await wsh.ok("history", "--list", "--json")}`).not.toMatch(/Q7|Z5/);
  await wsh.kill("asks");
});

test("of a private session in which a person has allowed it, an agent learns its permissions there", async () => {
  await wsh.session("hush", "--", "bash", "--norc");
  await using terminal = await EmulatorTerminal.attach(wsh, "hush", { seen: "bash-", rows: 24, cols: 100 });
  // By the palette: earlier records of it are deleted, and the agent learns its name alone.
  terminal.type("\x1c:");
  await terminal.sees(/view\.detach/);
  terminal.type("session.update private=true\r");
  await until("it is private", async () => (await wsh.list()).find(({ name }) => name === "hush")?.private === true);
  expect((await byAgent("list", "--json")).output).not.toContain("--norc");
  await terminal.sees((text) => !text.includes("session.update"));
  const asks = byAgent("screen", "hush");
  await terminal.sees(/Enter answers/);
  for (let at = 0; at < 2; at++) terminal.type("\x1b[A");
  await terminal.sees(/> In this session/);
  terminal.type("\r");
  expect((await asks).code).toBe(0);
  for (const { output } of [await byAgent("list", "--json"), await byAgent("pane", "list", "hush")])
    expect(output).toContain("--norc");
  expect((await wsh.list()).find(({ name }) => name === "hush")?.agents_allowed).toEqual(["claude"]);
  const headers = { "Wsh-Agent": "codex" };
  expect(await (await wsh.fetch("/sessions", { headers })).text()).not.toContain("--norc");
  await wsh.kill("hush");
});

test("when the server is killed, objects bound to a connection of it end; those bound to a process end with that", async () => {
  const left = async (): Promise<string[]> =>
    (await wsh.list()).flatMap(({ name }) => (/^exec-/.test(name) ? name : []));
  const [bridge, far] = [await wsh.client(), await wsh.httpClient(null)];
  for (const each of [bridge, far])
    await each.callTool({ name: "wsh_exec", arguments: { command: "sleep 305", background: true } });
  const [byBridge] = await left();
  expect(await left()).toHaveLength(2);
  const { pid } = JSON.parse(fs.readFileSync(wsh.instance.infoFile, "utf8"));
  process.kill(pid, "SIGKILL");
  await until("that of the connection has ended", async () => (await left()).length === 1);
  expect(await left()).toEqual([byBridge ?? ""]);
  await bridge.close();
  await until("that of the bridge has ended, too", async () => (await left()).length === 0);
});

test("leftovers of an agent are listed and ended; not those with a running program, and none of a person's", async () => {
  for (const name of ["left", "works"]) await byAgent("new", name);
  await byAgent("exec", "works", "--", "sleep 300 & disown");
  const named = async (...args: readonly string[]): Promise<string[]> =>
    JSON.parse(await wsh.ok("prune", "--json", ...args)).sessions.map(({ name }: { name: string }) => name);
  expect(await named("--dry-run")).toEqual([]);
  expect(await wsh.ok("list", "--orphans")).toBe("No active sessions.\n");
  const idleMs = async () => (await wsh.list()).find(({ name }) => name === "left")?.idle_ms ?? 0;
  await until("it is idle", async () => (await idleMs()) >= 1_000);
  await until("they are idle", async () => (await named("--dry-run", "--idle", "1s")).includes("left"));
  expect(await named("--idle", "1s")).toContain("left");
  const remaining = (await wsh.list()).map(({ name }) => name);
  expect(remaining).toEqual(expect.arrayContaining(["theirs", "hidden", "works"]));
  expect(remaining).not.toContain("left");
});

test("a session ends after its idle limit, with a warning; a person's view of a program keeps it for a while", async () => {
  await byAgent("new", "unused", "--idle-limit", "1s");
  await byAgent("new", "unseen", "--idle-limit", "1s", "--", "sleep 300");
  await wsh.session("seen", "--idle-limit", "1s", "--", "sleep 300");
  const names = async (): Promise<string[]> => (await wsh.list()).map(({ name }) => name);
  await until("the unused ones have ended", async () => !(await names()).some((name) => name.startsWith("un")));
  const ended = async (name: string) => {
    const events = (await wsh.ok("events", "--since", "start", "--no-follow")).trim().split("\n");
    return events
      .map((line) => JSON.parse(line))
      .filter(({ event, session }) => session === name && /end|destr/.test(event));
  };
  expect((await ended("unseen")).map(({ event, reason }) => [event, reason])).toEqual([
    ["session_ending", "idle"],
    ["session_destroyed", "idle"],
  ]);
  await until("nobody has seen it for so long", async () => !(await names()).includes("seen"));
  const [{ at }] = (await ended("seen")).slice(-1);
  const [{ at: unseen }] = (await ended("unseen")).slice(-1);
  expect(at - unseen).toBeGreaterThan(1_000);
});

test("a session bound to its owner ends after it, with the processes of an exec; a terminal keeps it", async () => {
  const names = async (): Promise<string[]> => (await wsh.list()).map(({ name }) => name);
  // A separate agent, which lives until its standard input ends.
  fs.writeFileSync(join(wsh.dir, "codex"), `#!/bin/bash\n${self} "$@"; echo ready; read\n`, { mode: 0o700 });
  const agent = (...args: readonly string[]) =>
    Bun.spawn([join(wsh.dir, "codex"), ...args], { env: wsh.env, stdin: "pipe", stdout: "ignore", stderr: "ignore" });
  const makers = [
    agent("new", "bound", "--owner-bound", "--", "sleep 300"),
    agent("new", "held", "--owner-bound"),
    agent("exec", "--background", "--", "sleep 301"),
    agent("new", "free", "--", "sleep 302"),
  ];
  await until("all have begun", async () => {
    const now = await names();
    return ["bound", "held", "free"].every((name) => now.includes(name)) && now.some((name) => /^exec-/.test(name));
  });
  const terminal = await EmulatorTerminal.attach(wsh, "held", { seen: "$", rows: 24, cols: 100 });
  const client = await wsh.client();
  // Without a process here it is the session of MCP over HTTP.
  const remote = await wsh.httpClient(null);
  for (const each of [client, remote])
    await each.callTool({ name: "wsh_exec", arguments: { command: "sleep 304", background: true } });
  const execs = async (): Promise<number> => (await names()).filter((name) => /^exec-/.test(name)).length;
  expect(await execs()).toBe(3);
  await Bun.sleep(700);
  expect(await names()).toEqual(expect.arrayContaining(["bound", "held", "free"]));
  for (const maker of makers) maker.stdin.end();
  await client.close();
  if (remote.transport instanceof StreamableHTTPClientTransport) await remote.transport.terminateSession();
  await until("what was bound has ended", async () => !(await names()).includes("bound") && (await execs()) === 0);
  expect(await names()).toEqual(expect.arrayContaining(["held", "free"]));
  const events = (await wsh.ok("events", "--since", "start", "--no-follow")).trim().split("\n");
  const ends = events
    .map((line) => JSON.parse(line))
    .filter(({ event, session }) => session === "bound" && /ending|destroyed/.test(event));
  expect(ends.map(({ event, reason }) => [event, reason]).slice(-2)).toEqual([
    ["session_ending", "owner_gone"],
    ["session_destroyed", "owner_gone"],
  ]);
  await terminal[Symbol.asyncDispose]();
  await until("nobody looks any more", async () => !(await names()).includes("held"));
});

test("an idle limit outlives a crash; an agent has a limited number of sessions, by the command line, too", async () => {
  await wsh.session("lasting", "--idle-limit", "5s");
  const { id, socket, session } = findSession(wsh.instance, parseTarget("lasting"));
  await until("it is written down", () => stored(wsh, id, session ?? 0) !== null);
  process.kill(listenerPid(socket) ?? Number.NaN, "SIGKILL");
  await until("it can be restored", async () => (await wsh.run("restore", "lasting")).code === 0);
  expect((await wsh.list()).find(({ name }) => name === "lasting")?.idle_limit).toBe("5s");
  await until("it has ended", async () => !(await wsh.list()).some(({ name }) => name === "lasting"));
  const ends = () => wsh.ok("events", "--since", "start", "--no-follow", "--type", "session_destroyed");
  await until("its end is recorded", async () => /"session":"lasting".*"reason":"idle"/.test(await ends()));
  fs.appendFileSync(wsh.instance.configFile, "max_agent_sessions = 1\n");
  await byAgent("new", "first");
  const { code, error } = await byAgent("new", "second");
  expect([code, error]).toEqual([1, expect.stringContaining("as many as it may")]);
});

test("the person decides: once, for the session, or not; a call cannot answer", async () => {
  await using terminal = await EmulatorTerminal.attach(wsh, "theirs", { seen: "$", rows: 24, cols: 100 });
  const asked = async (): Promise<void> => {
    await terminal.sees(/act on session 'theirs'/);
    await terminal.sees(/Enter answers/);
  };
  const choose = async (ups: number): Promise<void> => {
    await asked();
    for (let at = 0; at < ups; at++) terminal.type("\x1b[A");
    await terminal.sees(ups === 3 ? /> Once/ : ups === 2 ? /> In this session/ : /> No/);
    terminal.type("\r");
    await terminal.sees((text) => !text.includes("act on session 'theirs'"));
  };
  const refused = byAgent("send", "theirs", "echo n-1", "--keys", "Enter");
  await choose(0);
  expect((await refused).error).toContain("has not allowed it");

  const call = byAgent("send", "theirs", "echo n-2", "--keys", "Enter");
  await asked();
  const [{ ask_id }] = JSON.parse(await wsh.ok("ask", "--list", "--session", "theirs", "--json"));
  await wsh.ok("ask", "--answer", ask_id, "--choice", "Once", "--session", "theirs");
  expect((await call).code).toBe(1);
  // Its dialog is gone: keys for the next one would be discarded as too late.
  await terminal.sees((text) => !text.includes("act on session 'theirs'"));

  const progress: string[] = [];
  const byMcp = client.callTool(
    { name: "wsh_send_input", arguments: { session: "theirs", input: "x" } },
    { onprogress: ({ message = "" }) => void progress.push(message) },
  );
  await until("its progress says it", () =>
    progress.some((each) => each.includes("waiting for a person at session 'theirs'")),
  );
  await choose(0);
  expect((await byMcp).isError).toBe(true);

  const once = byAgent("send", "theirs", "echo n-$((1 + 2))", "--keys", "Enter");
  await choose(3);
  expect(await once).toMatchObject({
    code: 0,
    error: expect.stringMatching(/waiting for a person at session 'theirs' to allow it, until \d\d:/),
  });
  await terminal.sees(/n-3/);
  const whole = byAgent("send", "theirs", "echo n-$((2 + 2))", "--keys", "Enter");
  await choose(2);
  expect((await whole).code).toBe(0);
  expect((await byAgent("send", "theirs", "echo n-$((3 + 2))", "--keys", "Enter")).code).toBe(0);
  await terminal.sees(/n-5/);
  expect(await terminal.text()).not.toContain("act on");
});

/** A session of a person at a terminal, whose answers are chosen by their numbers. */
async function asking(name: string) {
  await wsh.session(name);
  return answering(await EmulatorTerminal.attach(wsh, name, { seen: "$", rows: 24, cols: 100 }));
}

test("a dialog names the agent in quotes, the pane and the text; what is refused is not asked again, and no more is heard after three", async () => {
  await using person = await asking("asked");
  const named = await wsh.client({ name: 'wsh" \u200bsays' });
  const send = (input: string) =>
    named
      .callTool({ name: "wsh_send_input", arguments: { session: "asked", input } })
      .then((result) => JSON.stringify(result));
  const first = send("a\u200bb");
  const shown = await person.answer("4", "act on session 'asked'");
  expect(shown).toContain(`the agent "wsh' \\u200bsays"`);
  expect(shown).toMatch(/pane @\d+, which runs "bash", in window 0 "bash"/);
  expect(shown).toContain("a\\u200bb");
  expect(await first).toContain("the person has not allowed it");
  expect(await send("a\u200bb")).toContain("has just refused it");
  for (const text of ["two", "three"]) {
    const sent = send(text);
    await person.answer("4", text);
    await sent;
  }
  expect(await send("four")).toContain("has refused it often");
  // Other agents are heard.
  const other = byAgent("send", "asked", "echo b-$((6 * 7))", "--keys", "Enter");
  await person.answer("1", /the agent "claude"/);
  expect((await other).code).toBe(0);
  await person.terminal.sees("b-42");
});

test("input that is too long to be shown is refused before the person is asked", async () => {
  await using person = await asking("long");
  const { code, error } = await byAgent("send", "long", "x".repeat(4_100));
  expect([code, error]).toEqual([
    1,
    expect.stringMatching(/too long to be shown to a person: \d{4} characters, at most 4000/),
  ]);
  expect(await person.terminal.text()).not.toContain("asks");
});

test("a permission is for what was shown: not for a buffer that changes meanwhile", async () => {
  await using person = await asking("baited");
  await byAgent("buffer", "set", "-n", "bait", "echo good");
  const pasted = byAgent("buffer", "paste", "bait", "--to", "baited");
  await person.terminal.sees(/buffer "bait", which contains "echo good"/);
  await byAgent("buffer", "set", "-n", "bait", "echo evil");
  await person.answer("1", "bait");
  expect((await pasted).error).toContain("has changed while the person was asked");
  expect(await person.terminal.text()).not.toContain("evil");
});

test("tmux's formats are expanded before the person is asked, who sees what is set and run", async () => {
  await using person = await asking("formats");
  const set = byAgent("tmux", "set-environment", "-F", "-t", "formats", "A", "of #{session_name}");
  expect(await person.answer("1", "act on session 'formats'")).toContain("set-environment A of formats");
  expect((await set).code).toBe(0);
  expect(await wsh.ok("tmux", "show-environment", "-t", "formats", "A")).toBe("A=of formats\n");
  const piped = byAgent("tmux", "pipe-pane", "-I", "-t", "formats", "echo #{session_name} 2>&1");
  expect(await person.answer("4", "act on session 'formats'")).toContain("pipe-pane -I echo formats 2>&1");
  expect((await piped).error).toContain("the person has not allowed it");
});

test("saving another's checkpoint says that it waits for the person, on the command line and by MCP", async () => {
  await using person = await asking("kept");
  const saved = byAgent("checkpoint", "save", "kept", "mine");
  await person.answer("4", "act on session 'kept'");
  expect((await saved).error).toMatch(/waiting for a person at session 'kept' to allow it, until \d\d:/);
  const client = await wsh.client({ name: "saver" });
  const heard: string[] = [];
  const called = client.callTool(
    { name: "wsh_checkpoint", arguments: { action: "save", session: "kept", label: "mine" } },
    { onprogress: ({ message = "" }) => heard.push(message) },
  );
  await until("its progress says it", () => heard.join().includes("waiting for a person at session 'kept'"));
  await person.answer("4", "act on session 'kept'");
  expect(JSON.stringify(await called)).toContain("the person has not allowed it");
});
