/** Answers of wsh_run_command for real programs: their output or their screen, exact and without repetition. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { Client } from "@modelcontextprotocol/client";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";

const mcp = new McpInstance();
let client: Client;
beforeAll(async () => {
  client = await mcp.client();
});
afterAll(() => mcp[Symbol.asyncDispose]());

let count = 0;
/** Types lines into a separate shell. */
async function shell() {
  const session = `r${count++}`;
  await call(client, "wsh_create_session", { name: session, shell: "bash" });
  await call(client, "wsh_wait", { session, any_of: ["prompt"] });
  const use = async (name: string, more: object) => {
    const answer = await call(client, name, { session, ...more });
    if (answer.isError) throw new Error(`${name} ${JSON.stringify(more)}: ${answer.texts[0]}`);
    return answer.value;
  };
  return {
    session,
    use,
    run: (input: string, more: object = {}) => use("wsh_run_command", { input, submit: true, ...more }),
    press: (...keys: string[]) => use("wsh_run_command", { keys }),
  };
}

let usual: ReturnType<typeof shell> | null = null;
/** The same for tests that leave it at its prompt, and ask nothing of its earlier output: one session for all of them. */
function usualShell(): ReturnType<typeof shell> {
  usual ??= shell();
  return usual;
}

describe("line programs", () => {
  testWith("python3")("a REPL: banner, results, several lines, output without a newline", async () => {
    const { run } = await usualShell();
    const begun = await run("clear; python3");
    expect(begun).toMatchObject({ state: "waiting_for_input", prompt: ">>> " });
    expect(begun.output).toMatch(/^Python 3[^\n]*\n[^\n]*information\.$/);
    const sum = "total = 0\nfor i in range(1000):\n    total += i*i\n\ntotal";
    expect(await run(sum)).toMatchObject({ output: "332833500", prompt: ">>> " });
    expect(await run("print('x', end='')")).toMatchObject({ output: "x", prompt: ">>> " });
    expect(await run("for i in range(2):")).toMatchObject({ output: "", prompt: "... " });
    expect(await run("    print(i)\n")).toMatchObject({ output: "0\n1", prompt: ">>> " });
    const unsent = await run("6*7", { submit: false });
    expect(unsent).toMatchObject({
      output: "",
      prompt: ">>> 6*7",
      warnings: [expect.stringContaining("without Enter")],
    });
    expect((await run("")).output).toBe("42");
    expect(await run("exit()")).toMatchObject({ state: "prompt", exit_code: 0, output: "" });
  });

  testWith("node")("node's REPL, which renders its line itself", async () => {
    const { run } = await shell();
    expect(await run("node")).toMatchObject({ prompt: "> ", output: expect.stringContaining("Welcome to Node.js") });
    expect(await run("console.log('a\\nb')")).toMatchObject({ output: "a\nb\nundefined", prompt: "> " });
  });

  test("questions come with the text before the cursor, answers without their echo", async () => {
    const { run } = await usualShell();
    const asks = "read -p 'Name: ' n; echo \"Hello $n\"; read -p 'Age: ' a; echo \"$a years\"";
    expect(await run(asks)).toMatchObject({ state: "waiting_for_input", prompt: "Name: ", output: "" });
    expect(await run("Ann")).toMatchObject({ prompt: "Age: ", output: "Hello Ann" });
    const done = await run("30");
    expect(done).toMatchObject({ state: "prompt", exit_code: 0, output: "30 years" });
    expect(done).not.toHaveProperty("prompt");
    expect(done).not.toHaveProperty("screen");
  });

  testWith("ssh-keygen")("a passphrase is asked for twice", async () => {
    const { run } = await usualShell();
    expect(await run("ssh-keygen -t ed25519 -f key")).toMatchObject({
      state: "password",
      output: "Generating public/private ed25519 key pair.",
      prompt: "Enter passphrase (empty for no passphrase): ",
    });
    expect(await run("")).toMatchObject({ state: "password", output: "", prompt: "Enter same passphrase again: " });
    expect((await run("")).output).toStartWith("Your identification has been saved in key\n");
  });

  test("several commands: the output of each, and the shell's text between them", async () => {
    const { run } = await usualShell();
    expect((await run("echo a\n)\necho b")).output).toMatch(/^a\n[^\n]*syntax error[^\n]*\nb$/);
    expect((await run("for i in 1 2\ndo echo $i\ndone")).output).toBe("1\n2");
    expect((await run("")).output).toBe("");
  });

  test("a loop that is interrupted: both ends of its output, and where the rest is", async () => {
    const { run, press, use } = await usualShell();
    await run("while :; do echo a line of the loop; done", { timeout_ms: 0 });
    // The output, not the line that is typed: before that, an interrupt would discard the line.
    await use("wsh_wait", { any_of: [{ type: "regex", pattern: "^a line of the loop$" }] });
    const ended = await press("Ctrl+C");
    expect(ended).toMatchObject({ state: "prompt", exit_code: 130, signal: "SIGINT" });
    expect(Buffer.byteLength(ended.output)).toBeLessThan(8_400);
    const all = await run("seq 1 5000", { output_limit: 100 });
    expect(all).toMatchObject({
      omitted_lines: expect.any(Number),
      output: expect.stringMatching(/^1\n2\n[\s\S]*\n5000$/),
    });
    expect(all.warnings.join()).toContain(`wsh_get_output with command_id ${all.command_id}`);
    const rest = await use("wsh_get_output", { command_id: all.command_id, max_bytes: 100_000 });
    expect(rest.text.split("\n")).toHaveLength(5000);
  });

  test("nested shells: their output without their prompts", async () => {
    const { run } = await shell();
    expect((await run("PS1='in> ' bash --norc")).prompt).toBe("in> ");
    expect(await run("echo one; echo two")).toMatchObject({ output: "one\ntwo", prompt: "in> " });
  });
});

describe("an overwritten line", () => {
  test("counts as new for output and waits after a cursor", async () => {
    const { use } = await shell();
    const steps = String.raw`printf 'step %s%%' 10; read -s; printf '\rSTEP 20%%'; read -s; printf '\r\e[Kdone'; read -s`;
    let { output_cursor: since } = await use("wsh_send_input", { input: steps, submit: true });
    for (const text of ["step 10%", "STEP 20%", "done"]) {
      const seen = await use("wsh_wait", { since, any_of: [{ type: "text", text }] });
      expect(seen.decided_by).toBe("text");
      if (text !== "step 10%") expect((await use("wsh_get_output", { since })).text).toBe(text);
      since = seen.output_cursor;
      await use("wsh_send_input", { keys: ["Enter"] });
    }
  });

  test("a menu that redraws itself: the lines that changed, also for a wait", async () => {
    const { run, press, use } = await shell();
    const menu = String.raw`draw() { for n in 0 1 2; do [ $n = $at ] && printf '> '; echo "item $n  "; done; };
      at=0; draw; while IFS= read -rsn3 key; do at=$((at + 1)); printf '\e[3A'; draw; done`;
    await run(menu.replaceAll("\n", " "));
    const moved = await press("Down");
    expect(moved.output).toBe("item 0\n> item 1");
    await use("wsh_send_input", { keys: ["Down"] });
    const found = await use("wsh_wait", { since: moved.output_cursor, any_of: [{ type: "text", text: "> item 2" }] });
    expect(found.decided_by).toBe("text");
  });
});

test("a terminal that a program without our integration has broken is reported, and repaired by reset", async () => {
  const { run, use } = await shell();
  await run("bash --norc");
  const broken = await run("printf '\\033(0\\033[5;10r\\033[?25l'");
  expect(broken.warnings).toEqual([expect.stringContaining("scroll region, hidden cursor, line drawing")]);
  expect((await use("wsh_get_screen", {})).disorder).toHaveLength(3);
  const { mended } = await use("wsh_manage_session", { action: "reset" });
  expect(mended).toHaveLength(3);
  const after = await run("echo mended");
  expect(after.output).toStartWith("mended");
  expect(after).not.toHaveProperty("warnings");
});

test.if(process.platform === "linux")(
  "a shell whose terminal does not echo is said to be so, and reset mends it; one that reads a password is not",
  async () => {
    const { run, use } = await shell();
    // bash's line editor shows nothing then: it is queried after a command during which nothing was echoed.
    await run("stty -echo; sleep 0.1");
    await run("sleep 0.1");
    const found = await until("the name", async () => (await use("wsh_get_screen", {})).disorder ?? null);
    expect(found).toEqual(["no echo"]);
    expect((await use("wsh_manage_session", { action: "reset" })).mended).toEqual(["no echo"]);
    expect(await run("read x; echo got $x")).toMatchObject({ state: "waiting_for_input" });
    await run("seen");
    const mended = await use("wsh_get_screen", {});
    expect(mended.screen).toMatch(/read x; echo got \$x\nseen\ngot seen\n/);
    expect(mended).not.toHaveProperty("disorder");
    await run("PS1='in$ ' exec sh -i");
    expect((await run("stty -echo")).warnings).toEqual([expect.stringContaining("left with no echo")]);
    expect((await use("wsh_get_screen", {})).disorder).toEqual(["no echo"]);
    expect((await use("wsh_manage_session", { action: "reset" })).mended).toEqual(["no echo"]);
    expect(await run("echo done")).toMatchObject({ output: "done", prompt: "in$ " });
    expect((await use("wsh_get_screen", {})).screen).toContain("in$ echo done\ndone");
    await run("bash -c 'read -s -p \"Key> \" k'", { max_wait_ms: 5_000 });
    const asking = await use("wsh_get_screen", {});
    expect(asking).toMatchObject({ state: "password" });
    expect(asking).not.toHaveProperty("disorder");
  },
);

describe("full-screen programs", () => {
  testWith("git", "vim")("an interactive rebase: vim's screen, then all of git's output", async () => {
    const { run, use } = await shell();
    await run("git init -q r; cd r; git config user.email a@b.c; git config user.name n");
    await run("for i in 1 2 3; do echo $i >f$i; git add .; git commit -qm c$i; done");
    const vim = await run("GIT_EDITOR='vim -u NONE -N' git rebase -i --root");
    expect(vim).toMatchObject({ state: "fullscreen", screen: expect.stringMatching(/^pick \w+ c1\npick/) });
    expect(vim).toMatchObject({ cursor: { row: 0, col: 0 }, output: expect.stringContaining("editor") });
    const typed = await run(":2s/pick/edit/");
    expect(typed.screen).toMatch(/^pick \w+ c1\nedit \w+ c2\n/);
    expect(typed).not.toHaveProperty("warnings");
    const left = await run(":wq");
    expect(left).toMatchObject({ state: "prompt", exit_code: 0 });
    const screen: string = (await use("wsh_get_screen", {})).screen;
    const shown = screen.split("\n");
    expect(left.output.split("\n")).toEqual(shown.slice(shown.indexOf(left.output.split("\n")[0]), -1));
    expect(left.output).toMatch(/Stopped at [^\n]*c2\n[\s\S]*git rebase --continue$/);
    expect((await run("git rebase --continue")).output).toContain("Successfully rebased");
  });

  testWith("less")(
    "keys without Enter bring no warning; the screen is one text without blank rows at its end",
    async () => {
      const { run, use } = await usualShell();
      expect((await run("printf 'a\\nb\\n' | less")).screen).toMatch(/a\nb\n\(END\)$/);
      const quit = await run("q", { submit: false });
      expect(quit).toMatchObject({ state: "prompt", exit_code: 0, output: "" });
      expect(quit).not.toHaveProperty("warnings");
      const both = await run("echo x", { include: ["output", "screen"] });
      expect(both).toMatchObject({ output: "x", screen: expect.stringContaining("echo x\nx") });
      const { lines } = await use("wsh_get_scrollback", { offset: -5 });
      expect(lines.at(-1)).not.toBe("");
    },
  );
});

describe("a dialog in one call", () => {
  const questions = `read -p 'Name: ' n; read -s -p 'Token: ' t; echo; read -p 'Sure? ' s; echo "$n \${#t} $s"`;

  test("each step is typed when its expected text is there; the result is the output", async () => {
    const { use } = await usualShell();
    const result = await use("wsh_run_command", {
      input: questions,
      submit: true,
      steps: [
        { expect: "Name: ", input: "Ann", submit: true },
        { expect: "password", input: "secret", submit: true },
        { expect: { type: "regex", pattern: "^Sure.*$" }, input: "yes", submit: true },
      ],
    });
    expect(result).toMatchObject({ state: "prompt", exit_code: 0 });
    expect(result.output).toEndWith("Name: Ann\nToken:\nSure? yes\nAnn 6 yes");
    expect(result.output).not.toContain("secret");
  });

  testWith("vim")("into an editor, back to the prompt, and further commands", async () => {
    const { use } = await usualShell();
    const result = await use("wsh_run_command", {
      input: "vim -u NONE -N letter",
      submit: true,
      steps: [
        { expect: "fullscreen", input: "iDear Ann\u001b:wq\r" },
        { expect: "prompt", input: "cat letter; false", submit: true },
      ],
    });
    expect(result).toMatchObject({ state: "prompt", exit_code: 1 });
    expect(result.output).toEndWith("cat letter; false\nDear Ann");
  });

  test("stops at the first expectation that is not met, and reports it; continues from there", async () => {
    const { session, use } = await usualShell();
    const stopped = await call(client, "wsh_run_command", {
      session,
      input: questions,
      submit: true,
      max_wait_ms: 4_000,
      steps: [
        { expect: "Name: ", input: "Ann", submit: true },
        { expect: "Address: ", input: "Elsewhere", submit: true },
      ],
    });
    expect(stopped.isError).toBe(true);
    expect(stopped.value).toMatchObject({ code: "expect_not_met", step: 2, state: "password", prompt: "Token: " });
    const rest = await use("wsh_run_command", {
      steps: [
        { expect: "Token: ", input: "four", submit: true },
        { expect: "Sure? ", input: "no", submit: true },
      ],
    });
    expect(rest).toMatchObject({ state: "prompt", exit_code: 0, output: expect.stringContaining("Ann 4 no") });
  });

  test("a program that ends instead stops the dialog at once", async () => {
    const { session } = await usualShell();
    const steps = [{ expect: "Password: ", input: "x", submit: true }];
    const began = performance.now();
    const { value } = await call(client, "wsh_run_command", { session, input: "echo no; false", submit: true, steps });
    expect(value).toMatchObject({ code: "expect_not_met", step: 1, state: "prompt" });
    expect(performance.now() - began).toBeLessThan(20_000);
  });

  test("nothing is typed unless every step can be", async () => {
    const { session, use } = await usualShell();
    for (const bad of [{ keys: ["Nope"] }, { expect: { type: "regex", pattern: "(" } }, {}]) {
      const { isError } = await call(client, "wsh_run_command", {
        session,
        input: "touch made",
        submit: true,
        steps: [bad],
      });
      expect(isError).toBe(true);
    }
    expect((await use("wsh_exec", { command: "ls" })).output).not.toContain("made");
  });
});
