/** Hooks run once per event, whichever process is killed, and cannot harm the rest. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { stored } from "../reliability/checkpoints/crashed-sessions.ts";
import { PATIENCE_MS, until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

let wsh: Wsh;
const out = (name: string): string => join(wsh.dir, name);
const lines = (name: string): string[] => {
  const text = fs.existsSync(out(name)) ? fs.readFileSync(out(name), "utf8") : "";
  return text.split("\n").filter((line) => line !== "");
};

const config = `
[[on]]
event = "command_finished"
exit_code = "failed"
session = "w*"
run = ["/bin/sh", "-c", 'cat >>"$HOME/../failed"; echo "$WSH_EVENT_SESSION $WSH_EVENT_EXIT_CODE $WSH_EVENT" >>"$HOME/../variables"']

[[on]]
event = ["session_created", "session_renamed"]
tag = "marked"
do = "session.update add_tags=seen"

[[on]]
event = "window_created"
tag = "marked"
do = "window.update name=made"

[[on]]
event = "command_finished"
tag = "counted"
a_minute = 600
run = ["/bin/sh", "-c", 'printf "%s\\n" "$WSH_EVENT_COMMAND" >>"$HOME/../counted"']

[[on]]
event = "command_finished"
tag = "slow"
timeout_seconds = 4
run = ["/bin/sh", "-c", 'echo $$ >>"$HOME/../slow"; sleep 300']

[[on]]
event = "bell"
timeout_seconds = 1
run = ["/bin/sh", "-c", 'sleep 300 & echo $! >>"$HOME/../hung"; setsid sh -c "echo $$ >>$HOME/../hung; sleep 300"; sleep 300']

[[on]]
event = "bell"
timeout_seconds = 2
run = ["/bin/sh", "-c", 'yes flood']

[[on]]
event = "bell"
run = ["/no/such/program"]

[[on]]
event = "bell"
run = ["/bin/sh", "-c", 'kill -9 $$']

[[on]]
event = "bell"
a_minute = 3
run = ["/bin/sh", "-c", 'echo rang >>"$HOME/../rang"']
`;

beforeAll(() => {
  wsh = new Wsh({ config });
});
afterAll(async () => wsh[Symbol.asyncDispose]());

test("the event is on standard input and in variables; a line is carried out; no server has to be started", async () => {
  expect(await wsh.ok("config", "check")).toBe("The settings are valid, with 10 hooks.\n");
  await wsh.session("work", "--tag", "marked");
  await wsh.run("exec", "work", "--", "true");
  await wsh.run("exec", "work", "--", "(exit 7)");
  const event = await until("the hook", () => lines("failed")[0]);
  expect(JSON.parse(event)).toMatchObject({ event: "command_finished", session: "work", exit_code: 7 });
  await until("its variables", () => lines("variables").includes("work 7 command_finished"));
  expect(lines("failed")).toHaveLength(1);
  await until("the tag", async () => (await wsh.list()).find(({ name }) => name === "work")?.tags.includes("seen"));
  const tried = await wsh.ok("events", "work", "--try", "--since", "start", "--no-follow");
  expect(
    tried
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line).would[0]),
  ).toEqual([
    expect.objectContaining({ do: "session.update add_tags=seen" }),
    expect.objectContaining({ line: 2, run: expect.arrayContaining(["/bin/sh"]) }),
  ]);
  const made = (await wsh.ok("window", "new", "work")).trim();
  const names = async () =>
    (await wsh.list()).flatMap(({ windows }) => windows.flatMap(({ id, name }) => (name === "made" ? id : [])));
  expect(await until("the window of the event", async () => (await names())[0])).toBe(made);
});

test("a session's own hooks are added and removed with it", async () => {
  const hook = { event: "session_exited", run: ["/bin/sh", "-c", 'cat >>"$HOME/../own"'] };
  const created = await wsh.fetch("/sessions", {
    method: "POST",
    body: JSON.stringify({ name: "own", command: "true", on: [hook] }),
    headers: { "Content-Type": "application/json" },
  });
  expect(created.status).toBe(201);
  const event = await until("its hook", () => lines("own")[0]);
  expect(JSON.parse(event)).toMatchObject({ session: "own", exit_code: 0 });
  expect(event).not.toContain("run");
  await wsh.session("own2", "--", "true");
  const wrong: readonly (readonly [hook: object, words: string])[] = [
    [{ event: "bell" }, "'run' or 'do'"],
    [{ event: "bell", do: "no.such" }, "on.0.do: no operation 'no.such'"],
    [{ event: "bell", do: "session.update nme=x" }, "on.0.do: 'session.update' has no parameter 'nme'"],
  ];
  for (const [hook, words] of wrong) {
    const refused = await wsh.fetch("/sessions", {
      method: "POST",
      body: JSON.stringify({ name: "own3", on: [hook] }),
      headers: { "Content-Type": "application/json" },
    });
    expect(await refused.json()).toMatchObject({ error: { message: expect.stringContaining(words) } });
  }
  expect((await wsh.list()).map(({ name }) => name)).not.toContain("own3");
  expect(lines("own")).toHaveLength(1);
});

test("hooks that hang, fork, flood, die or are missing harm nothing; excess ones are left out", async () => {
  await wsh.session("bells");
  for (let at = 0; at < 5; at++) await wsh.exec("bells", "printf '\\a'");
  await until("hooks that hang", () => lines("hung").length > 0);
  const began = performance.now();
  expect(await wsh.ok("exec", "bells", "--", "echo still-here")).toContain("still-here");
  // Far from the end of one that hangs, on a busy machine, too.
  expect(performance.now() - began).toBeLessThan(PATIENCE_MS);
  await until("those that behave", () => lines("rang").length === 3);
  await until("the end of those that hang", () => lines("hung").every((pid) => !fs.existsSync(`/proc/${pid}`)));
  const log = await until("the log", () => {
    const text = fs.readFileSync(wsh.instance.serverLog, "utf8");
    const said = ["killed at its time limit", "SIGKILL", "127", "too often within a minute"];
    return said.every((words) => text.includes(words)) ? text : null;
  });
  expect(log.length).toBeLessThan(200_000);
  expect(lines("rang")).toHaveLength(3);
});

test("each runs once, however often the server is killed", async () => {
  await wsh.session("many", "--tag", "counted");
  const count = 24;
  for (let at = 0; at < count; at++) {
    await wsh.exec("many", `echo ${at}`);
    if (at % 8 !== 4) continue;
    // The one that an event starts may still be starting.
    await until("a server", () => wsh.isServing());
    const { pid } = (await (await wsh.fetch("/server/info", { keepalive: false })).json()) as { pid: number };
    process.kill(pid, "SIGKILL");
  }
  await until("all hooks", () => lines("counted").length >= count);
  expect(lines("counted").sort()).toEqual(Array.from({ length: count }, (_, at) => `echo ${at}`).sort());
}, 60_000);

test("the time limit of one that outlives its server counts from its start", async () => {
  await wsh.session("slow", "--tag", "slow");
  await wsh.exec("slow", "true");
  const pid = await until("the hook", () => lines("slow")[0]);
  await wsh.killServer();
  expect(fs.existsSync(`/proc/${pid}`)).toBe(true);
  await wsh.ok("server", "--ensure");
  await until("its end", () => !fs.existsSync(`/proc/${pid}`));
  expect(lines("slow")).toHaveLength(1);
});

test("a session's own hooks are restored with it", async () => {
  await wsh.ok("server", "--ensure");
  const hook = { event: "session_renamed", run: ["/bin/sh", "-c", 'echo renamed >>"$HOME/../back"'] };
  const created = await wsh.fetch("/sessions", {
    method: "POST",
    body: JSON.stringify({ name: "back", on: [hook] }),
    headers: { "Content-Type": "application/json" },
  });
  expect(created.status).toBe(201);
  const { id, pane_id } = (await created.json()) as { id: string; pane_id: string };
  const [session = 0, pane = 0] = [id.slice(2), pane_id.slice(1)].map(Number);
  await until("its checkpoint", () => stored(wsh, pane, session));
  await wsh.killHost(-1);
  await until("the crash", async () => (await wsh.ok("list", "--all")).includes("crashed"));
  await wsh.ok("restore", "back");
  await wsh.ok("rename", "back", "back2");
  await until("its hook", () => lines("back").length === 1);
});

test("an error names its line, value and the allowed values, and keeps nobody from a terminal", async () => {
  await using other = new Wsh({ config: 'log_level = "warn"\n\n[[on]]\nevent = "bel"\nrun = ["true"]\n' });
  const { code, stderr } = await other.run("config", "check");
  expect(code).not.toBe(0);
  expect(stderr).toContain('config.toml:4: [[on]] event is "bel", expected one of session_created, ');
  const made = await other.run("new", "dev");
  expect(made).toMatchObject({
    code: 0,
    stdout: "dev\n",
    stderr: expect.stringMatching(/:4: \[\[on\]\] event .*: it is ignored/),
  });
  expect(await other.ok("exec", "dev", "--", "echo here")).toBe("here\n");
  fs.writeFileSync(other.instance.configFile, '[[on]]\nevent = "bell"\ndo = "no.such thing=1"\n');
  expect((await other.run("config", "check")).stderr).toContain("config.toml:1: [[on]] do: no operation 'no.such'");
  // A target that no session can have; one that does not exist yet is valid.
  const targeted = (target: string) => `[[on]]\nevent = "bell"\ndo = "session.update session=${target} add_tags=x"\n`;
  fs.writeFileSync(other.instance.configFile, targeted("@zz"));
  expect((await other.run("config", "check")).stderr).toContain('config.toml:1: [[on]] do: no session "@zz": an id is');
  fs.writeFileSync(other.instance.configFile, targeted("build1/later:0.1"));
  expect(await other.run("config", "check")).toMatchObject({ code: 0 });
});

test("every mistake of the settings is listed, each with what is valid", async () => {
  const config = [
    'status_position = "left"\nstatuss = "on"\nprefix_key = "C-i"',
    '[keys]\n"zz" = "pane.split"\n"g" = "pane.nope"\n"h" = "input.send keys=Entre"',
    '[[on]]\nevent = "bel"\nrun = ["x"]\n[[on]]\nevent = "bell"\ndo = "no.op"',
    '[[notify]]\nway = "pigeon"\n[[notify]]\nway = "ntfy"\nurl = "https://ntfy.sh/x"\ntoken_file = "/nonexistent"\n',
  ];
  await using other = new Wsh({ config: config.join("\n") });
  const { code, stderr, stdout } = await other.run("config", "check");
  expect([code, stdout]).toEqual([1, ""]);
  const expected: readonly [line: number, text: string][] = [
    [1, 'status_position is "left", expected one of bottom, top'],
    [2, "unknown setting 'statuss'\n     Did you mean status?"],
    [3, "prefix_key Ctrl+i is the Tab key"],
    [5, '[keys] "zz": unknown key "zz"'],
    [6, "[keys] \"g\": no operation 'pane.nope'"],
    [7, '[keys] "h": unknown key "Entre"; near: Enter'],
    [9, '[[on]] event is "bel"'],
    [11, "[[on]] do: no operation 'no.op'"],
    [15, '[[notify]] way is "pigeon"'],
    [16, "[[notify]] token_file: ENOENT"],
  ];
  for (const [line, text] of expected) expect(stderr).toContain(`config.toml:${line}: ${text}`);
  expect(stderr.match(/^wsh: /gm)).toHaveLength(expected.length);
  // A reload reports them as well, and changes nothing.
  expect(await other.run("config", "reload")).toMatchObject({ code: 1, stdout: "", stderr });
});
