/** What a person's decisions about AI agents reach, and the words about them: open calls, notices, `--forget`, labels. */
import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { answerDialog, isDialogOpen } from "../support/terminals/dialog-answer.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { program } from "../support/wsh-program.ts";

setDefaultTimeout(60_000);

interface Notice {
  readonly message: string;
  readonly actions: readonly { readonly label: string; readonly url: string }[];
}
const notices: Notice[] = [];
const service = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    notices.push((await request.json()) as Notice);
    return new Response("ok");
  },
});
let wsh: Wsh;
let claude: string;
beforeAll(() => {
  const config = `audit = true
public_url = "https://box.example"
[[notify]]
way = "ntfy"
for = ["question"]
session = "noticed"
url = "http://127.0.0.1:${service.port}/topic"
`;
  wsh = new Wsh({ config });
  claude = join(wsh.dir, "claude");
  const self = program.map((word) => `'${word}'`).join(" ");
  fs.writeFileSync(claude, `#!/bin/bash\n${self} "$@"\n`, { mode: 0o700 });
});
afterAll(async () => {
  await service.stop(true);
  await wsh[Symbol.asyncDispose]();
});

async function byAgent(...args: readonly string[]) {
  const child = Bun.spawn([claude, ...args], { cwd: wsh.dir, env: wsh.env, stdout: "pipe", stderr: "pipe" });
  const [output, error] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { code: await child.exited, output, error };
}

/** A session of a person, who is at its terminal. */
async function personAt(name: string): Promise<EmulatorTerminal> {
  await wsh.session(name, "--", "sh", "-c", "echo begun; exec cat");
  return EmulatorTerminal.attach(wsh, name, { seen: "begun", rows: 24, cols: 100 });
}

/** Numbers of a dialog's answers. */
const answers = { once: "1", session: "2", no: "4" } as const;

const answer = (terminal: EmulatorTerminal, about: RegExp, choice: keyof typeof answers): Promise<string> =>
  answerDialog(terminal, about, answers[choice]);

const questions = async (session: string): Promise<number> =>
  JSON.parse(await wsh.ok("ask", "--list", "--session", session, "--json")).length;

test("a person is not asked about a call that is refused whatever the answer", async () => {
  await using terminal = await personAt("valid");
  const refused = await byAgent("send", "valid", "--keys", "Entre");
  expect([refused.code, refused.error]).toEqual([1, expect.stringContaining('unknown key "Entre"')]);
  expect(refused.error).not.toContain("waiting for a person");
  const valid = byAgent("send", "valid", "--keys", "Enter");
  await answer(terminal, /\["Enter"\]/, "no");
  expect((await valid).error).toContain("has not allowed it");
});

test("one No answers the same call of an agent that is already queued; another call is asked about", async () => {
  await using terminal = await personAt("queued");
  const same = [1, 2, 3].map(() => byAgent("send", "queued", "same"));
  await until("all are asked about", async () => (await questions("queued")) === 3);
  const other = byAgent("send", "queued", "other");
  await until("the other one, too", async () => (await questions("queued")) === 4);
  await answer(terminal, /"same"/, "no");
  const errors = (await Promise.all(same)).map(({ code, error }) => [
    code,
    /has (not allowed|just refused) it/.test(error),
  ]);
  expect(errors).toEqual([1, 2, 3].map(() => [1, true]));
  await answer(terminal, /"other"/, "once");
  expect((await other).code).toBe(0);
  await terminal.sees((text) => text.includes("other") && !isDialogOpen(text));
  expect(await terminal.text()).not.toContain("same");
});

test("an answer for the session lets the agent's queued calls pass, and only that agent's", async () => {
  fs.copyFileSync(claude, join(wsh.dir, "codex"));
  await using terminal = await personAt("open");
  const first = byAgent("send", "open", "one ");
  await until("it is asked about", async () => (await questions("open")) === 1);
  const second = byAgent("send", "open", "two ");
  const third = Bun.spawn([join(wsh.dir, "codex"), "send", "open", "three"], { env: wsh.env, stderr: "pipe" });
  await until("all are asked about", async () => (await questions("open")) === 3);
  await answer(terminal, /"one "/, "session");
  expect([(await first).code, (await second).code]).toEqual([0, 0]);
  await answer(terminal, /the agent "codex"/, "no");
  expect(await third.exited).toBe(1);
});

test("a notice asks about at most 160 characters, and shows all of them", async () => {
  await wsh.server();
  await wsh.session("noticed", "--", "cat");
  const { error: tooLong } = await byAgent("send", "noticed", "x".repeat(300));
  const [, length = "0"] = /shown to a person: (\d+) characters, at most 160/.exec(tooLong) ?? [];
  const room = 160 - (Number(length) - 300);
  expect((await byAgent("send", "noticed", "x".repeat(room + 1))).error).toContain("161 characters, at most 160");
  expect(notices).toEqual([]);
  const asked = byAgent("send", "noticed", "x".repeat(room));
  const { message, actions } = await until("the notice", () => notices[0]);
  expect(message).toContain(`{"data":"${"x".repeat(room)}"`);
  expect(actions.map(({ label }) => label)).toEqual(["Once", "In this session", "No"]);
  const path = actions.find(({ label }) => label === "No")?.url.replace("https://box.example", "") ?? "";
  expect((await wsh.fetch(path, { method: "POST" })).status).toBe(200);
  expect((await asked).error).toContain("the person has not allowed it");
});

test("wsh agents --forget says who may still, and who was never allowed; an agent may not use it", async () => {
  expect(await wsh.run("agents", "--forget", "nobody")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/agent 'nobody' has not been allowed\n.*No agent has been allowed\./),
  });
  for (const name of ["gemini", "amp"]) await wsh.ok("agents", "--allow", name);
  expect((await wsh.run("agents", "--forget", "Gemini")).stderr).toMatch(
    /agent 'Gemini' has not been allowed\n.*Allowed: 'gemini', 'amp'\./,
  );
  const refused = await byAgent("agents", "--forget", "amp");
  expect(refused).toMatchObject({ code: 1, error: expect.stringContaining("claude may not use wsh agents --forget") });
  expect(await wsh.ok("agents", "--forget", "gemini")).toMatch(/^AGENT +SINCE\namp +\d{4}-\d\d-\d\d\n$/);
  expect(JSON.parse(await wsh.ok("agents", "--allowed", "--json"))).toEqual([
    { name: "amp", since: expect.any(Number) },
  ]);
  expect(await wsh.ok("agents", "--forget", "amp")).toMatch(/^No agent may change what it .*\.\n$/);
});

test("a label that two owners have used under one name is refused until the session is named by its id", async () => {
  await wsh.session("name", "--", "sleep", "300");
  await wsh.ok("checkpoint", "save", "name", "good");
  const person = (await wsh.list()).find(({ name }) => name === "name")?.id ?? "";
  await wsh.kill("name");
  expect((await byAgent("new", "name", "--", "sleep", "300")).code).toBe(0);
  const agents = (await wsh.list()).find(({ name }) => name === "name")?.id ?? "";
  expect((await byAgent("checkpoint", "save", "name", "good")).code).toBe(0);
  for (const line of [
    ["show", "name", "good"],
    ["delete", "name", "good"],
    ["restore", "name", "good", "--as", "again"],
  ]) {
    const { code, stderr } = await wsh.run("checkpoint", ...line);
    expect([line[0], code, stderr]).toEqual([line[0], 1, expect.stringContaining("Name the session by its id.")]);
    expect(stderr).toContain("checkpoint 'good' of 'name' may be that of session");
    for (const owner of [`${person} of a person`, `${agents} of the agent "claude"`]) expect(stderr).toContain(owner);
  }
  expect((await byAgent("checkpoint", "delete", person, "good")).error).toContain("claude may not");
  await wsh.ok("checkpoint", "delete", agents, "good");
  expect(await wsh.ok("checkpoint", "show", person, "good")).not.toBe("");
  await wsh.kill("name");
});

/** The processes of a directory of the test, by their command lines. */
const running = (part: string) => wsh.processes().filter(({ command }) => command.includes(part));

test("the pipes of an agent end when the session becomes private or its permission is taken back, and a record says so; a person's go on", async () => {
  await using terminal = await personAt("piped");
  const own = join(wsh.dir, "person.out");
  await wsh.ok("split", "piped", "--", "cat");
  const panes = JSON.parse(await wsh.ok("pane", "list", "piped", "--json")).map(({ id }: { id: string }) => id);
  const [first = "", second = ""] = panes.map((id: string) => id.replace("@", "%"));
  // One reads nothing, and ends by no signal but the last.
  const stubborn = `trap "" TERM; sleep 4001 & sleep 4002; wait`;
  const reading = byAgent("tmux", "pipe-pane", "-t", first, stubborn);
  await answer(terminal, /pipe-pane trap/, "once");
  expect(await reading).toMatchObject({ code: 0, error: expect.stringContaining("waiting for a person") });
  await wsh.ok("tmux", "pipe-pane", "-t", second, `cat >${own}`);
  // One types, until its permission is taken back.
  const third = (
    await wsh.ok("tmux", "split-window", "-dP", "-F", "#{pane_id}", "-t", "piped", "read go; exec yes")
  ).trim();
  await wsh.ok("agents", "--allow", "claude");
  expect((await byAgent("tmux", "pipe-pane", "-I", "-t", third, "sleep 4003")).code).toBe(0);
  await wsh.ok("agents", "--forget", "claude");
  await until("it has ended", () => running("sleep 4003").length === 0);
  const told = (pane: string, why: string) =>
    until("its message", async () =>
      (await wsh.ok("tmux", "show-messages")).includes(`the pipe of claude at pane ${pane} has ended: ${why}`),
    );
  await told(third, "its permission was taken back");
  // The stream of a pane that floods is not read while the command reads nothing.
  await wsh.ok("send", third.replace("%", "@"), "", "--enter");
  const flooded = byAgent("tmux", "pipe-pane", "-t", third, "sleep 4004");
  await answer(terminal, /pipe-pane sleep 4004/, "once");
  expect((await flooded).code).toBe(0);
  await until("all run", () => running("sleep 400").length >= 3 && running(own).length > 0);
  await wsh.ok("private", "piped", "on");
  await until("the agent's have ended", () => running("sleep 400").length === 0);
  expect(running(own).length).toBeGreaterThan(0);
  await told(first, "its session is private now");
  expect(await wsh.ok("tmux", "display-message", "-p", "-t", first, "#{pane_pipe}")).toBe("0\n");
  const log = join(wsh.instance.stateDir, `${wsh.instance.fileName}.audit.log`);
  const endsNow = () =>
    fs
      .readFileSync(log, "utf8")
      .split("\n")
      .filter((line) => line.includes("end:peer.raw"));
  const ends = await until("all ends to be logged", () => (endsNow().length >= 3 ? endsNow() : null));
  expect(ends.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ target: "piped", result: "access_denied" }),
    ...[1, 2].map(() => expect.objectContaining({ target: "piped", result: "private" })),
  ]);
  await wsh.kill("piped");
});

test("of tmux's options an agent sets decoration in a person's window unasked, and is asked about all others before they change", async () => {
  fs.mkdirSync(join(wsh.dir, "own"), { recursive: true });
  const own = join(wsh.dir, "own", "claude");
  fs.writeFileSync(own, '#!/bin/bash\n"$@"\n', { mode: 0o700 });
  await wsh.session("team", "--", own, "sleep", "300");
  await until("the agent is seen", async () => (await wsh.call("team", "session.get", {})).agent !== undefined);
  const ids = (await wsh.ok("tmux", "list-panes", "-t", "team", "-F", "#{pane_id}")).trim();
  await wsh.ok("split", "team", "--", "sleep", "300");
  const person = (await wsh.ok("tmux", "list-panes", "-t", "team", "-F", "#{pane_id}")).trim().split("\n").at(-1) ?? "";
  const made = (await byAgent("tmux", "split-window", "-dP", "-F", "#{pane_id}", "-t", ids, "sleep 300")).output.trim();
  const set = (...words: readonly string[]) => byAgent("tmux", ...words);
  const unasked = [
    ["set-option", "-w", "-t", "team", "pane-border-status", "top"],
    ["set-option", "-w", "-t", "team", "pane-border-format", "#[fg=cyan,bold] #{pane_title} #[default]"],
    ["set-option", "-p", "-t", made, "pane-border-style", "fg=red"],
    ["set-option", "-p", "-t", made, "pane-active-border-style", "fg=red"],
    ["set-option", "-p", "-t", made, "window-style", "bg=default"],
    ["set-option", "-p", "-t", made, "@role", "tester"],
    ["set-option", "-p", "-t", made, "remain-on-exit", "failed"],
    ["set-option", "-wu", "-t", "team", "pane-border-status"],
    ["select-pane", "-t", made, "-T", "tester"],
    ["select-pane", "-t", person, "-g"],
  ];
  // One command line; the last command prints.
  expect(await set(...unasked.flatMap((line) => [...line, ";"]))).toEqual({ code: 0, output: "default\n", error: "" });
  const refused = [
    ["set-option", "-w", "-t", "team", "synchronize-panes", "on"],
    ["set-option", "-p", "-t", made, "synchronize-panes", "on"],
    ["set-option", "-w", "-t", "team", "remain-on-exit", "on"],
    ["set-option", "-p", "-t", person, "remain-on-exit", "on"],
    ["set-option", "-w", "-t", "team", "automatic-rename", "off"],
    ["set-option", "-w", "-t", "team", "@role", "x"],
    ["set-option", "-p", "-t", person, "@role", "x"],
    ["set-window-option", "-t", "team", "mode-keys", "vi"],
    ["set-window-option", "-t", "team", "main-pane-width", "1"],
    ["set-option", "-w", "-t", "team", "pane-border-format", "#(touch evil)"],
    ["set-option", "-w", "-t", "team", "pane-border-format", "#{E:@role}"],
    ["set-option", "-p", "-t", person, "window-style", "fg=#{@role}"],
    ["select-pane", "-t", person, "-P", "fg=#(touch evil)"],
  ];
  const options = async (): Promise<string> =>
    (
      await Promise.all(
        [
          ["-w", "-t", "team"],
          ["-p", "-t", made],
          ["-p", "-t", person],
        ].map((of) => wsh.ok("tmux", "show-options", ...of)),
      )
    ).join("--");
  const before = await options();
  for (const line of refused)
    expect([line, (await set(...line)).error]).toEqual([line, expect.stringContaining("claude may not")]);
  expect(await options()).toBe(before);
  // One question for what is one change, in the words of what it does.
  await using terminal = await EmulatorTerminal.attach(wsh, "team", { seen: "", rows: 24, cols: 100 });
  await until("a person is there", async () => (await wsh.list()).some(({ attached }) => attached > 0));
  const synchronized = set("set-option", "-w", "-t", "team", "synchronize-panes", "on");
  await answer(terminal, /"synchronized":true/, "once");
  expect(await synchronized).toMatchObject({ code: 0 });
  expect((await wsh.list()).find(({ name }) => name === "team")?.windows[0]?.synchronized).toBe(true);
  const named = set("set-option", "-w", "-t", "team", "@role", "x");
  await answer(terminal, /set-option @role x/, "no");
  expect((await named).code).toBe(1);
  const closed = set("kill-pane", "-t", person);
  const text = await terminal.sees(/act on session 'team'.*pane @\d+, which runs.*Enter answers/s);
  expect(text).toContain("End a pane's program");
  expect(text).not.toContain("Show this in another session");
  await answer(terminal, /act on session 'team'/, "no");
  expect((await closed).code).toBe(1);
  await wsh.kill("team");
});

test("a popup of an agent, which gets the person's keys, is closed when the session becomes private; a person's stays", async () => {
  await wsh.server();
  await using terminal = await personAt("popped");
  const open = async (text: string, extra: Readonly<Record<string, string>>) => {
    const headers = { "Content-Type": "application/json", ...extra };
    const body = JSON.stringify({ command: `echo ${text}; exec sleep 300` });
    expect((await wsh.fetch("/sessions/popped/popup", { method: "POST", headers, body })).status).toBeLessThan(300);
    await terminal.sees(text);
  };
  await open("persons-popup", {});
  await wsh.ok("agents", "--allow", "claude");
  await open("agents-popup", { "Wsh-Agent": "claude" });
  await wsh.ok("agents", "--forget", "claude");
  await wsh.ok("private", "popped", "on");
  await terminal.sees((text) => text.includes("persons-popup") && !text.includes("agents-popup"));
  await wsh.kill("popped");
});

test("an agent's hooks on a person's session run until it is private, and a person's go on", async () => {
  await wsh.session("hooked", "--", "sleep", "300");
  const file = (name: string): string => join(wsh.dir, `hook-${name}`);
  const ran = (name: string): number => (fs.existsSync(file(name)) ? fs.readFileSync(file(name), "utf8").length : 0);
  const hook = (name: string) => [
    "set-hook",
    "-at",
    "hooked",
    "after-rename-window",
    `run-shell "echo >>${file(name)}"`,
  ];
  await wsh.ok("agents", "--allow", "claude");
  expect((await byAgent("tmux", ...hook("agent"))).code).toBe(0);
  await wsh.ok("tmux", ...hook("person"));
  await wsh.ok("agents", "--forget", "claude");
  await wsh.ok("tmux", "rename-window", "-t", "hooked", "one");
  expect([ran("agent"), ran("person")]).toEqual([1, 1]);
  await wsh.ok("private", "hooked", "on");
  await wsh.ok("tmux", "rename-window", "-t", "hooked", "two");
  expect([ran("agent"), ran("person")]).toEqual([1, 2]);
  await wsh.kill("hooked");
});
