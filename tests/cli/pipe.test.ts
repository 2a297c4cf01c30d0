/** `wsh -c COMMAND` whose output nobody sees on a terminal: plain text and the command's code, as in any pipe. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
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

test("takes a name, a tag and a directory, and is the session that they describe", async () => {
  const { code, stdout } = await wsh.run(
    ...["--name", "counted", "--tag", "mine", "--cwd", wsh.dir, "-c"],
    'pwd; echo "$WSH_SESSION"',
  );
  expect({ code, lines: stdout.trimEnd().split("\n") }).toEqual({ code: 0, lines: [wsh.dir, "counted"] });
});

test("a file on standard input is the command's", async () => {
  const file = join(wsh.dir, "input.txt");
  writeFileSync(file, "one\ntwo\n");
  const child = Bun.spawn(wsh.command("-c", "wc -l"), {
    ...{ cwd: wsh.dir, env: wsh.env, stdin: Bun.file(file), stdout: "pipe", stderr: "pipe" },
  });
  expect((await new Response(child.stdout).text()).trim()).toBe("2");
});

test("a pipe on standard input that never ends holds up nothing", async () => {
  const child = wsh.spawn(["-c", "echo at once"]);
  expect(await new Response(child.stdout).text()).toBe("at once\n");
  expect(await child.exited).toBe(0);
  child.stdin.end();
});
