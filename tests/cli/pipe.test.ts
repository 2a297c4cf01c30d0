/** `wsh -c COMMAND` with no terminal for its output: plain text and the command's code, as in any pipe. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh();
});
afterAll(() => wsh[Symbol.asyncDispose]());

test("prints the command's output without screen control, and exits with its code", async () => {
  const { code, stdout } = await wsh.run("-c", "printf '\\033[31mred\\033[m\\n'; seq 3; exit 7");
  expect({ code, stdout }).toEqual({ code: 7, stdout: "red\n1\n2\n3\n" });
});

test("takes a name, a tag and a directory, and its session has them", async () => {
  const { code, stdout } = await wsh.run(
    ...["--name", "counted", "--tag", "mine", "--cwd", wsh.dir, "-c"],
    'pwd; echo "$WSH_SESSION"',
  );
  expect({ code, lines: stdout.trimEnd().split("\n") }).toEqual({ code: 0, lines: [wsh.dir, "counted"] });
});

test("a file on standard input is passed to the command", async () => {
  const file = join(wsh.dir, "input.txt");
  writeFileSync(file, "one\ntwo\n");
  const child = Bun.spawn(wsh.command("-c", "wc -l"), {
    ...{ cwd: wsh.dir, env: wsh.env, stdin: Bun.file(file), stdout: "pipe", stderr: "pipe" },
  });
  expect((await new Response(child.stdout).text()).trim()).toBe("2");
});

test.each([
  ["a pipe", "printf 'a\\nb\\n' | $0 -c 'cat; echo end' | cat", "a\nb\nend\n"],
  ["a late pipe", "(sleep 0.3; echo late) | $0 -c cat | cat", "late\n"],
  ["a pipe of which only a part is read", "yes | $0 -c 'head -2' | cat", "y\ny\n"],
  ["an empty pipe", ": | $0 -c 'cat; echo end' | cat", "end\n"],
  ["nothing", "$0 -c 'cat; echo end' < /dev/null | cat", "end\n"],
])("%s on standard input is the command's", async (_, script, output) => {
  const child = Bun.spawn(["sh", "-c", script.replaceAll("$0", wsh.command().join(" "))], {
    ...{ cwd: wsh.dir, env: wsh.env, stdin: "ignore", stdout: "pipe", stderr: "pipe" },
  });
  expect(await new Response(child.stdout).text()).toBe(output);
  expect(await new Response(child.stderr).text()).toBe("");
});

test("data from an input that cannot be passed on is reported as lost", async () => {
  const child = wsh.spawn(["-c", "cat; sleep 0.5; echo end"]);
  child.stdin.write("lost\n");
  child.stdin.flush();
  expect(await new Response(child.stdout).text()).toBe("end\n");
  expect(await new Response(child.stderr).text()).toContain("wsh exec -i");
  child.stdin.end();
});

test("a signal that ends it ends the command, too", async () => {
  const child = wsh.spawn(["--name", "ended", "-c", "sleep 1000"]);
  // As early as possible: it is started for this process alone from its first moment on.
  await until("the session", async () => (await wsh.list()).some(({ name }) => name === "ended"));
  child.kill("SIGTERM");
  expect(await child.exited).toBe(143);
  await until("it to be gone", async () => (await wsh.list()).length === 0);
});

test("a pipe on standard input that never ends blocks nothing", async () => {
  const child = wsh.spawn(["-c", "echo at once"]);
  expect(await new Response(child.stdout).text()).toBe("at once\n");
  expect(await child.exited).toBe(0);
  child.stdin.end();
});
