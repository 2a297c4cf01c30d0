import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findText, type ShellOptions, ShellTerminal, transcripts } from "../support/terminals/shell-terminal.ts";

setDefaultTimeout(30_000);

async function bash(rc = "", options: ShellOptions = {}): Promise<ShellTerminal> {
  const files = { ".bashrc": `PS1='$ '\n${rc}\n`, ".bash_profile": `PS1='$ '\n${rc}\n`, ...options.files };
  const shell = ShellTerminal.start("bash", { ...options, files });
  await shell.prompt();
  return shell;
}

const rcOf = (rc: string) => ({ ".bashrc": `PS1='@@ '\n${rc}\n` });

/** Output of a command in a shell with or without integration: both write to a file that the test compares. */
async function dump(command: string, integration: boolean, options: ShellOptions): Promise<string> {
  await using shell = ShellTerminal.start("bash", { ...options, integration });
  const file = join(shell.home, "dump");
  shell.write(`{ ${command}; } > '${file}' 2>&1; echo written''-ok\r`);
  await shell.see("written-ok");
  return readFileSync(file, "utf8").replaceAll(shell.home, "HOME");
}

test("a command's text is escaped as VS Code does it", async () => {
  await using shell = await bash();
  const { marks } = await shell.run("echo 'a\\b;' \x16\x01 é");
  expect(marks.find((mark) => mark.kind === "E")?.text).toBe("echo 'a\\\\b\\x3b' \\x01 é");
});

describe("HISTCONTROL", () => {
  test("hides a command's text, never replaces it with an older one", async () => {
    await using shell = await bash("HISTCONTROL=ignoreboth");
    const text = async (line: string) => (await shell.run(line)).marks.find((mark) => mark.kind === "E")?.text;
    expect(await text(" secret 2>/dev/null")).toBeUndefined();
    expect(await text("echo one")).toBe("echo one");
    expect(await text("echo one")).toBeUndefined();
    expect(await text(" echo two")).toBeUndefined();
    expect(await text("echo three")).toBe("echo three");
  });

  test("an inherited history does not count as this shell's commands", async () => {
    const files = { ".bash_history": "old one\nold two\n" };
    await using shell = await bash("HISTTIMEFORMAT='%F %T '", { files });
    const since = shell.output.length;
    shell.write("\r");
    await shell.prompt(since);
    const { marks } = await shell.run("echo new");
    expect(marks.find((mark) => mark.kind === "E")?.text).toBe("echo new");
    expect((await shell.run("history")).text).not.toContain("wsh");
  });
});

describe("the person's own bash set-up works", () => {
  const seen = `user() { echo "[$? $_ \${PIPESTATUS[*]}]"; }`;

  for (const [form, rc] of [
    ["a string", `${seen}; PROMPT_COMMAND=user`],
    ["an exported string", `${seen}; export PROMPT_COMMAND=user`],
    ["an array", `${seen}; PROMPT_COMMAND=(user 'echo second $?')`],
  ] as const) {
    test(`PROMPT_COMMAND as ${form} sees status, last word and pipe status`, async () => {
      await using shell = await bash(rc);
      const since = shell.output.length;
      await shell.run("true | (exit 4)");
      const after = findText(shell.output.slice(since));
      expect(after).toMatch(/\[4 \S+ 0 4\]/);
      const status = await shell.run("false last-word");
      expect(findText(shell.output).slice(-200)).toContain("[1 last-word 1]");
      expect(status).toMatchObject({ sequence: "CDAB", exit: "1", text: "" });
      expect((await shell.run("echo $? $_")).text).toBe("1 last-word\n");
      await shell.run("true | (exit 7)");
      expect((await shell.run(`echo \${PIPESTATUS[@]}`)).text).toBe("0 7\n");
    });
  }

  test("PROMPT_COMMAND may be set, extended, emptied and removed at the prompt", async () => {
    await using shell = await bash("PROMPT_COMMAND='echo old'");
    const shown = async (line: string) => {
      const first = await shell.run(line);
      const since = shell.output.length;
      shell.write("\r");
      const end = await shell.prompt(since);
      const text = findText(shell.output.slice(since, end)).replace(/^.*\n/, "").replaceAll("\n", " ");
      expect(first.sequence).toBe("CDAB");
      return text;
    };
    expect(await shown("true")).toBe("old $ ");
    expect(await shown("PROMPT_COMMAND='echo new'")).toBe("new $ ");
    expect(await shown('PROMPT_COMMAND="$PROMPT_COMMAND; echo more"')).toBe("new more $ ");
    expect(await shown('PROMPT_COMMAND="echo less; $PROMPT_COMMAND"')).toBe("less new more $ ");
    expect(await shown("PROMPT_COMMAND+=('echo appended')")).toBe("less new more appended $ ");
    expect(await shown("PROMPT_COMMAND=")).toBe("appended $ ");
    expect(await shell.run("(exit 9)")).toMatchObject({ sequence: "CDAB", exit: "9" });
    await shell.run("unset PROMPT_COMMAND");
    expect(await shell.run("(exit 8)")).toMatchObject({ sequence: "CDAB", exit: "8" });
    expect(await shell.run("(exit 7)")).toMatchObject({ sequence: "CDAB", exit: "7" });
    const since = shell.output.length;
    shell.write("\r");
    await shell.prompt(since);
    expect(shell.sequence(since)).toBe("AB");
  });

  test("a prompt rebuilt before each display, over two lines, is wrapped again", async () => {
    await using shell = await bash(`build() { PS1="\\[\\e[32m\\]status $?\\n> \\[\\e[m\\]"; }; PROMPT_COMMAND=build`);
    expect(await shell.run("(exit 6)")).toMatchObject({ sequence: "CDAB", exit: "6" });
    expect(findText(shell.output)).toEndWith("status 6\n> ");
    expect(await shell.run("true")).toMatchObject({ sequence: "CDAB", exit: "0" });
  });

  test("a DEBUG trap that measures time is not disturbed by wsh's hooks", async () => {
    await using shell =
      await bash(`begin() { began=\${began:-$HISTCMD}; }; report() { echo "[began $began]"; unset began; }
      trap begin DEBUG; PROMPT_COMMAND=report`);
    await shell.run("true");
    const since = shell.output.length;
    await shell.run("PS1='new '; echo $began");
    await shell.run("echo $began");
    const { text } = await shell.run("echo $began");
    expect(text).toMatch(/^\d+\n$/);
    const reports = [...findText(shell.output.slice(since)).matchAll(/^(\d+)\n\[began (\d+)\]/gm)];
    expect(reports.length).toBe(3);
    const numbers = reports.map((report) => Number(report[1]));
    expect(numbers).toEqual([...new Set(numbers)]);
  });

  test("a prompt that prints its own marks leaves ours verified", async () => {
    await using shell = await bash(`PS1='\\[\\e]133;D;0\\a\\e]133;A\\a\\]$ \\[\\e]133;B\\a\\]'; PS0='\\e]133;C\\a'`);
    await shell.until("own prompt", () => shell.sequence().endsWith("B"));
    const { marks } = await shell.run("(exit 3)");
    const verified = marks.filter((mark) => mark.verified);
    expect(verified.map((mark) => mark.kind).join("")).toMatch(/^CDE?AB$/);
    expect(verified.find((mark) => mark.kind === "D")?.exit).toBe("3");
  });

  test("a preexec library on the DEBUG trap, which installs itself at the first prompt", async () => {
    const library = `
      invoke() { last=$?; echo "[precmd $last]"; PS1='@@ '; }
      interactive() { mode=on; }
      debug() { [[ -t 1 && -n $mode ]] || return 0; mode=; echo "[preexec $(HISTTIMEFORMAT= history 1 | tr -s ' ')]"; }
      install() {
        [[ $PROMPT_COMMAND == *invoke* ]] && return 1
        trap debug DEBUG
        PROMPT_COMMAND=$'invoke\\n'"\${PROMPT_COMMAND//install/:}"$'\\ninteractive'
        invoke; interactive
      }
      PROMPT_COMMAND='echo mine; install'`;
    const { bare, ours } = await transcripts("bash", rcOf(library), ["echo hi", "(exit 3)", "", "echo $?"]);
    expect(ours).toBe(bare);
  });

  for (const [what, rc] of [
    ["PS0", "PS0='[ps0 \\#]'"],
    ["an ERR and a CHLD trap", "trap 'echo err $?' ERR; trap 'echo child' CHLD"],
    ["a DEBUG trap", `trap 'echo "debug: $BASH_COMMAND"' DEBUG; PROMPT_COMMAND='echo prompt'`],
    ["set -x", "PROMPT_COMMAND='echo mine'; set -x"],
    ["set -x with a trace file", "exec 9>trace; BASH_XTRACEFD=9; set -x"],
    ["functions that are traced", "f() { echo in f; }; declare -ft f"],
    ["a pipeline's status", "set -o pipefail"],
    ["posix mode", "set -o posix"],
    ["notification of jobs", "set -b"],
    ["another IFS", "IFS=0123456789e"],
    ["case-blind matching", "shopt -s nocasematch nullglob extglob localvar_inherit"],
    ["return from the rc file", "return"],
  ] as const) {
    test(`${what}: the screen is the same`, async () => {
      const lines = [
        "trap 'echo returned' RETURN",
        "echo $? hi",
        "false",
        "f; (exit 4)",
        "echo $?",
        "",
        "cd / && pwd",
        ")",
      ];
      const { bare, ours } = await transcripts("bash", rcOf(rc), lines);
      expect(ours).toBe(bare);
    });
  }

  for (const options of ["-o vi", "-eu", "-u", "-T", "-f", "-C", "-a", "-b"]) {
    test(`set ${options}`, async () => {
      await using shell = await bash(`set ${options}`);
      expect(await shell.run("echo $-$SHELLOPTS > options; false || echo on")).toMatchObject({
        sequence: "CDAB",
        text: "on\n",
      });
      expect(await shell.run("! true")).toMatchObject({ sequence: "CDAB", exit: "1" });
      expect(await shell.run("cd /tmp")).toMatchObject({ sequence: "CDAB", exit: "0" });
      expect((await shell.run("env -u PATH /usr/bin/env")).text).not.toMatch(/wsh|n0nce/);
      expect(findText(shell.output)).not.toContain("unbound");
    });
  }

  test("set -eu ends the shell as it would without integration", async () => {
    await using shell = await bash("set -eu");
    shell.write("(exit 4)\r");
    expect(await shell.exited()).toBe(4);
  });

  for (const options of ["promptvars", "cmdhist"]) {
    test(`shopt -u ${options}`, async () => {
      await using shell = await bash(`shopt -u ${options}`);
      expect(await shell.run("(exit 4)")).toMatchObject({ sequence: "CDAB", exit: "4" });
      const since = shell.output.length;
      shell.write("\r");
      await shell.prompt(since);
      expect(shell.sequence(since)).toBe("AB");
      expect(findText(shell.output.slice(since))).not.toContain("wsh");
    });
  }

  test("readonly PS1, PS0 or PROMPT_COMMAND: fewer marks, no message", async () => {
    await using first = await bash("readonly PROMPT_COMMAND");
    expect(await first.run("(exit 4)")).toMatchObject({ sequence: "CDAB", exit: "4" });
    expect(findText(first.output)).not.toContain("readonly");
    await using second = ShellTerminal.start("bash", { files: { ".bashrc": "readonly PS1='$ ' PS0=''" } });
    second.write("echo still''-here\r");
    await second.see("still-here");
    expect(findText(second.output)).not.toContain("readonly variable");
  });

  test("nothing reaches child shells, even when the prompt is exported", async () => {
    await using shell = await bash("export PS1 PS0='' PROMPT_COMMAND=true; set -u");
    const since = shell.output.length;
    shell.write("bash --norc -u\r");
    await shell.until("child's prompt", () => /\$ $/.test(findText(shell.output.slice(since))));
    const inner = shell.output.length;
    shell.write("echo inner''-ok; ( echo subshell )\r");
    await shell.see("subshell", inner + 40);
    expect(shell.sequence(inner)).toBe("");
    expect(findText(shell.output.slice(inner))).not.toMatch(/unbound|not found|wsh/);
    shell.write("exit 3\r");
    await shell.until("end", () => shell.marks.some((mark) => mark.kind === "D" && mark.exit === "3"));
  });
});

describe("bash starts as without integration", () => {
  const files = {
    ".bashrc": "echo rc $0 $- $?; alias ll='ls -l'; trap 'echo bye' EXIT; shopt -s extglob; X=1\nfalse\n",
    ".bash_profile": "echo profile $0 $- $?; . ~/.bashrc\n(exit 6)\n",
    ".profile": "echo never\n",
    ".bash_logout": "echo logout > logged-out\n",
    ".bash_history": "earlier\n",
  };
  const hidden =
    "__wsh|PIPESTATUS|BASHPID|RANDOM|SECONDS|EPOCH|PROMPT_COMMAND|PS[01]=|PPID|_=|BASH_COMMAND|HISTCMD|BASH_ARGV";
  const state =
    `echo "$? $- $0 $SHLVL $# $PPID" | sed "s/ [0-9]*$//"; echo $MAILCHECK $HISTFILE $HISTSIZE; shopt; set -o; env | sort; trap -p; alias;` +
    ` declare -F | grep -v __wsh; declare -p | grep -vE '${hidden}'; ulimit -a; umask; history | grep -v dump; declare -p HISTFILE MAILCHECK ENV`;

  for (const login of [false, true]) {
    for (const env of [
      {},
      { HISTFILE: "/tmp/wsh-none", MAILCHECK: "7", ENV: "/tmp/wsh-env", BASH_ENV: "/tmp/wsh-none" },
    ]) {
      const how = `${login ? "login" : "interactive"}, ${Object.keys(env).length === 0 ? "plain" : "inherited variables"}`;
      test(`${how}: options, variables, traps, functions, history, status`, async () => {
        const [without, withUs] = await Promise.all(
          [false, true].map((integration) => dump(state, integration, { login, files, env })),
        );
        expect(withUs).toBe(without ?? "");
        expect(withUs).toStartWith(login ? "6 " : "1 ");
      });
    }
  }

  test("login: order of files, and ~/.bash_logout at the end", async () => {
    await using shell = ShellTerminal.start("bash", { login: true, files });
    await shell.prompt();
    expect(findText(shell.output)).toMatch(/^profile -bash \S+ 0\nrc -bash \S+ 0\n/);
    await shell.run("trap - EXIT");
    shell.write("exit\r");
    expect(await shell.exited()).toBe(0);
    expect(readFileSync(join(shell.home, "logged-out"), "utf8")).toBe("logout\n");
  });

  test("a failing last line under set -e does not end it", async () => {
    const rc = "set -e\n[ a = b ] && echo never\n";
    for (const login of [false, true]) {
      await using shell = ShellTerminal.start("bash", { login, files: { ".bashrc": rc, ".profile": rc } });
      await shell.prompt();
      expect(await shell.run("echo on")).toMatchObject({ text: "on\n", exit: "0" });
    }
  });
});
