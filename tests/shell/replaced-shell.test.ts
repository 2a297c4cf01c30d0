/** A session whose first shell was replaced, or has not reached a prompt: the reports, and their times. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { within } from "../support/timing-retries.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

/** Well below the 5 s that a slow start may take. */
const AT_ONCE_MS = 3_500;

async function session(login: string, ...args: readonly string[]): Promise<Wsh> {
  const wsh = new Wsh();
  const home = join(wsh.dir, "home");
  fs.writeFileSync(join(home, ".bash_profile"), login);
  fs.writeFileSync(join(home, ".zshrc"), "PS1='%% '\n");
  await wsh.session("s", ...args);
  return wsh;
}

async function refusal(wsh: Wsh): Promise<string> {
  const { code, stderr } = await within(AT_ONCE_MS, () => wsh.run("exec", "s", "--", "echo hi"));
  expect(code).not.toBe(0);
  return stderr;
}

describe("a shell that is replaced", () => {
  for (const [typed, name] of [
    ["exec zsh", "zsh"],
    ["exec bash -l", "bash"],

    ["exec fish", "fish"],
    ["true; exec sh", "dash"],
  ] as const) {
    testWith(name === "dash" ? "sh" : name)(
      `by '${typed}': its record ends, its prompt is one, exec says why not`,
      async () => {
        await using wsh = await session(String.raw`. ~/.bashrc; PS0='\e]133;C\e\\'`);
        await wsh.exec("s", "echo hi");
        fs.writeFileSync(join(wsh.dir, "home/.bash_profile"), "PS1='again '\n");
        await wsh.enter("s", typed);
        const records = await until("end of the record", async () => {
          const all = await wsh.commands("s");
          return all.length === 2 && all[1]?.state !== "running" ? all : null;
        });
        expect(records[1]).toMatchObject({ command: typed, state: "replaced", exit_code: null });
        expect(JSON.parse(await wsh.ok("wait", "s", "--json", "prompt")).decided_by).toBe("prompt");
        const real = name === "dash" ? /has become '(?:dash|sh|bash|busybox)'/ : `has become '${name}'`;
        expect(await refusal(wsh)).toMatch(real);
      },
    );
  }

  testWith("zsh")("takes exec again once it sources the script, unverified", async () => {
    await using wsh = await session(". ~/.bashrc");
    const { steps: _, ...replaced } = JSON.parse((await wsh.run("exec", "s", "--json", "--", "exec zsh")).stdout);
    expect(replaced).toMatchObject({ state: "replaced", exit_code: null });
    const script = join(wsh.dir, "script.zsh");
    fs.writeFileSync(script, await wsh.ok("shell-integration", "zsh"));
    await wsh.prompt("s");
    await wsh.enter("s", `. ${script}`);
    const ran = await until("exec", async () => {
      const { stdout, code } = await wsh.run("exec", "s", "--json", "--", "print -r -- HI; (exit 7)");
      return code === 7 ? JSON.parse(stdout) : null;
    });
    expect(ran).toMatchObject({ output: "HI", exit_code: 7 });
    expect((await wsh.commands("s")).at(-1)).toMatchObject({ verified: false });
  });

  for (const [login, program, reason] of [
    ["exec zsh", "zsh", /has become 'zsh'/],
    ["zsh; exit", "zsh", /not reached its first prompt: 'zsh' is running/],
    ["exec cat", "cat", /has become 'cat'/],
    ["exec vim -u NONE", "vim", /has become 'vim/],
  ] as const) {
    testWith(program)(`by '${login}' in startup files: reported at once, with the true reason`, async () => {
      await using wsh = await session(login);
      expect(await refusal(wsh)).toMatch(reason);
    });
  }
});

describe("startup files that ask", () => {
  test("are not a prompt: 'read -n1' waits for input, and exec does not type into it", async () => {
    await using wsh = await session("read -rn1 -p 'sure? ' answer; . ~/.bashrc");
    await wsh.shows("s", "sure?");
    const waited = JSON.parse(await wsh.ok("wait", "s", "--json"));
    expect(waited.decided_by).toBe("waiting_for_input");
    expect(await refusal(wsh)).toMatch(/not reached its first prompt: 'bash' is running \(waiting_for_input/);
    await wsh.type("s", "y");
    await wsh.prompt("s");
    expect(await wsh.exec("s", "echo answer $answer")).toBe("answer y\n");
  });
});
