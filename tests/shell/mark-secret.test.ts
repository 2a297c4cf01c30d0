/** The secret of a session's marks is known to its shell alone; the path of our scripts is not executed in any shell. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { findText, NONCE, ShellTerminal } from "../support/terminals/shell-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const own = { bash: ".bashrc", zsh: ".zshrc", fish: ".config/fish/config.fish" } as const;
const shells = ["bash", "zsh", "fish"] as const;

describe("no program finds the secret:", () => {
  for (const shell of shells) {
    for (const login of [false, true]) {
      testWith(shell)(`${login ? "login " : ""}${shell}`, async () => {
        const pid = shell === "fish" ? "$fish_pid" : "$$";
        const look = `cat /proc/${pid}/environ ~/key 2>/dev/null | tr '\\0' '\\n' | grep -c n0n''ce`;
        const files = { [own[shell]]: `echo rc-(${look})\n`, ".bash_profile": ". ~/.bashrc\n" };
        const rc = shell === "fish" ? files : { ...files, [own[shell]]: `PS1='$ '; echo rc-$(${look})\n` };
        await using terminal = ShellTerminal.start(shell, { login, files: rc });
        await terminal.prompt();
        // fish runs our script after the person's configuration.
        if (shell !== "fish") expect(findText(terminal.output)).toContain("rc-0");
        expect((await terminal.run(look)).text).toBe("0\n");
        expect((await terminal.run("env")).text).not.toMatch(new RegExp(`${NONCE}|WSH_SHELL`));
        expect(fs.statSync(join(terminal.home, "key")).size).toBe(0);
        expect(terminal.marks.find(({ kind }) => kind === "B")?.verified).toBe(true);
      });
    }
  }

  for (const shell of shells) {
    testWith(shell)(`and its file goes when ${shell} has it, also after a restart`, async () => {
      await using wsh = new Wsh();
      const files = () => keyFiles(wsh);
      await wsh.session("s", "--shell", shell);
      expect(JSON.parse(await wsh.ok("exec", "s", "--json", "--", "echo hi"))).toMatchObject({ output: "hi" });
      expect(files()).toEqual([]);
      await wsh.ok("restart", "s");
      expect(JSON.parse(await wsh.ok("exec", "s", "--json", "--", "echo hi"))).toMatchObject({ output: "hi" });
      const [record] = await wsh.commands("s");
      expect(record).toMatchObject({ verified: true });
      expect(files()).toEqual([]);
    });
  }

  test("and a shell without integration leaves no file", async () => {
    await using wsh = new Wsh();
    await wsh.session("gone", "--shell", "sh");
    await until("no file", () => keyFiles(wsh).length === 0 || null);
  });
});

function keyFiles(wsh: Wsh): string[] {
  const places = [join(wsh.dir, "run"), wsh.instance.stateDir];
  const files = places.flatMap((path) => fs.readdirSync(path, { recursive: true, encoding: "utf8" }));
  return files.filter((name) => /key\./.test(name));
}

describe("a directory's name is not executed:", () => {
  for (const name of [
    "$(touch made)",
    "`touch made`",
    "a\"b'c",
    "back\\slash",
    "$\u007bHOME}",
    "~",
    "new\nline",
    "sp ace;touch made",
    "*?[x]",
    "!!",
  ]) {
    for (const shell of shells) {
      testWith(shell)(`${shell} in ${JSON.stringify(name)}`, async () => {
        for (const login of [false, true]) {
          await using terminal = ShellTerminal.start(shell, { login, scripts: name });
          await terminal.prompt();
          expect((await terminal.run("echo hi")).text).toBe("hi\n");
          expect(fs.existsSync(join(terminal.home, "made"))).toBe(false);
        }
      });
    }
  }
});
