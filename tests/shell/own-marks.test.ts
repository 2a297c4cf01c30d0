/** Commands that run their shell's own prompt code, or use its names: each ends at its end, with its own code. */
import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { isMissing } from "../support/programs.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

type Case = readonly [command: string, output: string | RegExp, exit: number];

const cases: Readonly<Record<"bash" | "zsh" | "fish", readonly Case[]>> = {
  bash: [
    ['eval "$PROMPT_COMMAND"; echo after; (exit 9)', "after", 9],
    ['for each in "${PROMPT_COMMAND[@]}"; do eval "$each"; done; echo after; (exit 8)', "after", 8],
    ['echo "${PS1@P}"; echo after; (exit 7)', /^\$\s*after$/, 7],
    ['eval "$PROMPT_COMMAND"; printf "${PS1@P}${PS0@P}"; sleep 0.2; echo after; (exit 6)', /after$/, 6],
    ["readonly wsh_status=7 wsh_line=x wsh_number=1 wsh_out=y", "", 0],
    ["(exit 3)", "", 3],
  ],
  zsh: [
    ["echo $PS1; echo after; (exit 9)", /after$/, 9],
    ['print -P "$PS1$PROMPT_EOL_MARK$PS1"; sleep 0.2; echo after; (exit 8)', /after$/, 8],
    ["for each in $precmd_functions $preexec_functions; do $each; done; echo after; (exit 7)", "after", 7],
    ["PROMPT_EOL_MARK=XY; printf abc", "abc", 0],
    ["unsetopt promptsp; printf abc", "abc", 0],
    ["setopt promptsp; printf 'two\\nabc'; (exit 2)", "two\nabc", 2],
    ["readonly wsh_status=7 wsh_rest=x", "", 0],
    ["(exit 3)", "", 3],
  ],
  fish: [
    ["emit fish_postexec x; echo after; false", "after", 1],
    ["emit fish_postexec x; emit fish_prompt; fish_prompt; echo after; false", /after$/, 1],
    ["emit fish_preexec x; echo after; false", "after", 1],
  ],
};

describe.each(["bash", "zsh", "fish"] as const)("in %s", (shell) => {
  let wsh: Wsh;
  beforeAll(async () => {
    wsh = new Wsh();
    fs.writeFileSync(join(wsh.dir, "home/.zshrc"), "PS1='%% '\n");
    if (!isMissing(shell)) await wsh.session("s", "--shell", shell);
  });
  afterAll(async () => {
    await wsh[Symbol.asyncDispose]();
  });

  test.skipIf(isMissing(shell)).each([...cases[shell]])("%s", async (command, output, exit) => {
    const { stdout } = await wsh.run("exec", "s", "--json", "--timeout", "20", "--", command);
    const result = JSON.parse(stdout);
    expect(result).toMatchObject({ state: "finished", exit_code: exit });
    expect(result).not.toHaveProperty("verified");
    if (typeof output === "string") expect(result.output).toBe(output);
    else expect(result.output).toMatch(output);
  });
});
