/** `wsh run`: the end and code of its own command, whatever was entered before; its output until a timeout. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { isMissing } from "../support/programs.ts";
import { givenTime } from "../support/timing-retries.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

let wsh: Wsh;
beforeAll(() => {
  wsh = new Wsh();
  fs.writeFileSync(join(wsh.dir, "home/.zshrc"), "PS1='%% '\n");
});
afterAll(async () => {
  await wsh[Symbol.asyncDispose]();
});

describe.each(["bash", "zsh", "fish"])("in %s", (shell) => {
  test.skipIf(isMissing(shell))("an earlier submitted command is not its own", async () => {
    await wsh.session(shell, "--shell", shell);
    for (const before of [["sleep 0.3; sh -c 'exit 7'"], ["sleep 0.3; sh -c 'exit 7'", "sh -c 'exit 8'"]]) {
      for (const line of before) await wsh.enter(shell, line);
      const ran = JSON.parse(await wsh.ok("run", shell, "echo MINE", "--json"));
      expect(ran).toMatchObject({ exit_code: 0, output: "MINE", decided_by: "command_finished" });
    }
  });
});

test("output until the timeout is printed; the command's code can still be read", async () => {
  await wsh.session("time");
  await wsh.shows("time", /^\$/m);
  const stop = () => wsh.run("run", "time", "--keys", "C-c", "--timeout", "20", "--json", "--idle", ".5");
  const late = await givenTime("the output", async (ms) => {
    const ran = await wsh.run("run", "time", "echo began; sleep 60", "--timeout", `${ms / 1000}`);
    if (ran.stdout !== "") return ran;
    await stop();
    return null;
  });
  expect(late).toMatchObject({ code: 1, stdout: "began\n" });
  expect(JSON.parse((await stop()).stdout)).toMatchObject({ state: "prompt" });
  expect((await wsh.run("run", "time", "(exit 5)", "--exit-code")).code).toBe(5);
  expect((await wsh.run("run", "time", "(exit 5)")).code).toBe(0);
});
