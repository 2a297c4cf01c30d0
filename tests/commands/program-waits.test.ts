/** Programs that ask, wait, sleep and draw are distinguished, and answered when they are ready again. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(30_000);
const isLinux = process.platform === "linux";

let api: SessionApi;
const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });
beforeAll(async () => {
  api = await SessionApi.shell(http, "dev", { shell: "bash" });
});

describe.if(isLinux)("run returns", () => {
  test("when the command has ended, after any silence", async () => {
    const result = await api.run("sleep 2.1; echo done\n");
    expect(result).toMatchObject({ decided_by: "command_finished", output: "done", exit_code: 0 });
  });

  test("after the requested silence, though the program works; input for it is reported as pending", async () => {
    const began = await api.run("sh -c 'while :; do :; done'\n", { timeout_ms: 300 });
    expect(began).toMatchObject({ decided_by: "idle", state: "running", command_id: expect.any(Number) });
    expect(await api.run("typed\n", { timeout_ms: 300 })).toMatchObject({
      warnings: [expect.stringContaining("does not read its input now")],
    });
    expect(await api.run("", { keys: ["Ctrl+C"] })).toMatchObject({ exit_code: 130 });
  });

  test("when a condition holds after the last input; still running is not an error", async () => {
    const ready = await api.run("echo r''eady; sleep 30\n", { until: [{ type: "text", text: "ready" }] });
    expect(ready).toMatchObject({ decided_by: "text", match: "ready", output: "ready", state: "running" });
    const running = await api.run("", { until: [{ type: "text", text: "never" }], max_wait_ms: 200 });
    expect(running).toMatchObject({ decided_by: "timeout", state: "running", command_id: ready.command_id });
    await api.run("", { keys: ["Ctrl+C"] });
  });

  test("with all commands that ended meanwhile", async () => {
    const { commands } = await api.run("true\nfalse\n(exit 5)\n");
    expect(commands).toMatchObject([
      { command: "true", exit_code: 0 },
      { command: "false", exit_code: 1 },
      { command: "(exit 5)", exit_code: 5 },
    ]);
  });

  test("when the program waits for a line, and again when it waits for the next", async () => {
    const asked = await api.run("read -p 'Name? ' name; read -p 'Age? ' age; echo $name $age\n");
    expect(asked).toMatchObject({ decided_by: "waiting_for_input", prompt: "Name? " });
    const again = await api.run("Ann\n");
    expect(again).toMatchObject({ decided_by: "waiting_for_input", prompt: "Age? " });
    expect(await api.run("7\n")).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
    expect((await api.output(`command_id=${(await api.commands()).at(-1)?.id}`)).text).toContain("Ann 7");
  });

  test("when the program asks for a password, which is displayed nowhere", async () => {
    const asked = await api.run("read -s -p '[sudo] password: ' secret; echo; test $secret\n");
    expect(asked).toMatchObject({ decided_by: "password", prompt: expect.stringContaining("password:") });
    const done = await api.run("hunter2\n");
    expect(done).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
    expect(JSON.stringify(await api.output("lines=100"))).not.toContain("hunter2");
  });

  test.skipIf(isMissing("python3"))("when a REPL is ready again", async () => {
    const begun = await api.run("python3 -q\n");
    expect(begun).toMatchObject({ decided_by: "waiting_for_input", prompt: ">>> " });
    const slow = await api.run("import time; time.sleep(0.8); 6*7\n");
    expect(slow).toMatchObject({ decided_by: "waiting_for_input", output: expect.stringMatching(/^42$/m) });
    expect(await api.run("exit()\n")).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
  });

  test("at the first activity, when no silence is requested", async () => {
    const first = await api.run("sleep 1; echo late\n", { timeout_ms: 0 });
    expect(first).toMatchObject({ decided_by: "idle" });
    expect(first.exit_code).toBeUndefined();
    await api.until("prompt");
  });

  test("never the earlier screen, and warns when nothing was submitted", async () => {
    await api.until({ type: "idle", ms: 300 });
    // Less than it has been silent before, and longer than a shell pauses between the output and the end of a command.
    const { screen, exit_code } = await api.run("echo fr''esh\n", { timeout_ms: 250 });
    expect(screen.lines.join("\n")).toContain("\nfresh");
    expect(exit_code).toBe(0);
    const unsent = await api.run("echo not sent");
    expect(unsent.warnings).toEqual([expect.stringMatching(/without Enter/)]);
    expect((await api.run("", { keys: ["Ctrl+C"] })).warnings).toBeUndefined();
  });

  test("with an error that reports what it saw, on a timeout", async () => {
    const late = await http.post("/sessions/dev/run", { input: "sleep 30\n", max_wait_ms: 300 });
    expect(late).toMatchObject({
      status: 408,
      body: {
        error: {
          code: "idle_timeout",
          message: expect.any(String),
          hint: expect.stringMatching(/[Dd]o not send it again/),
        },
        screen: { rows: 24 },
        generation: expect.any(Number),
        output_cursor: expect.any(Number),
        decided_by: "timeout",
      },
    });
    await api.press("Ctrl+C");
    await api.until("prompt");
  });
});

describe.if(isLinux)("the state shows", () => {
  test("prompt when a command has ended, though the prompt may not be printed yet", async () => {
    for (let round = 0; round < 10; round++) {
      const { command_id } = await api.exec("sleep 0.05", { background: true });
      expect(await api.until("command_finished", { command_id })).toMatchObject({ state: "prompt" });
    }
  });

  test.skipIf(isMissing("python3"))("where a REPL ends, and only what came after the input is output", async () => {
    await api.run("python3 -q\n", { max_wait_ms: 10_000 });
    expect((await api.run("print(40 + 2)\n")).output).toBe("42");
    const left = await api.run("exit()\n");
    expect(left).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
    expect(left.output).not.toContain("42");
    await api.until("prompt");
  });

  test("that a sleep is not finished work", async () => {
    const { command_id } = await api.exec("sleep 4", { background: true });
    const idle = await api.wait(["prompt", "waiting_for_input", { type: "idle", ms: 500 }]);
    expect(idle).toMatchObject({ decided_by: "idle", state: "running" });
    expect(await api.status()).toMatchObject({ state: "running", decided_from: "kernel", relay: false });
    expect(await api.until("command_finished", { command_id })).toMatchObject({ command: { exit_code: 0 } });
  });

  test.skipIf(isMissing("git", "vim"))("an editor from a question and from work, in a rebase", async () => {
    const repo = join(wsh.dir, "repo");
    fs.mkdirSync(repo);
    const editor = join(wsh.dir, "editor");
    fs.writeFileSync(editor, `#!/bin/sh\nexec vim -u NONE "$@"\n`, { mode: 0o755 });
    const git = "git -c user.name=a -c user.email=a@b";
    await api.exec(`cd ${repo} && git init -q && for i in 1 2; do echo $i >f; git add f; ${git} commit -qm $i; done`);
    const begun = await api.run(`GIT_EDITOR=${editor} ${git} rebase -i --root\n`, { max_wait_ms: 10_000 });
    expect(begun.screen.lines.join("\n")).toContain("pick");
    expect(await api.status()).toMatchObject({ state: "fullscreen" });
    expect(await http.post("/sessions/dev/exec", { command: "true" })).toMatchObject({ status: 409 });
    const rows = await api.output("lines=50");
    expect(rows.alternate_screen).toBe(true);
    expect(rows.text).toContain("pick");
    const done = await api.run(":wq\n");
    expect(done).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
    expect((await api.output("lines=5")).alternate_screen).toBeUndefined();
    await api.exec("cd");
  });

  test("the foreground program, its directory, and how long it has been quiet", async () => {
    const { command_id } = await api.exec("cd /tmp; cat", { background: true });
    await api.until("waiting_for_input");
    expect(await api.status()).toMatchObject({
      alive: true,
      state: "waiting_for_input",
      why: expect.stringContaining("cat"),
      foreground: { name: "cat", command_line: "cat" },
      cwd: "/tmp",
      idle_ms: expect.any(Number),
      last_command: { id: command_id, command: "cd /tmp; cat", state: "running" },
      human_typing: false,
      modes: { alternate_screen: false, bracketed_paste: false },
      shell_integration: { active: true, shell: "bash" },
      output_cursor: expect.any(Number),
      exit_code: null,
      signal: null,
    });
    await api.press("Ctrl+D");
    await api.until("prompt");
    await api.exec("cd");
  });
});

describe("waiting", () => {
  test("for a text ignores its echo and earlier text", async () => {
    const needle = `needle${process.pid}`;
    await api.exec(`echo ${needle}`);
    const waiting = api.wait([{ type: "text", text: needle }], { max_wait_ms: 10_000 });
    await api.type(`sleep 1; echo ${needle} # ${needle}\n`);
    const found = await waiting;
    expect(found).toMatchObject({ decided_by: "text", match: needle });
    const { text } = await api.output("lines=100");
    const lines = (text ?? "").split("\n");
    const { first_line_id } = await api.output("lines=100");
    expect(lines[(found.line_id ?? 0) - (first_line_id ?? 0)]).toBe(needle);
    await api.until("prompt");
  });

  test("from a cursor sees later output, with the groups of a pattern", async () => {
    const { output_cursor: since } = await api.exec("true");
    await api.exec("echo port=8080");
    const found = await api.wait([{ type: "regex", pattern: "^port=(\\d+)(x)?$" }], { since, max_wait_ms: 10_000 });
    expect(found).toMatchObject({ decided_by: "regex", match: "port=8080", groups: ["8080", null] });
    const later = await api.wait([{ type: "regex", pattern: "^port=" }], {
      since: found.output_cursor,
      max_wait_ms: 0,
    });
    expect(later).toMatchObject({ decided_by: "timeout" });
  });

  test("for the bell and for the end", async () => {
    const bell = api.wait(["bell"], { max_wait_ms: 10_000 });
    await api.type("sleep 1; printf '\\a'\n");
    expect(await bell).toMatchObject({ decided_by: "bell" });
    await http.create({ name: "ends", command: "read x; exit 3" });
    const ends = new SessionApi(http, "ends").wait(["exited"], { max_wait_ms: 10_000 });
    await http.type("ends", "\n");
    expect(await ends).toMatchObject({ decided_by: "exited", state: "exited" });
    await api.until("prompt");
  });

  test("in several sessions, or those with a tag: the first to match decides", async () => {
    const one = await SessionApi.shell(http, "one", { shell: "bash", tags: ["pair"] });
    const two = await SessionApi.shell(http, "two", { shell: "bash", tags: ["pair"] });
    const any = (fields: object) => http.expect<{ session: string | null }>(200, http.post("/wait", fields));
    const text = [{ type: "text", text: "ready" }];
    const byTag = any({ any_of: text, tag: ["pair"], max_wait_ms: 10_000 });
    await two.type("sleep 1; echo rea''dy\n");
    expect(await byTag).toMatchObject({ session: "two", decided_by: "text", match: "ready" });
    await two.until("prompt");
    const { output_cursor } = await one.exec("echo ready");
    const since = { one: output_cursor, two: (await two.status()).output_cursor };
    const nothing = await any({ any_of: text, sessions: ["one", "two"], since, max_wait_ms: 50 });
    expect(nothing).toMatchObject({
      session: null,
      decided_by: "timeout",
      output_cursors: { one: expect.any(Number), two: expect.any(Number) },
    });
    const found = await any({ any_of: text, sessions: ["one", "two"], since: { ...since, one: 0 } });
    expect(found).toMatchObject({ session: "one", decided_by: "text" });
    expect(await http.post("/wait", { any_of: text, tag: ["nobody"] })).toMatchObject({ status: 404 });
    expect(await http.post("/wait", { any_of: text, sessions: ["nobody"] })).toMatchObject({ status: 404 });
  });

  test("ends with its connection and leaves nothing behind", async () => {
    const own = new AbortController();
    const waits = Array.from({ length: 20 }, () =>
      http
        .post("/sessions/dev/wait", { any_of: ["bell"], max_wait_ms: 60_000 }, { signal: own.signal })
        .catch(() => null),
    );
    const run = http.post("/sessions/dev/run", { input: "sleep 4\n" }, { signal: own.signal }).catch(() => null);
    await until("the sleep", async () => (await api.status()).last_command?.command === "sleep 4");
    own.abort();
    await Promise.all([...waits, run]);
    // The started command continues.
    expect(await api.status()).toMatchObject({ state: "running", last_command: { command: "sleep 4" } });
    expect(await api.until("command_finished")).toMatchObject({ command: { exit_code: 0 } });
  });

  test("with an exponential pattern delays nothing", async () => {
    const pattern = { type: "regex", pattern: "(a*)*(a|b)*b$" } as const;
    const { waiting } = await within(4_500, async () => {
      const waiting = api.wait([pattern], { max_wait_ms: 5_000 });
      expect(await api.exec(`printf '%s\\n' ${"a".repeat(2000)}; echo c`)).toMatchObject({ exit_code: 0 });
      return { waiting };
    });
    expect(await waiting).toMatchObject({ decided_by: "timeout" });
  });
});

describe("output", () => {
  test("since a cursor misses nothing and repeats nothing", async () => {
    let since = (await api.exec("true")).output_cursor ?? 0;
    const { command_id } = await api.exec("for i in 1 2 3; do echo line $i; sleep 0.1; done", { background: true });
    let all = "";
    for (let ended = false; !ended; ) {
      ended = (await api.get<{ state: string }>(`commands/${command_id}`)).state !== "running";
      const more = await api.output(`since=${since}&wait_ms=${ended ? 0 : 5000}`);
      all += more.text ?? "";
      since = more.output_cursor;
    }
    expect(all.match(/^line \d$/gm)).toEqual(["line 1", "line 2", "line 3"]);
  });

  test("that arrives later is waited for", async () => {
    const since = await api.promptShown();
    expect((await api.output(`since=${since}`)).text).toBe("");
    const later = api.output(`since=${since}&wait_ms=10000`);
    await api.type("x");
    expect((await later).output_cursor).toBeGreaterThan(since);
    await api.press("Ctrl+C");
    await api.until("prompt");
  });

  test("plain or styled, searched, and cut to head and tail", async () => {
    const { command_id } = await api.exec("printf '\\033[31mred\\033[0m\\n'; seq 1 100");
    const styled = await api.output(`command_id=${command_id}&format=styled`);
    expect(styled.lines?.[0]).toMatchObject([{ text: "red", fg: { indexed: 1 } }]);
    const found = await api.output(`command_id=${command_id}&grep=99`);
    expect(found).toMatchObject({ text: "100:99", exit_code: 0, matches: 1 });
    const cut = await api.output(`command_id=${command_id}&max_bytes=40`);
    expect(cut.text).toMatch(/^red\n1\n[\s\S]*omitted[\s\S]*\n100$/);
    expect(cut.omitted_bytes).toBeGreaterThan(200);
    expect((await api.output("lines=2&grep=nowhere")).text).toBe("");
  });
});
