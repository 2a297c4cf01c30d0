/** Shells with an unusual start: Ctrl+C during their files, a redefined PATH, redirected descriptors. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { isMissing } from "../support/programs.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

async function exec(wsh: Wsh, command: string) {
  return JSON.parse((await wsh.run("exec", "s", "--json", "--timeout", "20", "--", command)).stdout);
}

describe.each([
  ["bash", ".bashrc", true],
  ["bash", ".bashrc", false],
  ["zsh", ".zshrc", true],
  ["fish", ".config/fish/config.fish", true],
] as const)("%s", (shell, file, isLogin) => {
  test.skipIf(isMissing(shell))(`is exact after Ctrl+C during its files (login: ${isLogin})`, async () => {
    await using wsh = new Wsh({ config: `login_shell = ${isLogin}\n` });
    const path = join(wsh.dir, "home", file);
    fs.mkdirSync(join(path, ".."), { recursive: true });
    fs.writeFileSync(
      path,
      // A program that prints: a shell can miss the interrupt between its fork and the program.
      `${shell === "fish" ? "set x " : "PATH="}/usr/bin:/bin\nsh -c "echo star''ting; exec sleep 60"\n`,
    );
    await wsh.session("s", "--shell", shell);
    await wsh.shows("s", "starting");
    await wsh.call("s", "input.send", { keys: ["C-c"] });
    const result = await exec(wsh, "echo hi");
    expect(result).toMatchObject({ state: "finished", exit_code: 0, output: "hi" });
    expect(result).not.toHaveProperty("verified");
    if (shell !== "fish") expect((await exec(wsh, "trap")).output).not.toContain("wsh");
    const program = (await exec(wsh, "echo $WSH_BIN")).output;
    if (program.endsWith("/wsh")) expect((await exec(wsh, "command -v wsh")).output).toEndWith("/wsh");
  });
});

test("bash: records are exact where its prompts go to a file, which gets no secret", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  expect(await exec(wsh, "exec 2>errors")).toMatchObject({ exit_code: 0, output: "" });
  await wsh.enter("s", "echo one''more; (exit 3)");
  await wsh.shows("s", "onemore");
  expect(await exec(wsh, "echo two; (exit 4)")).toMatchObject({ exit_code: 4, output: "two" });
  expect((await wsh.commands("s")).slice(1)).toMatchObject([
    { command: "echo one''more; (exit 3)", exit_code: 3, output_lines: 1 },
    { command: "echo two; (exit 4)", exit_code: 4, output_lines: 1 },
  ]);
  await wsh.enter("s", "exec 2>/dev/tty");
  const back = await exec(wsh, "echo back; (exit 4)");
  expect(back).toMatchObject({ exit_code: 4, output: "back" });
  expect(back).not.toHaveProperty("verified");
  expect(fs.readFileSync(join(wsh.dir, "errors"), "utf8")).not.toContain("wsh=");
});
