/**
 * A sandbox can use its grant and nothing else: inside bubblewrap, by the command line, by every
 * operation, by other protocols and by files; while the grant ends, and afterwards.
 */
import { afterAll, beforeAll, expect, setDefaultTimeout } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { parseTarget } from "../../src/protocol/names.ts";
import { listenerPid } from "../../src/registry/liveness.ts";
import { findSession } from "../../src/registry/registry.ts";
import { stored } from "../reliability/checkpoints/crashed-sessions.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(60_000);

const test = testWith("bwrap");
const wsh = new Wsh();
const self = program.map((word) => `'${word}'`).join(" ");
const root = join(import.meta.dir, "../..");
const run = wsh.env.XDG_RUNTIME_DIR ?? "";
/** The sandbox of docs/grants.md. */
const inside = `bwrap --ro-bind / / --dev /dev --proc /proc --unshare-pid --new-session --tmpfs ${run} --tmpfs ${wsh.env.HOME}/.local/state/wsh`;

beforeAll(async () => {
  await wsh.session("theirs");
  await wsh.session("other", "--", "bash");
});
afterAll(() => wsh[Symbol.asyncDispose]());

/** Runs shell text in the sandbox with a grant. */
function sandboxed(may: string, text: string, ...options: readonly string[]) {
  const line = `exec ${inside} --bind "$WSH_GRANT" "$WSH_GRANT" bash -c '${text.replaceAll("'", "'\\''")}'`;
  return wsh.run("grant", "--session", "theirs", "--may", may, "--in", inside, ...options, "--", line);
}

const grants = (): string[] => fs.readdirSync(join(run, "wsh")).filter((name) => name.startsWith("grant."));

test("a sandbox makes panes inside itself, types and reads there, and the person sees their owner", async () => {
  const text = `
    P=$(${self} split -- 'echo here-$((6*7)) $(env | grep -c "^WSH_SOCKET\\|^TMUX"); exec bash --norc')
    ${self} wait $P --text here-42 --since 0 >/dev/null || exit 1
    ${self} send $P 'ls ${run}/wsh; echo type-$((1+1))' --keys Enter
    ${self} wait $P --text type-2 --since 0 >/dev/null; ${self} screen $P; ${self} pane list --json; ls -l /proc/self/fd | wc -l`;
  const { code, stdout } = await sandboxed("own-panes", text);
  expect(code).toBe(0);
  expect(stdout).toContain("here-42 0");
  expect(stdout).toContain("type-2");
  expect(stdout).not.toContain("http.sock");
  const panes = (await wsh.list()).find(({ name }) => name === "theirs")?.windows.flatMap((window) => window.panes);
  expect(panes?.map(({ title }) => title).filter((title) => title.startsWith("grant: "))).toHaveLength(1);
  // stdin, stdout, stderr, and the listing's own.
  expect(stdout.trim().split("\n").at(-1)).toBe("5");
  expect(grants()).toEqual([]);
});

test("nothing else leads out: operations, streams, HTTP, MCP, tmux, attach, files", async () => {
  const before = await wsh.list();
  const attacker = `'${process.execPath}' '${join(root, "tests/support/grant-attacker.ts")}'`;
  const { stdout, stderr } = await sandboxed("ask,notify,hook,own-panes", `P=$(${self} split); ${attacker} $P`);
  if (stdout === "") throw new Error(stderr);
  // The grant's own: empty lists, panes inside the sandbox, and a report of no agent.
  const allowed = /^(agent\.report|pane\.list|window\.list|pane\.split)\b/;
  expect((JSON.parse(stdout) as string[]).filter((each) => !allowed.test(each))).toEqual([]);
  const commands = ["list", "attach theirs", "tmux ls", "kill theirs", "mcp", "events"];
  const text = commands.map((words) => `${self} ${words} </dev/null 2>&1 | head -1`).join("; ");
  const lines = (await sandboxed("own-panes", text)).stdout.trim().split("\n");
  expect(lines.filter((line) => !line.includes("is not available in this sandbox"))).toEqual([]);
  for (const name of ["theirs", "other"]) expect(await wsh.screen(name)).not.toContain("crossed-over");
  const after = await wsh.list();
  expect(after.map(({ id, name, rows, tags }) => [id, name, rows, tags])).toEqual(
    before.map(({ id, name, rows, tags }) => [id, name, rows, tags]),
  );
});

test("a pane with another program no longer belongs to the grant: restarted or restored; a delegated one does", async () => {
  await wsh.session("frail");
  const lent = (await wsh.ok("split", "other")).trim();
  const served = wsh.spawn(["grant", "--session", "frail", "--may", "own-panes", "--in", "env", "--lend", lent]);
  const path = new TextDecoder().decode((await served.stdout.getReader().read()).value).trim();
  expect([path, join(path, "..")].map((at) => fs.statSync(at).mode & 0o777)).toEqual([0o600, 0o700]);
  const by = (...args: readonly string[]) => wsh.runWith({ env: { WSH_GRANT: path } }, ...args);
  const [made, other] = [
    (await by("split", "--", "cat")).stdout.trim(),
    (await by("split", "--", "cat")).stdout.trim(),
  ];
  expect((await by("send", made, "one", "--keys", "Enter")).code).toBe(0);
  await wsh.ok("pane", "respawn", other, "--", "cat");
  expect((await by("send", other, "two", "--keys", "Enter")).stderr).toContain("no pane");
  expect((await by("send", lent, "echo lent-$((1+1))", "--keys", "Enter")).code).toBe(0);
  await until("it is typed", async () => (await wsh.ok("screen", lent)).includes("lent-2"));
  const { socket, session } = findSession(wsh.instance, parseTarget("frail"));
  await until("it is written down", () => stored(wsh, Number(made.slice(1)), session ?? 0) !== null);
  process.kill(listenerPid(socket) ?? Number.NaN, "SIGKILL");
  await until("it can be restored", async () => (await wsh.run("restore", "frail")).code === 0);
  expect((await by("send", made, "three", "--keys", "Enter")).stderr).toContain("runs another program now");
  expect(await wsh.ok("screen", made)).not.toContain("three");
  served.kill("SIGINT");
  expect(await served.exited).toBe(0);
  expect(fs.existsSync(path)).toBe(false);
  expect((await by("send", lent, "late")).stderr).toContain("has ended");
});

test("questions and messages name the asker, and close with the grant; nothing outlives it", async () => {
  await using terminal = await EmulatorTerminal.attach(wsh, "theirs", { seen: "$", rows: 24, cols: 100 });
  const asked = sandboxed("ask", `${self} ask "Go on?" --choice Yes --choice No`, "--name", "box");
  await terminal.sees(/Go on\?/);
  await terminal.sees(/Enter answers/);
  terminal.type("\r");
  expect((await asked).stdout).toBe("Yes\n");
  await sandboxed("notify", `${self} notify "hello there"`, "--name", "box");
  await terminal.sees(/box: hello there/);
  // A process that it leaves behind holds a connection, and makes another.
  const again = `${self} ask "Still there?" --choice Yes >left 2>&1; ${self} ask "Again?" --choice Yes >after 2>&1`;
  const line = `cd '${wsh.dir}'; setsid sh -c '${again}' & until [ -e go ]; do sleep 0.05; done; exit 7`;
  const ended = wsh.run("grant", "--session", "theirs", "--may", "ask", "--", line);
  await terminal.sees(/Still there\?/);
  fs.writeFileSync(join(wsh.dir, "go"), "");
  expect((await ended).code).toBe(7);
  await terminal.sees((screen) => !screen.includes("Still there?"));
  await until("what was left has ended", () => fs.existsSync(join(wsh.dir, "after")));
  await until("it is refused", () => fs.readFileSync(join(wsh.dir, "after"), "utf8").includes("has ended"));
  expect(grants()).toEqual([]);
});

test("an agent cannot grant; grants do not nest; rights and arguments are checked first", async () => {
  const claude = join(wsh.dir, "claude");
  fs.writeFileSync(claude, `#!/bin/bash\n${self} "$@"\n`, { mode: 0o700 });
  const child = Bun.spawn([claude, "grant", "--session", "theirs", "--may", "own-panes"], {
    env: wsh.env,
    stderr: "pipe",
  });
  expect(await new Response(child.stderr).text()).toContain("claude may not use wsh grant");
  for (const [args, message] of [
    [["--may", "ask,everything"], "'everything' is not a right"],
    [["--may", "ask", "--in", "bwrap $(id)"], "contains shell syntax"],
    [["--may", "ask", "--lend", "@77"], "@77"],
    [["--may", "ask", "--name", "A b"], "is not a name"],
    [["--may", "ask", "--at", join(wsh.dir, "claude")], "is in use"],
    [["--may", "ask", "--at", "/tmp/open.sock"], "accessible to others"],
  ] as const)
    expect((await wsh.run("grant", "--session", "theirs", ...args)).stderr).toContain(message);
  expect((await sandboxed("ask", `${self} grant --may ask`)).stderr).toContain("is not available in this sandbox");
});
