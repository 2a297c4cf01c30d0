import { describe, expect, setDefaultTimeout } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { findText, type ShellOptions, ShellTerminal, transcripts } from "../support/terminals/shell-terminal.ts";

const test = testWith("zsh");
setDefaultTimeout(30_000);

async function zsh(rc = "", options: ShellOptions = {}): Promise<ShellTerminal> {
  const shell = ShellTerminal.start("zsh", { ...options, files: { ".zshrc": `PS1='%% '\n${rc}\n`, ...options.files } });
  await shell.prompt();
  return shell;
}

const rcOf = (rc: string) => ({ ".zshrc": `PS1='@@ '\nPROMPT_EOL_MARK=''\nunsetopt zle promptsp\n${rc}\n` });

describe("the person's own zsh set-up works", () => {
  const hooks = `precmd() { echo "[precmd $? $pipestatus]" }; second() { echo "[second $?]" }; preexec() { echo "[preexec $1]" }
    precmd_functions+=(second)`;

  test("own hooks see the status; their output is not a command's output", async () => {
    await using shell = await zsh(hooks);
    const since = shell.output.length;
    const ran = await shell.run("true | (exit 4)");
    expect(ran).toMatchObject({ sequence: "CDAB", exit: "4", text: "" });
    expect(findText(shell.output.slice(since))).toMatch(
      /\[preexec true \| \(exit 4\)\]\n#? *\[precmd 4 0 4\]\n\[second 4\]\n/,
    );
    expect((await shell.run("echo $?")).text).toBe("4\n");
  });

  test("a theme that rebuilds PROMPT, over two lines, is wrapped again", async () => {
    await using shell = await zsh(`theme() { PROMPT="%F{red}status $?%f"$'\\n'"> " }; precmd_functions+=(theme)`);
    expect(await shell.run("(exit 6)")).toMatchObject({ sequence: "CDAB", exit: "6" });
    expect(findText(shell.output)).toContain("status 6\n> ");
    expect(await shell.run("true")).toMatchObject({ sequence: "CDAB", exit: "0" });
  });

  test("hooks added, removed and replaced at the prompt", async () => {
    await using shell = await zsh();
    await shell.run("later() { PROMPT='later> ' }; precmd_functions+=(later); preexec_functions+=(print)");
    await shell.run("true");
    const { sequence } = await shell.run("(exit 2)");
    expect(sequence).toBe("CDAB");
    expect((await shell.run("echo $precmd_functions[2]")).text).toBe("later\n");
    expect(await shell.run("PROMPT_EOL_MARK=%; (exit 7)")).toMatchObject({ sequence: "CDAB", exit: "7" });
    expect(findText(shell.output)).toContain("later> ");
  });

  test("a prompt that prints its own marks leaves ours verified", async () => {
    await using shell = await zsh("PS1=$'%{\\e]133;D;0\\a\\e]133;A\\a%}%% %{\\e]133;B\\a%}'");
    await shell.until("own prompt", () => shell.sequence().endsWith("B"));
    const verified = (await shell.run("(exit 3)")).marks.filter((mark) => mark.verified);
    expect(verified.map((mark) => mark.kind).join("")).toBe("CEDAB");
    expect(verified.find((mark) => mark.kind === "D")?.exit).toBe("3");
  });

  for (const options of [
    "promptsubst",
    "nounset",
    "errreturn",
    "ksharrays",
    "shwordsplit",
    "ksharrays shwordsplit nounset globsubst",
    "allexport",
    "vi",
    "nopromptcr",
    "nopromptsp",
    "noclobber",
    "warncreateglobal",
    "nopromptpercent",
    "extendedglob nomatch",
    "histignorespace histignorealldups",
    "transientrprompt",
    "noglob",
    "posixbuiltins",
  ]) {
    test(`setopt ${options}`, async () => {
      await using shell = await zsh(`setopt ${options}\nRPROMPT=right`);
      expect(await shell.run("false || echo on")).toMatchObject({ sequence: "CDAB", text: "on\n", exit: "0" });
      expect(await shell.run(" ! true")).toMatchObject({ sequence: "CDAB", exit: "1" });
      expect(await shell.run("cd /tmp")).toMatchObject({ sequence: "CDAB", exit: "0" });
      expect((await shell.run("env -u PATH /usr/bin/env")).text).not.toMatch(/wsh|n0nce|\x1b/);
      expect(findText(shell.output)).not.toMatch(/wsh|not set|unbound|parameter/);
    });
  }

  test("setopt errexit ends the shell as it would without integration", async () => {
    await using shell = await zsh("setopt errexit");
    expect(await shell.run("false || echo on")).toMatchObject({ sequence: "CDAB", text: "on\n" });
    shell.write("(exit 4)\r");
    expect(await shell.exited()).toBe(4);
  });

  for (const [what, rc] of [
    ["hooks", hooks],
    ["set -x", "precmd() { echo mine }; setopt xtrace"],
    ["verbose", "setopt verbose"],
    ["a ZERR trap", "trap 'echo err' ZERR"],
    ["an EXIT trap", "trap 'echo bye' EXIT; chpwd() { echo moved }"],
  ] as const) {
    test(`${what}: the screen is the same`, async () => {
      const lines = ["echo $? hi", "false", "f() { echo in f; }; f", "echo $?", "", "cd / && pwd", ")"];
      const { bare, ours } = await transcripts("zsh", rcOf(rc), lines);
      expect(ours).toBe(bare);
    });
  }

  // zsh runs DEBUG traps inside every hook function, ours included.
  test("a DEBUG trap keeps working", async () => {
    await using shell = await zsh(`TRAPDEBUG() { print -r -- "debug: $ZSH_DEBUG_CMD" }`);
    const { text, exit } = await shell.run("false");
    expect(exit).toBe("1");
    expect(text).toContain("debug: false\n");
  });

  test("nothing reaches child shells or the history", async () => {
    await using shell = await zsh("export PS1");
    const since = shell.output.length;
    shell.write("zsh -f\r");
    await shell.until("child's prompt", () => /133;C[\s\S]*\x1b\[\?2004h/.test(shell.output.slice(since)));
    const inner = shell.output.length;
    shell.write("echo inner''-ok; (echo sub''shell)\r");
    await shell.see("subshell", inner);
    expect(shell.sequence(inner)).toBe("");
    expect(findText(shell.output.slice(inner))).not.toContain("wsh");
    shell.write("exit 3\r");
    await shell.until("end", () => shell.marks.some((mark) => mark.kind === "D" && mark.exit === "3"));
    expect((await shell.run("fc -l -20")).text).not.toContain("wsh");
  });
});

describe("zsh starts as without integration", () => {
  const announce = (name: string) => `echo ${name} $- "\${ZDOTDIR-no ZDOTDIR}" "\${WSH_SHELL_KEY-no nonce}"\n`;
  const dotfiles = (directory: string) =>
    Object.fromEntries(
      [".zshenv", ".zprofile", ".zshrc", ".zlogin", ".zlogout"].map((name) => [directory + name, announce(name)]),
    );
  const state =
    `echo "$? $- $0 $SHLVL $#" \${ZDOTDIR-none}; setopt; env | sort; trap; alias; print -l \${(ko)functions:#__wsh*};` +
    ` print -l \${(ko)parameters:#(__wsh|PROMPT_EOL_MARK|pre(cmd|exec)_functions)}; ulimit -a; umask; bindkey | grep -v __wsh; zmodload | grep -v zsh/sched`;

  for (const login of [false, true]) {
    for (const moved of [false, true]) {
      test(`${login ? "login" : "interactive"}${moved ? ", ZDOTDIR set" : ""}: order, options, variables, functions`, async () => {
        const [bare = "", ours = ""] = await Promise.all(
          [false, true].map(async (integration) => {
            const files = { ...dotfiles(""), ...dotfiles("moved/") };
            const home = { ZDOTDIR: "moved" };
            await using shell = ShellTerminal.start("zsh", {
              login,
              integration,
              files,
              ...(moved ? { env: home } : {}),
            });
            await shell.until("prompt", () => shell.output.includes("\x1b[K"));
            shell.write(`{ ${state}; } > ~/dump 2>&1; echo written''-ok\r`);
            await shell.see("written-ok");
            shell.write("exit\r");
            await shell.exited();
            const dump = readFileSync(join(shell.home, "dump"), "utf8");
            const seen = findText(shell.output).match(/^\.z.*$/gm);
            return `${seen?.join("\n")}\n${dump}`.replaceAll(shell.home, "HOME");
          }),
        );
        expect(ours).toBe(bare);
        expect(ours).toStartWith(login ? ".zshenv" : ".zshenv");
        expect(ours).toContain("no nonce");
      });
    }
  }
});
