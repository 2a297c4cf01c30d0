/** Commands have ends: exit code, exact output, duration and directory, at the moment they end. */
import { describe, expect, test } from "bun:test";
import { failure, LivePane } from "../support/live-pane.ts";
import { until } from "../support/until.ts";

/** Every shell is tested over HTTP in exec.test.ts; here the domain alone. */
const shells = ["bash"];

for (const shell of shells) {
  describe(`commands in ${shell}`, () => {
    test("a command returns its exit code and its own output", async () => {
      await using live = await LivePane.start({ shell });
      expect(await live.exec("echo hello")).toMatchObject({ state: "finished", exit_code: 0, output: "hello" });
      expect(await live.exec("false")).toMatchObject({ state: "finished", exit_code: 1, output: "" });
      expect(await live.exec("printf 'no newline'")).toMatchObject({ exit_code: 0, output: "no newline" });
      expect(await live.exec("printf 'a\\n\\nb\\n'")).toMatchObject({ output: "a\n\nb" });
      expect(await live.exec("cd /tmp")).toMatchObject({ exit_code: 0, cwd: "/tmp", output: "" });
      expect(await live.exec("pwd")).toMatchObject({ output: "/tmp" });
      const records = live.commands.log.list();
      expect(records.map((record) => record.command)).toContain("printf 'no newline'");
      expect(records.every((record) => record.verified && record.state === "finished")).toBe(true);
      expect(records.map((record) => record.id)).toEqual(records.map((_, n) => (records[0]?.id ?? 0) + n));
    });

    test("several lines, quotes, comments and heredocs are one command", async () => {
      await using live = await LivePane.start({ shell });
      expect(await live.exec("echo one\necho 'two # three'\n# a comment\necho \"fo'ur\"")).toMatchObject({
        exit_code: 0,
        output: "one\ntwo # three\nfo'ur",
      });
      if (shell !== "fish") {
        expect(await live.exec("cat <<'END'\n$a `b` \"c\"\nEND")).toMatchObject({ output: '$a `b` "c"', exit_code: 0 });
      }
      const broken = await live.exec("echo 'unfinished");
      expect(broken.state).toBe("finished");
      expect(broken.exit_code).not.toBe(0);
      expect(await live.exec("echo after")).toMatchObject({ output: "after", exit_code: 0 });
    });

    test("long output keeps an exact head and tail", async () => {
      await using live = await LivePane.start({ shell, historyLines: 2_000 });
      const result = await live.exec("seq 1 200000", { outputLimit: 2_000 });
      const lines = result.output.split("\n");
      expect(lines.slice(0, 3)).toEqual(["1", "2", "3"]);
      expect(lines.slice(-2)).toEqual(["199999", "200000"]);
      expect(result.omitted_lines).toBe(200_000 - (lines.length - 1));
      expect(live.commands.log.last()?.output_lines).toBe(200_000);
      const head = lines.findIndex((line) => line.includes("omitted"));
      expect(lines.slice(0, head)).toEqual(lines.slice(0, head).map((_, n) => String(n + 1)));
    });

    test("a command that clears the screen, uses the alternate one or ends by a signal", async () => {
      await using live = await LivePane.start({ shell });
      await live.exec("seq 1 40");
      expect(await live.exec("printf 'gone\\n\\033[H\\033[2J'; echo stays")).toMatchObject({
        output: "gone\nstays",
        exit_code: 0,
      });
      const alternate = await live.exec("printf 'before\\n\\033[?1049h\\033[Hinside\\033[?1049lafter\\n'");
      expect(alternate).toMatchObject({ output: "before\nafter", exit_code: 0 });
      expect(await live.exec("bash -c 'kill -9 $$'")).toMatchObject({ exit_code: 137, signal: "SIGKILL" });
      expect(await live.exec("head -c 3000 /dev/urandom | od -An -tx1 | wc -l")).toMatchObject({ exit_code: 0 });
      expect(await live.exec("printf '\\377\\376x\\n'")).toMatchObject({ exit_code: 0 });
    });

    test("exit returns the process's code", async () => {
      await using live = await LivePane.start({ shell });
      expect(await live.exec("exit 7")).toMatchObject({ state: "finished", exit_code: 7 });
      expect(await failure(live.exec("true"))).toMatchObject({ code: "session_ended" });
    });

    test("a timeout ends a command only as requested", async () => {
      await using live = await LivePane.start({ shell });
      expect(await live.exec("sleep 60", { maxWaitMs: 100, onTimeout: "interrupt" })).toMatchObject({
        state: "interrupted",
        exit_code: 130,
      });
      const { state, exit_code, signal } = await live.exec("sleep 60", { maxWaitMs: 100, onTimeout: "kill" });
      // A shell that has not given the terminal to its command yet is never killed: the command is interrupted then.
      expect(["killed 137 SIGKILL", "interrupted 130 SIGINT"]).toContain(`${state} ${exit_code} ${signal}`);
      const left = await live.exec("sleep 2; echo done", { maxWaitMs: 50 });
      expect(left).toMatchObject({ state: "running", exit_code: null });
      expect(await failure(live.exec("true"))).toMatchObject({ code: "not_at_prompt" });
      const end = await live.commands.wait({
        anyOf: [{ type: "command_finished" }],
        commandId: left.command_id ?? 0,
        maxWaitMs: 15_000,
      });
      expect(end).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 0, id: left.command_id } });
      expect(live.commands.log.output(left.command_id ?? 0)?.head).toEqual(["done"]);
    });

    test("steps stop at the first error, and a background command continues", async () => {
      await using live = await LivePane.start({ shell });
      const steps = [{ command: "echo 1" }, { command: "false", name: "bad" }, { command: "echo 3" }];
      const { steps: results } = await live.exec("", { steps });
      expect(results.map(({ state, exit_code }) => [state, exit_code])).toEqual([
        ["finished", 0],
        ["finished", 1],
        ["skipped", null],
      ]);
      expect(results[1]?.name).toBe("bad");
      const background = await live.exec("sleep 1; echo later", { background: true, maxWaitMs: 0 });
      expect(background).toMatchObject({ state: "running", exit_code: null });
      const since = background.output_cursor;
      const found = await live.commands.wait({ anyOf: [{ type: "text", text: "later" }], since, maxWaitMs: 15_000 });
      expect(found).toMatchObject({ decidedBy: "text", match: "later" });
    });

    test("exec refuses to type into a program or behind a person's input", async () => {
      await using live = await LivePane.start({ shell });
      live.type("echo half");
      await until("its echo", () => live.cursorLine() === "$ echo half");
      expect(await failure(live.exec("true"))).toMatchObject({ code: "prompt_not_empty" });
      live.type("\x03");
      await until("another prompt", () => live.cursorLine() === "$");
      expect(await live.exec("true")).toMatchObject({ exit_code: 0 });
      live.type("cat\r");
      await live.commands.wait({ anyOf: [{ type: "waiting_for_input" }], maxWaitMs: 15_000 });
      expect(await failure(live.exec("true"))).toMatchObject({ code: "not_at_prompt", process: "cat" });
    });

    test("run returns the output of the program that the input started", async () => {
      await using live = await LivePane.start({ shell });
      const echo = await live.run("echo typed\r");
      expect(echo).toMatchObject({
        decidedBy: "command_finished",
        command: { exit_code: 0 },
        output: { text: "typed" },
      });
      expect(echo.command?.command).toBe("echo typed");
      const sleep = await live.run("sleep 2.1; false\r");
      expect(sleep).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 1 } });
      const cat = await live.run("cat\r");
      expect(cat).toMatchObject({ decidedBy: "waiting_for_input", state: { state: "waiting_for_input" } });
      const line = await live.run("a line\r");
      expect(line).toMatchObject({ decidedBy: "waiting_for_input", output: { text: "a line" } });
      const end = await live.run("\x04");
      expect(end).toMatchObject({ decidedBy: "command_finished", command: { exit_code: 0 } });
      const half = await live.run("echo no newline");
      expect(half.decidedBy).toBe("prompt");
      expect(half.warnings).toHaveLength(1);
    });
  });
}

test("without integration exec reports it, and run judges by the screen", async () => {
  await using live = await LivePane.start({ integration: false });
  expect(await failure(live.exec("true"))).toMatchObject({ code: "no_shell_integration" });
  const echo = await live.run("echo seen\r");
  expect(echo).toMatchObject({ decidedBy: "prompt", command: null, state: { decidedFrom: "kernel" } });
  expect(echo.output.text).toContain("seen");
});
