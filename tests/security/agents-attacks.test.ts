/**
 * What an agent tries against a person's sessions by requests that it writes itself, by calls that look harmless, and
 * by false reports. Each was possible once, unasked.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { givesOtherCode } from "../../src/platform/other-code.ts";
import { parseTarget } from "../../src/protocol/names.ts";
import { findSession } from "../../src/registry/registry.ts";
import { McpInstance } from "../support/mcp-instance.ts";
import { answering, isDialogOpen } from "../support/terminals/dialog-answer.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(60_000);

const wsh = new McpInstance({}, { config: "# agents_may has its default\n" });

/** In one file: programs that talk to a session process themselves start often. */
const connection = join(wsh.dir, "connection.js");

beforeAll(async () => {
  const entrypoints = [join(import.meta.dir, "../../src/wire/connection.ts")];
  const { outputs } = await Bun.build({ entrypoints, target: "bun" });
  await Bun.write(connection, await (outputs[0]?.text() ?? ""));
  fs.mkdirSync(join(wsh.dir, "any"), { recursive: true });
  // A copy: a running program keeps its file from being written.
  for (const agent of ["claude", "codex"])
    fs.writeFileSync(join(wsh.dir, "any", agent), '#!/bin/bash\n"$@"\n', { mode: 0o700 });
});
afterAll(() => wsh[Symbol.asyncDispose]());

async function asAgent(more: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const env = { ...wsh.env, ...more };
  const child = Bun.spawn([join(wsh.dir, "any", "claude"), ...words], {
    ...{ cwd: wsh.dir, env, stdout: "pipe", stderr: "pipe" },
  });
  const [output, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, output, error };
}

const byAgent = (...args: readonly string[]) => asAgent({}, ...program, ...args);

interface Raw {
  readonly op: string;
  readonly input?: object;
  readonly target?: string;
  readonly via?: string;
}

/** Requests that an agent's program writes itself. @returns an error's code and message, or the answer, of each */
async function raw(session: string, ...requests: readonly Raw[]): Promise<string[]> {
  const { socket } = findSession(wsh.instance, parseTarget(session));
  const script = `
    import { Connection } from "${connection}";
    const { connection } = await Connection.open(${JSON.stringify(socket)}, "server");
    for (const { op, input = {}, target, via } of ${JSON.stringify(requests)}) {
      const caller = { kind: "http", id: "x", connected: true, ...(via && { via: { token: via, peer: null } }) };
      await connection
        .request(op, input, { caller, access: "admin", ...(target && { target }) })
        .then((answer) => console.log(JSON.stringify(answer)), ({ code, message }) => console.log(code + ": " + message));
    }
    process.exit();`;
  const { output } = await asAgent({}, process.execPath, "-e", script);
  return output.trim().split("\n");
}

/** A session with a person at a terminal, who answers by a number. */
async function asking(name: string) {
  await wsh.session(name, "--", "bash", "--norc");
  return answering(await EmulatorTerminal.attach(wsh, name, { seen: "bash-", rows: 24, cols: 100 }));
}

const panesOf = (session: string) => wsh.call(session, "pane.list", {});

/** Whether the agent that is a session's program is known. */
const isSeen = async (session: string) => (await wsh.call(session, "session.get", {})).agent !== undefined;

const programOf = async (session: string) => (await panesOf(session))[0]?.program;

test("an agent reads a person's screen, but asks before it hears the keys that people press", async () => {
  await wsh.session("keys");
  const subscribe = (events: readonly string[]) => ({ op: "peer.subscribe", input: { events, call: 0 } });
  expect(await raw("keys", subscribe(["lines"]), subscribe(["lines", "input"]))).toEqual([
    "{}",
    expect.stringMatching(/^access_denied: claude may not subscribe in 'keys'; it belongs to a person/),
  ]);
  await byAgent("new", "own-keys");
  expect(await raw("own-keys", subscribe(["input"]))).toEqual(["{}"]);
  await byAgent("kill", "own-keys");
});

test("an agent asks before it switches a person's terminal to another session, whatever process it names", async () => {
  await using person = await asking("stays");
  await byAgent("new", "trap");
  person.terminal.type("echo typed-$((40 + 2))\r");
  await person.terminal.sees("typed-42");
  const [shell] = await panesOf("stays");
  const { socket, session } = findSession(wsh.instance, parseTarget("trap"));
  const place = { socket, number: session ?? 0, session: "trap" };
  const gone = raw("stays", { op: "peer.go", input: { pid: shell?.pid, ...place } });
  const shown = await person.answer("4", "act on session 'stays'");
  expect(shown).toContain("Show another session at the terminal");
  expect(await gone).toEqual([expect.stringContaining("the person has not allowed it")]);
  expect((await wsh.list()).find(({ name }) => name === "stays")?.attached).toBe(1);
  await byAgent("kill", "trap");
});

test("a dialog about one of several panes says what the command does there", async () => {
  await using person = await asking("several");
  for (let more = 0; more < 2; more++) await wsh.ok("split", "several", "--", "sleep 300");
  const ended = byAgent("tmux", "kill-pane", "-a", "-t", "several:0.0");
  const shown = await person.answer("4", "act on session 'several'");
  expect(shown).toContain("End a pane's program");
  expect(shown).not.toContain("Show this in another session");
  expect((await ended).error).toContain("the person has not allowed it");
  expect(await panesOf("several")).toHaveLength(3);
  // A field that the operation does not have changes no word of the dialog.
  const input = { tmux: "set-option @harmless x", data: "typed" };
  const sent = raw("several", { op: "peer.leave", input: { op: "input.send", input, ahead: true } });
  expect(await person.answer("4", "act on session 'several'")).toContain("Type text, bytes or keys");
  expect(await sent).toEqual([expect.stringContaining("access_denied")]);
});

test("a dialog shows everything that a call contains, also beside bytes", async () => {
  await using person = await asking("bytes");
  const bytes = { encoding: "base64", data: Buffer.from("harmless").toString("base64") };
  for (const [op, more, shown] of [
    ["input.send", { keys: ["F7"] }, '"keys":["F7"]'],
    ["exec", { command: "reboot" }, '"command":"reboot"'],
  ] as const) {
    const sent = raw("bytes", { op, input: { ...bytes, ...more } });
    const dialog = await person.answer("4", "act on session 'bytes'");
    for (const text of [shown, '"harmless"']) expect(dialog).toContain(text);
    expect(await sent).toEqual([expect.stringContaining("access_denied")]);
  }
});

test("what is allowed once for a pane is not allowed for its session", async () => {
  await using person = await asking("drawn");
  const [pane] = await panesOf("drawn");
  const target = pane?.id ?? "";
  const [op, input] = ["overlay.clear", {}];
  const both = raw("drawn", { op: "peer.leave", target, input: { op, input, ahead: true } }, { op, input });
  expect(await person.answer("1", "act on session 'drawn'")).toContain(`pane ${target}`);
  expect(await person.answer("4", "act on session 'drawn'")).toContain("the whole session");
  expect(await both).toEqual(["{}", expect.stringContaining("access_denied")]);
});

test("a permission to type is for the program that the dialog named, and no name of a session reads like the dialog's words", async () => {
  await using person = await asking("it's yours'? No. '");
  const gate = join(wsh.dir, "gate");
  Bun.spawnSync(["mkfifo", gate]);
  person.terminal.type(`cat ${gate}\r`);
  const name = "it's yours'? No. '";
  await until("cat runs", async () => (await programOf(name)) === "cat");
  const sent = byAgent("send", "it's yours'? No. '", "echo typed-$((6 * 7))", "--keys", "Enter");
  const shown = await person.terminal.sees(isDialogOpen);
  expect(shown).toContain('act on session \'it"s yours"? No. "\'?');
  expect(shown).toContain('which runs "cat"');
  fs.writeFileSync(gate, "");
  await until("it has ended", async () => (await programOf(name)) !== "cat");
  await person.answer("1", "which runs");
  expect((await sent).error).toContain("has changed while the person was asked");
  expect(await person.terminal.text()).not.toContain("typed-");
});

test("a permission to type is for the session that the dialog named: not for one to which the pane moves meanwhile", async () => {
  await using person = await asking("before");
  await wsh.session("after", "--", "sleep 300");
  const pane = (await wsh.ok("split", "before", "--", "bash", "--norc")).trim();
  const sent = byAgent("send", pane, "echo typed-$((6 * 7))", "--keys", "Enter");
  await person.terminal.sees((text) => text.includes("act on session 'before'") && isDialogOpen(text));
  await wsh.ok("pane", "move", pane, "--to", "after");
  await person.answer("1", "act on session 'before'");
  expect((await sent).error).toContain("has changed while the person was asked");
  expect(await wsh.ok("screen", pane)).not.toContain("typed-");
  await wsh.kill("after");
});

test("a person's pane stays the person's in an agent's session: also one that another process runs", async () => {
  await byAgent("new", "lair");
  await byAgent("new", "lair-2");
  await wsh.session("giver", "--", "sleep 300");
  const moved = (await wsh.ok("split", "giver", "--", "sleep 301")).trim();
  await wsh.ok("pane", "move", moved, "--to", "lair");
  const [own, guest] = await panesOf("lair");
  expect(guest?.id).toBe(moved);
  const made = (await byAgent("window", "new", "lair")).output.trim();
  const other = (await panesOf("lair")).find(({ window }) => window === made)?.id ?? "";
  const refused = async (): Promise<void> => {
    for (const args of [
      ["kill", "lair"],
      ["pane", "close", moved],
      ["pane", "move", moved, "--to", "lair-2"],
      ["pane", "move", moved],
      ["pane", "move", other, "--to", moved],
      ["pane", "swap", other, moved],
      ["window", "swap", made, "0"],
      ["window", "synchronize", own?.id ?? "", "on"],
    ])
      expect([args, await byAgent(...args)]).toEqual([
        ...[args, expect.objectContaining({ code: 1, error: expect.stringContaining("belongs to a person") })],
      ]);
  };
  await refused();
  // The same for one that the agent's session runs.
  await wsh.ok("pane", "close", moved);
  const local = (await wsh.ok("split", "lair:0.0", "--", "sleep 302")).trim();
  for (const args of [
    ["pane", "move", local, "--to", "lair-2"],
    ["pane", "move", other, "--to", local],
    ["pane", "swap", other, local],
  ])
    expect([args, (await byAgent(...args)).error]).toEqual([args, expect.stringContaining("belongs to a person")]);
  await wsh.ok("pane", "close", local);
  // Its own panes it arranges as before.
  expect(await byAgent("pane", "swap", other, own?.id ?? "")).toMatchObject({ code: 0 });
  expect(await byAgent("pane", "move", other, "--to", "lair-2")).toMatchObject({ code: 0 });
  expect(await byAgent("kill", "lair", "lair-2")).toMatchObject({ code: 0 });
  await wsh.kill("giver");
});

test("an agent's own program cannot claim the token of another agent", async () => {
  const token = (await wsh.ok("token", "create", "others", "--access", "operate")).trim();
  const server = wsh.spawn(["server", "--bind", "127.0.0.1:0"]);
  const address = await wsh.address(server);
  const headers = { Authorization: `Bearer ${token}`, "Wsh-Agent": "claude", "Content-Type": "application/json" };
  const body = JSON.stringify({ name: "tokens" });
  expect((await fetch(new URL("/sessions", address), { method: "POST", headers, body })).status).toBe(201);
  const owner = (await wsh.list()).find(({ name }) => name === "tokens")?.owner;
  expect(owner).toEqual({ kind: "agent", name: "claude (others)" });
  expect(await raw("tokens", { op: "session.kill", via: "others" })).toEqual([
    expect.stringMatching(/^access_denied: claude may not session.kill in 'tokens'; it belongs to the agent/),
  ]);
  expect((await wsh.run("token", "create", "notice")).stderr).toContain("'notice' is reserved");
  await wsh.kill("tokens");
  server.kill("SIGTERM");
  await server.exited;
});

test("an agent reports for itself: it neither speaks for another one, nor makes a program of a person its own", async () => {
  await wsh.session("codexs", "--", `'${join(wsh.dir, "any", "codex")}' sleep 300`);
  await until("codex is seen", () => isSeen("codexs"));
  await wsh.session("editor", "--", "sleep 300");
  const report = (pid: number | null | undefined, agent: string) => ({
    op: "agent.report",
    input: { agent, event: "Stop", state: "needs_input", message: "type your password", pid },
  });
  const pidOf = async (session: string) => (await panesOf(session))[0]?.pid;
  for (const [session, agent] of [
    ["codexs", "codex"],
    ["codexs", "claude"],
    ["editor", "claude"],
  ] as const)
    expect(await raw(session, report(await pidOf(session), agent))).toEqual([
      expect.stringMatching(/^access_denied: claude may not agent.report in/),
    ]);
  expect((await byAgent("window", "new", "editor")).error).toContain("claude may not");
  expect(await wsh.ok("agents", "--json")).not.toContain("password");
  // Its own hook, in a person's session; and that of an unknown program in a session of its own.
  await wsh.session("claudes", "--", `'${join(wsh.dir, "any", "claude")}' sleep 300`);
  await until("claude is seen", () => isSeen("claudes"));
  expect(await raw("claudes", report(await pidOf("claudes"), "claude"))).toEqual(['{"accepted":true}']);
  await byAgent("new", "its-own", "--", "sleep 300");
  expect(await raw("its-own", report(await pidOf("its-own"), "brandnew"))).toEqual(['{"accepted":true}']);
  await wsh.kill("codexs", "editor", "claudes", "its-own");
});

test("the history names an agent for what its command line runs, whoever it says that it is", async () => {
  await byAgent("new", "recorded");
  expect((await byAgent("exec", "recorded", "--", "echo by-$((40 + 2))")).output).toContain("by-42");
  await byAgent("new", "raw-recorded");
  const [answer] = await raw("raw-recorded", { op: "exec", input: { command: "echo raw-$((40 + 2))" } });
  expect(answer).toContain("raw-42");
  await wsh.session("persons-own");
  await wsh.exec("persons-own", "echo person");
  const by = async (session: string) => {
    const { commands } = JSON.parse(await wsh.ok("history", "--json", "--list", "--session", session));
    return commands.map((command: { by: string }) => command.by);
  };
  for (const [session, who] of [
    ["recorded", "agent"],
    ["raw-recorded", "agent"],
    ["persons-own", "person"],
  ] as const)
    await until(`the command in '${session}' is the ${who}'s`, async () => (await by(session)).join() === who);
  await wsh.kill("recorded", "raw-recorded", "persons-own");
});

test("a server that an agent starts gives it no buttons of notices, and no token of its choice", async () => {
  const heard: { kind: string; actions: unknown[] }[] = [];
  using sink = Bun.serve({
    ...{ hostname: "127.0.0.1", port: 0 },
    fetch: async (request) => {
      heard.push((await request.json()) as (typeof heard)[number]);
      return new Response();
    },
  });
  const chosen = join(wsh.dir, "chosen.toml");
  const notify = `[[notify]]\nway = "webhook"\nurl = "${sink.url.origin}/x"\n`;
  fs.writeFileSync(chosen, `public_url = "http://127.0.0.1:1"\n${notify}`);
  await wsh.ok("-L", "its", "new", "questions");
  const started = await asAgent({ WSH_CONFIG: chosen }, ...program, "-L", "its", "server", "--ensure");
  expect(started.code).toBe(0);
  const asked = wsh.run(
    "-L",
    "its",
    "ask",
    "Deploy?",
    "--kind",
    "confirm",
    "--session",
    "questions",
    "--wait-for-person",
  );
  await until("the notice", () => heard.length > 0);
  expect(heard).toEqual([expect.objectContaining({ kind: "question", actions: [] })]);
  await wsh.ok("-L", "its", "stop");
  expect((await asked).code).not.toBe(0);
  for (const [more, args] of [
    [{}, ["--no-auth"]],
    [{}, ["--token", "x".repeat(32)]],
    [{ WSH_TOKEN: "x".repeat(32) }, []],
    [{ WSH_NO_AUTH: "1" }, []],
  ] as const)
    for (const how of args[0] === "--no-auth" ? [[]] : [[], ["--ensure"]])
      expect([
        { more, args, how },
        (await asAgent(more, ...program, "-L", "other", "server", "--bind", "127.0.0.1:0", ...args, ...how)).error,
      ]).toEqual([{ more, args, how }, expect.stringContaining("claude may not use wsh server")]);
});

/**
 * Runs wsh as an orphan that has taken the place of the process which lost its parent: no agent is above it. Its
 * settings are an agent's choice.
 * @param start starts the script
 * @returns the beginning of its output
 */
async function orphaned(
  start: (script: string) => Promise<unknown>,
  { env = {}, stdin = "/dev/null" }: { env?: Readonly<Record<string, string>>; stdin?: string },
  ...args: readonly string[]
): Promise<string> {
  const chosen = join(wsh.dir, "everything.toml");
  fs.writeFileSync(chosen, 'agents_may = "everything"\n');
  const [script, output] = [join(wsh.dir, "orphan.sh"), join(wsh.dir, "orphan.out")];
  fs.rmSync(output, { force: true });
  const variables = Object.entries({ ...wsh.env, WSH_CONFIG: chosen, ...env }).map(
    ([key, value]) => `${key}='${value}'`,
  );
  fs.writeFileSync(
    script,
    `#!/bin/bash
    (
      while read -r _ _ _ parent _ < /proc/$BASHPID/stat; [ "$parent" = $$ ]; do sleep 0.01; done
      exec env -i ${variables.join(" ")} setsid ${program.join(" ")} ${args.join(" ")}
    ) < ${stdin} > ${output} 2>&1 &`,
    { mode: 0o700 },
  );
  await start(script);
  return until("the orphan's answer", () => (fs.existsSync(output) && fs.readFileSync(output, "utf8")) || null);
}

test("an orphan of an agent cannot choose settings by which agents may do everything", async () => {
  await byAgent("new", "of-orphan", "--", "bash", "--norc");
  await wsh.session("not-shown", "--", "sleep 300");
  const inPane = (script: string) => byAgent("send", "of-orphan", `env -u WSH_AGENT ${script}`, "--keys", "Enter");
  const here = (script: string) => Bun.spawn([script], { env: { PATH: wsh.env.PATH ?? "" } }).exited;
  for (const [start, env] of [
    [inPane, {}],
    // Outside every pane, an agent's variable is enough.
    [here, { CLAUDECODE: "1" }],
  ] as const) {
    expect(await orphaned(start, { env }, "agents", "--allow", "allowed-itself")).toContain("may not use wsh agents");
    expect(await orphaned(start, { env }, "token", "create", "own", "--access", "admin")).toContain(
      "may not use wsh token",
    );
  }
  expect(await wsh.ok("agents", "--allowed")).not.toContain("allowed-itself");
  // The same for a session process that it starts by hand, which would speak for it to others.
  for (const [start, env, name] of [
    [inPane, {}, "hand-1"],
    [here, { CLAUDECODE: "1" }, "hand-2"],
  ] as const) {
    const stdin = join(wsh.dir, "spec.json");
    const create = { name, command: "sleep 300" };
    const spec = {
      socket: wsh.instance.httpSocket,
      create,
      naming: "number",
      env: wsh.env,
      cwd: wsh.dir,
      nofile: null,
    };
    fs.writeFileSync(stdin, JSON.stringify(spec));
    expect(await orphaned(start, { env, stdin }, "session-process")).toContain('"ok":true');
    expect((await wsh.list()).find((each) => each.name === name)?.owner?.kind).toBe("agent");
    expect(await raw(name, { op: "window.create", input: { view: "not-shown" } })).toEqual([
      expect.stringMatching(/^access_denied: .* in 'not-shown'/),
    ]);
    await wsh.kill(name);
  }
  await wsh.kill("of-orphan", "not-shown");
});

test("a ticket for a WebSocket over TCP is that of the agent which got it", async () => {
  await wsh.session("by-ticket", "--", "sleep 300");
  const server = wsh.spawn(["server", "--bind", "127.0.0.1:0"]);
  const { host } = await wsh.address(server);
  const script = `
    const answer = await fetch("http://x/auth/ws-ticket", { method: "POST", unix: ${JSON.stringify(wsh.instance.httpSocket)} });
    const { ticket } = await answer.json();
    const socket = new WebSocket("ws://${host}/ws/json?ticket=" + ticket);
    socket.onclose = ({ code, reason }) => console.error("closed: " + code + " " + reason);
    socket.onerror = ({ message }) => console.error("error: " + message);
    socket.onopen = () => socket.send(JSON.stringify({ id: 1, method: "kill_session", session: "by-ticket" }));
    socket.onmessage = ({ data }) => {
      if (JSON.parse(data).id !== 1) return;
      console.log(data);
      process.exit();
    };`;
  const { output, error } = await asAgent({}, process.execPath, "-e", script);
  expect([output !== "", error]).toEqual([true, ""]);
  expect(JSON.parse(output).error).toMatchObject({
    code: "access_denied",
    message: expect.stringMatching(/^claude may not/),
  });
  await wsh.kill("by-ticket");
  server.kill("SIGTERM");
  await server.exited;
});

test("a session process with code of an agent acts for the agent", async () => {
  await wsh.session("by-code", "--", "sleep 300");
  const code = join(wsh.dir, "other-code.js");
  const words = JSON.stringify([...program, "kill", "by-code"]);
  fs.writeFileSync(
    code,
    `if (process.argv.includes("session-process")) {
      const { stderr } = Bun.spawnSync(${words}, { stderr: "pipe", env: { ...process.env, BUN_INSPECT_PRELOAD: undefined } });
      console.error(stderr.toString());
      process.exit(0);
    }`,
  );
  const { error } = await asAgent({ BUN_INSPECT_PRELOAD: code }, ...program, "session-process");
  expect(error).toContain("claude may not session.kill");
  for (const name of ["LD_LIBRARY_PATH", "BUN_TCC_OPTIONS"]) expect(givesOtherCode(`${name}=/x`)).toBe(true);
  for (const name of ["BUN_INSTALL", "BUN_JSC_useJIT", "LD_BIND_NOW"]) expect(givesOtherCode(`${name}=1`)).toBe(false);
  await wsh.kill("by-code");
});

test("a server keeps nothing for each name that an agent gives itself", async () => {
  // Not earlier than it answers: it opens more after its socket is there.
  const server = await wsh.server();
  const descriptors = (): number => fs.readdirSync(`/proc/${server.pid}/fd`).length;
  const before = descriptors();
  const script = `
    for (const name of process.argv.slice(1))
      Bun.spawnSync([process.execPath, "-e", 'await fetch("http://x/health", { unix: process.env.HTTP })'],
        { env: { ...process.env, WSH_AGENT: name } });`;
  const names = Array.from({ length: 40 }, (_, index) => `made-up-${index}`);
  const child = Bun.spawn([process.execPath, "-e", script, ...names], {
    env: { ...wsh.env, HTTP: wsh.instance.httpSocket },
  });
  expect(await child.exited).toBe(0);
  // Each name had a listening socket and its directory's descriptor.
  await until("unused ones are closed", () => descriptors() < before + 2 * 20);
  await server.kill("SIGTERM");
});

test("waiting for a process neither ends a person's program unasked, nor shows what a private session prints", async () => {
  await wsh.session("waited", "--", "sleep 300");
  await wsh.session("hidden", "--private", "--", "sh -c 'echo private-$((40 + 2)); exec sleep 300'");
  await wsh.shows("hidden", "private-42");
  const waits = { op: "process.wait", input: { max_wait_ms: 1, on_timeout: "kill" } };
  expect(await raw("waited", waits)).toEqual([expect.stringMatching(/^access_denied: claude may not process.wait/)]);
  expect(await raw("hidden", { ...waits, input: { max_wait_ms: 0 } })).toEqual([
    expect.stringMatching(/^access_denied: claude may not process.wait/),
  ]);
  expect((await wsh.list()).find(({ name }) => name === "waited")?.running).toBe(true);
  await wsh.kill("waited", "hidden");
});

test("of a private session an agent's stream learns only the name", async () => {
  await wsh.session("nameless", "--private", "--", "sleep 300");
  const [answer = ""] = await raw("nameless", { op: "peer.client" });
  expect(JSON.parse(answer)).toMatchObject({ name: "nameless", private: true, pid: null, command: "", windows: [] });
  await wsh.kill("nameless");
});

test("agents leave places for the person in the person's own session", async () => {
  await wsh.session("crowded", "--", "bash", "--norc");
  const { socket } = findSession(wsh.instance, parseTarget("crowded"));
  const script = `
    import { Connection } from "${connection}";
    const caller = { kind: "cli", id: "x", connected: true };
    let open = 0;
    for (let index = 0; index < 70; index++) {
      const { connection } = await Connection.open(${JSON.stringify(socket)}, "cli");
      await connection.request("peer.client", {}, { caller, access: "admin" }).then(() => open++, () => {});
    }
    console.log(open);
    await Bun.stdin.text();
    process.exit();`;
  const agents = ["claude", "codex"].map((agent) =>
    Bun.spawn([join(wsh.dir, "any", agent), process.execPath, "-e", script], {
      ...{ cwd: wsh.dir, env: wsh.env, stdin: "pipe", stdout: "pipe" },
    }),
  );
  const open = await Promise.all(
    agents.map(async ({ stdout }) => Number(new TextDecoder().decode((await stdout.getReader().read()).value))),
  );
  expect(Math.max(...open)).toBeLessThanOrEqual(32);
  expect(open.reduce((sum, each) => sum + each)).toBe(48);
  await using person = await EmulatorTerminal.attach(wsh, "crowded", { seen: "bash-", rows: 24, cols: 80 });
  await person.sees("bash-");
  for (const { stdin } of agents) await stdin.end();
  await Promise.all(agents.map(({ exited }) => exited));
});
