/** Commands at a session's prompt, over HTTP: end, code and output are exact for any command. */
import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { failure, Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(30_000);
const isFull = process.env.WSH_TEST_FULL === "1";
const shells = ["bash", "zsh", "fish"].filter((shell) => !isMissing(shell));

const wsh = shared(new Wsh({ config: "max_waiters = 3\nmax_commands = 20\nmax_command_bytes = 2000000\n" }));
const http = new Http({ unix: wsh.instance.httpSocket });

for (const shell of shells) {
  const isFish = shell === "fish";
  /** Output of each command and its exit code. */
  const exact: readonly (readonly [what: string, command: string, output: string | RegExp, code: number])[] = [
    ["one word", "pwd", /^\/.*\/home$/, 0],
    ["several lines", "echo one\necho two\nfalse", "one\ntwo", 1],
    ["comments", "echo a # not this\n# nor this\necho 'b # this'", "a\nb # this", 0],
    ["nothing but a comment", "# nothing", "", 0],
    ["quotes of both kinds", `echo "it's" 'a "b"' \\"c\\" "tab\there"`, `it's a "b" "c" tab      here`, 0],
    ["text over lines in quotes", "printf '%s|' 'a\nb' \"c\nd\"", "a\nb|c\nd|", 0],
    ["dollars, bangs and backslashes", "printf '%s\\n' '$HOME !! !x \\n ` ^a^b'", "$HOME !! !x \\n ` ^a^b", 0],
    ["a newline at its end", "echo a\n\n", "a", 0],
    ["output without a newline", "printf abc", "abc", 0],
    ["empty lines of output", "printf '\\n\\na\\n\\n'", "\n\na\n", 0],
    ["a long line, wrapped by the screen", `echo ${"x".repeat(300)}`, "x".repeat(300), 0],
    ["wide and joined characters", "echo 'é 漢字 👩‍👩‍👧 ok'", "é 漢字 👩‍👩‍👧 ok", 0],
    ["bytes other than text", "printf 'a\\377\\376\\200b\\001\\n'", /^a.*b$/, 0],
    ["zeros", "head -c 5000 /dev/zero; echo end", "end", 0],
    ["a line that is written over", "printf '10%%\\r20%%\\r100%%\\n'", "100%", 0],
    ["the screen cleared", "echo gone; printf '\\033[H\\033[2J\\033[3J'; echo stays", "gone\nstays", 0],
    ["the terminal reset", "printf '\\033c'; echo reset", "reset", 0],
    ["the alternate screen", "printf 'a\\n\\033[?1049h\\033[Hinside\\033[?1049lb\\n'", "a\nb", 0],
    ["a pipe's end", "seq 1 1000 | head -n 2", "1\n2", 0],
    ["code 200", "bash -c 'exit 200'", "", 200],
    ["a signal", "bash -c 'kill -TERM $$'", /./, 143],
    ["a command that is not there", "no-such-command-at-all", /no-such-command-at-all/, 127],
    ["text other than a command", "echo )", /./, isFish ? 123 : shell === "zsh" ? 1 : 2],
    ["a quote that stays open", "echo 'open", /./, isFish ? 123 : shell === "zsh" ? 1 : 2],
    ["echo switched off", "stty -echo; echo quiet; stty echo", "quiet", 0],
    ["marks of others", "printf '\\033]133;D;99\\007\\033]133;A\\007\\033]633;E;evil\\007'; echo ok", "ok", 0],
    ...(isFish
      ? ([
          ["a function", "function f; echo in $argv; return 3; end; f 1", "in 1", 3],
          ["an alias", "alias ll 'echo LL'; ll x", "LL x", 0],
          ["variables of other shells", "echo $? $$", /./, 121],
          ["a block", "for i in 1 2; echo $i; end", "1\n2", 0],
        ] as const)
      : ([
          ["a function", "f() { echo in $1; return 3; }; f 1", "in 1", 3],
          ["an alias", "alias ll='echo LL'", "", 0],
          ["an alias that was defined before", "ll x", "LL x", 0],
          ["a heredoc", "cat <<EOF\n'q' \"d\" $((1+1))\n\tEOF\nEOF", "'q' \"d\" 2\n        EOF", 0],
          ["a quoted heredoc", "cat <<'EOF'\n$a `b`\nEOF\necho after", "$a `b`\nafter", 0],
          ["a heredoc that stays open", "cat <<EOF\nopen", /open/, 0],
          ["a block", "for i in 1 2; do\n  echo $i\ndone", "1\n2", 0],
          ["history expansion", "echo !$ !-1 'x!y'", /x!y/, 0],
        ] as const)),
  ];

  describe(`exec in ${shell}`, () => {
    let api: SessionApi;
    beforeAll(async () => {
      api = await SessionApi.shell(http, shell, { shell });
    });

    test("is exact for any command", async () => {
      for (const [what, command, output, code] of exact) {
        const result = await api.exec(command);
        const wanted = typeof output === "string" ? output : expect.stringMatching(output);
        expect([what, result]).toEqual([
          what,
          expect.objectContaining({ state: "finished", exit_code: code, output: wanted, omitted_lines: 0 }),
        ]);
      }
      const last = (await api.commands()).at(-1);
      expect(last).toMatchObject({ command: exact.at(-1)?.[1], state: "finished", verified: true });
    });

    test("keeps the directory and reports it", async () => {
      expect(await api.exec("cd /")).toMatchObject({ exit_code: 0, cwd: "/" });
      expect(await api.exec("pwd")).toMatchObject({ output: "/" });
      expect((await api.run("cd /tmp", { submit: true })).cwd).toBe("/tmp");
      await api.exec("cd");
    });

    test("keeps the head and the tail of long output and counts the rest", async () => {
      const count = isFull ? 200_000 : 30_000;
      const result = await api.exec(`seq 1 ${count}`, { output_limit: 1000 });
      const lines = (result.output ?? "").split("\n");
      const gap = lines.findIndex((line) => line.includes("omitted"));
      expect(lines.slice(0, gap)).toEqual(Array.from({ length: gap }, (_, n) => String(n + 1)));
      const tail = lines.slice(gap + 1);
      expect(tail).toEqual(tail.map((_, n) => String(count - tail.length + 1 + n)));
      expect(result.omitted_lines).toBe(count - (lines.length - 1));
      const kept = await api.get<{ text: string }>(`commands/${result.command_id}/output?tail=2`);
      expect(kept.text).toBe(`${count - 1}\n${count}`);
      const found = await api.get<{ text: string }>(`commands/${result.command_id}/output?grep=${count}`);
      expect(found.text).toContain(String(count));
    });

    test("a text of a script's length", async () => {
      const script = Array.from({ length: 400 }, (_, n) => `echo "line ${n}" 'it is'`).join("\n");
      const result = await api.exec(script);
      expect(result).toMatchObject({ state: "finished", exit_code: 0 });
      expect(result.output?.split("\n")).toEqual(Array.from({ length: 400 }, (_, n) => `line ${n} it is`));
    });

    test("the size changes while it runs", async () => {
      const begun = await api.exec(
        `printf '${"w".repeat(150)}\\n'; read -l x; stty size`.replace(isFish ? "" : " -l", ""),
        {
          background: true,
        },
      );
      await api.until("waiting_for_input");
      await http.expect(200, http.post(`/sessions/${shell}/resize`, { rows: 30, cols: 60 }));
      await api.type("\n");
      const { command } = await api.until("command_finished", { command_id: begun.command_id });
      expect(command).toMatchObject({ exit_code: 0 });
      const { text } = await api.output(`command_id=${begun.command_id}`);
      expect(text?.split("\n")[0]).toBe("w".repeat(150));
      expect(text?.split("\n").at(-1)).toBe("30 60");
      await http.expect(200, http.post(`/sessions/${shell}/resize`, { rows: 24, cols: 80 }));
    });

    test("refuses to type into a program, or behind a person's input", async () => {
      const begun = await api.exec("cat", { max_wait_ms: 0 });
      expect(begun).toMatchObject({ state: "running", exit_code: null, command_id: expect.any(Number) });
      const busy = await http.post(`/sessions/${shell}/exec`, { command: "true" });
      expect(busy).toMatchObject({ status: 409, body: failure("not_at_prompt", /cat/, { running: "cat" }) });
      await api.until("waiting_for_input");
      await api.press("Ctrl+D");
      await api.until("prompt");
      await api.type("half");
      await until("the text to be shown", async () => /half\s*$/.test((await http.screen(shell)).lines.join("\n")));
      const typed = await http.post(`/sessions/${shell}/exec`, { command: "true" });
      expect(typed).toMatchObject({ status: 409, body: failure("prompt_not_empty") });
      // Pressed again: fish loses an interrupt that comes while its suggestions do (docs/shells.md, Known limits).
      let refused = "";
      await until("the line to be given up", async () => {
        await api.press("Ctrl+C");
        const { status, text } = await http.post(`/sessions/${shell}/exec`, { command: "true" });
        refused = text;
        return status === 200;
      }).catch((error) => {
        throw new Error(`${error.message}: ${refused}`);
      });
    });

    test("a timeout leaves, interrupts or kills the command, never the shell", async () => {
      const limit = { max_wait_ms: 150 };
      expect(await api.exec("sleep 50", { ...limit, on_timeout: "interrupt" })).toMatchObject({
        state: "interrupted",
        exit_code: 130,
        signal: "SIGINT",
      });
      const { state, exit_code, signal } = await api.exec("sleep 50", { ...limit, on_timeout: "kill" });
      // A shell that has not given the terminal to its command yet is never killed: the command is interrupted then.
      expect(["killed 137 SIGKILL", "interrupted 130 SIGINT"]).toContain(`${state} ${exit_code} ${signal}`);
      const loop = isFish ? "while true; sleep 0.01; end" : "while :; do sleep 0.01; done";
      expect(["interrupted", "killed"]).toContain((await api.exec(loop, { ...limit, on_timeout: "kill" })).state ?? "");
      const left = await api.exec("sleep 2; echo done", { max_wait_ms: 50 });
      expect(left).toMatchObject({ state: "running", exit_code: null });
      const { command } = await api.until("command_finished", { command_id: left.command_id });
      expect(command).toMatchObject({ id: left.command_id, exit_code: 0 });
      expect((await api.output(`command_id=${left.command_id}`)).text).toBe("done");
    });

    test("steps, one after the other until one fails", async () => {
      const steps = [{ command: "echo 1" }, { command: "false", name: "bad" }, { command: "echo 3" }];
      const stopped = await api.post<{ steps: object[] }>("exec", { steps });
      expect(stopped.steps).toMatchObject([
        { state: "finished", output: "1", exit_code: 0 },
        { name: "bad", state: "finished", exit_code: 1 },
        { state: "skipped", exit_code: null },
      ]);
      const all = await api.post<{ steps: object[] }>("exec", { steps, stop_on_error: false });
      expect(all.steps.at(-1)).toMatchObject({ state: "finished", output: "3" });
    });

    test("exit ends the shell, and earlier output stays readable", async () => {
      expect(await api.exec("exit 7")).toMatchObject({ state: "finished", exit_code: 7 });
      const refused = await http.post(`/sessions/${shell}/exec`, { command: "true" });
      expect(refused).toMatchObject({ status: 410, body: failure("session_ended", /exited/, { exit_code: 7 }) });
      expect((await api.commands()).at(-1)).toMatchObject({ command: "exit 7", exit_code: 7 });
      expect((await api.commands()).length).toBe(20);
      expect(await api.status()).toMatchObject({ alive: false, state: "exited", exit_code: 7 });
      expect(await api.wait(["prompt"])).toMatchObject({ decided_by: "exited" });
    });
  });
}

describe("invalid requests", () => {
  let api: SessionApi;
  beforeAll(async () => {
    api = await SessionApi.shell(http, "refused", { shell: "bash" });
  });
  const post = (path: string, fields: object) => http.post(`/sessions/refused/${path}`, fields);

  test("commands that cannot run", async () => {
    const wrong: readonly (readonly [object, RegExp])[] = [
      [{}, /either 'command' or 'steps'/],
      [{ command: "a", steps: [{ command: "b" }] }, /either/],
      [{ command: "a\0b" }, /NUL/],
      [{ command: " \n" }, /empty/],
      [{ steps: [{ command: "true" }, { command: "" }] }, /steps\.1\.command/],
      [{ steps: [{ command: "a" }, { command: "b" }], background: true }, /background/],
    ];
    for (const [fields, message] of wrong) {
      expect(await post("exec", fields)).toMatchObject({ status: 400, body: failure("invalid_request", message) });
    }
    expect(await post("exec", { command: "x".repeat(1024 * 1024) })).toMatchObject({ status: 413 });
    expect(await post("exec", { steps: [] })).toMatchObject({ status: 422 });
    expect(await post("exec", { command: "true", on_timeout: "explode" })).toMatchObject({ status: 422 });
  });

  test("input that is invalid", async () => {
    expect(await post("run", { input: "a", keys: ["Nope"] })).toMatchObject({
      status: 400,
      body: failure("unknown_key"),
    });
    expect(await post("keys", { keys: ["Contrl+C"] })).toMatchObject({ status: 400, body: failure("unknown_key") });
    const pressed = await post("keys", { keys: ["Ctrl+U"] });
    expect(pressed).toMatchObject({ status: 204, text: "" });
    expect(Number(pressed.headers.get("wsh-output-cursor"))).toBeGreaterThan(0);
  });

  test("unknown waits, cursors and commands", async () => {
    const cursor = await post("wait", { any_of: [{ type: "text", text: "x" }], since: 1e9 });
    expect(cursor).toMatchObject({ status: 400, body: failure("invalid_cursor") });
    expect(await http.get("/sessions/refused/output?since=1000000000")).toMatchObject({ status: 400 });
    expect(await post("wait", { any_of: ["command_finished"], command_id: 999 })).toMatchObject({ status: 404 });
    expect(await http.get("/sessions/refused/commands/999")).toMatchObject({ status: 404 });
    const pattern = await post("wait", { any_of: [{ type: "regex", pattern: "(?=a)" }] });
    expect(pattern).toMatchObject({ status: 400, body: failure("invalid_request", /\(\?=/) });
    expect(await post("wait", { any_of: [] })).toMatchObject({ status: 422 });
  });

  test("more waits than the setting allows; one that ends admits another", async () => {
    const ends = new AbortController();
    const wait = { any_of: ["exited"], max_wait_ms: 60_000 };
    const path = "/sessions/refused/wait";
    const pending = Array.from({ length: 3 }, () => http.post(path, wait, { signal: ends.signal }).catch(() => null));
    const over = await until("the limit", async () => {
      const answer = await http.post(path, { ...wait, max_wait_ms: 1 });
      return answer.status === 200 ? null : answer;
    });
    expect(over).toMatchObject({ status: 429, body: failure("resource_limit_reached", /3 waits/) });
    ends.abort();
    await Promise.all(pending);
    await until("room for a wait", async () => (await http.post(path, { ...wait, max_wait_ms: 1 })).status === 200);
    expect((await api.status()).state).toBe("prompt");
  });
});
