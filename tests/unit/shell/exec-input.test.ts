import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { execInput } from "../../../src/shell/exec-input.ts";
import { testWith } from "../../support/programs.ts";
import { ShellTerminal } from "../../support/terminals/shell-terminal.ts";

setDefaultTimeout(30_000);

const posix: readonly (readonly [what: string, command: string, output: string])[] = [
  ["a plain command", "echo hello world", "hello world\n"],
  ["several lines", "echo one\necho two", "one\ntwo\n"],
  ["a final newline", "echo one\n", "one\n"],
  ["many final newlines", "echo one\n\n\n", "one\n"],
  ["no final newline in the output", "printf x", "x"],
  ["single quotes", "echo 'it'\\''s; $HOME `x`'", "it's; $HOME `x`\n"],
  ["double quotes", 'X=1; echo "a  $X \\"b\\" \'c\'"', "a  1 \"b\" 'c'\n"],
  ["a loop", "for i in 1 2; do\n  echo $i\ndone", "1\n2\n"],
  ["a heredoc", "cat <<'END'\n$x 'y' \"z\"\n\ttab\nEND", "$x 'y' \"z\"\n\ttab\n"],
  ["a heredoc, then more", "cat <<END\na\nEND\necho b", "a\nb\n"],
  ["history expansion characters", "echo hi! !! !$ 'a!b' \"c!d\"", "hi! !! !$ a!b c!d\n"],
  ["a quick substitution", "^a^b^ 2>/dev/null || echo no", "no\n"],
  ["comments", "# first\necho a # second\n# third", "a\n"],
  ["a tab", "echo 'a\tb'\t c", "a\tb c\n"],
  ["control characters", "printf '%s' '\x01\x1b[201~\x7f' | od -An -tx1", " 01 1b 5b 32 30 31 7e 7f\n"],
  ["carriage returns", "printf '%s' 'a\rb' | od -An -tx1", " 61 0d 62\n"],
  ["other scripts and emoji", "echo 'grüße 漢字 👍🏽'", "grüße 漢字 👍🏽\n"],
  ["a URL with metacharacters", "echo 'http://x/?a=b' true&&echo done", "http://x/?a=b true\ndone\n"],
  ["backslashes", "printf '%s\\n' 'a\\nb' a\\\\b", "a\\nb\na\\b\n"],
  ["a continued line", "echo a \\\n  b", "a b\n"],
  ["a pipe over lines", "printf 'b\\na\\n' |\n  sort", "a\nb\n"],
  ["a function, then its call", 'f() {\n  echo "f $1"\n}\nf 1', "f 1\n"],
  ["an alias, then its use", "alias zz='echo aliased'\nzz", "aliased\n"],
  ["a command that reads nothing of the text", "true; cat </dev/null\necho after", "after\n"],
  ["3,000 lines", `${"true x\n".repeat(3000)}echo end`, "end\n"],
  ["a long line", `echo ${"word ".repeat(2000)}| wc -w`, "2000\n"],
];

const fish: readonly (readonly [what: string, command: string, output: string])[] = [
  ...posix.filter(([, command]) => !/<<|; do|f\(\)|x=1|alias|^\^|`|\\n'|'\\''|!!|\\\\|a!b|word /i.test(command)),
  ["single quotes", "echo 'it\\'s \\\\ $HOME'", "it's \\ $HOME\n"],
  ["a loop", "for i in 1 2\n  echo $i\nend", "1\n2\n"],
  ["exclamation marks", "echo hi! !!", "hi! !!\n"],
  ["a long line", `echo (count ${"word ".repeat(2000)})`, "2000\n"],
  ["an abbreviation is not expanded", "abbreviated", "function\n"],
  ["an abbreviation after a command", "true; abbreviated", "function\n"],
];

const rc = {
  ".bashrc": "PS1='$ '\nHISTFILE=~/hist\n",
  ".zshrc": "PS1='$ '\nHISTFILE=~/hist SAVEHIST=1000 HISTSIZE=1000\n",
  ".config/fish/config.fish":
    "function fish_prompt; echo '$ '; end\nfunction fish_greeting; end\nabbr -a abbreviated 'echo expanded'\nfunction abbreviated; echo function; end\n",
};

describe("input of exec runs exactly, as one command", () => {
  for (const [kind, cases] of [
    ["bash", posix],
    // zsh's eval reads all of its text before it runs any.
    ["zsh", posix.filter(([what]) => what !== "an alias, then its use")],
    ["fish", fish],
  ] as const) {
    for (const bracketedPaste of [true, false]) {
      testWith(kind)(`${kind} ${bracketedPaste ? "with" : "without"} bracketed paste`, async () => {
        await using shell = ShellTerminal.start(kind, { files: rc });
        await shell.prompt();
        if (!bracketedPaste && kind === "bash") await shell.run("bind 'set enable-bracketed-paste off'");
        if (!bracketedPaste && kind === "zsh") await shell.run("unset zle_bracketed_paste");
        for (const [what, command, output] of cases) {
          // Typed without brackets, as much as this keeps the editors of zsh and fish busy for seconds.
          if (kind !== "bash" && !bracketedPaste && command.length > 5000) continue;
          // Typed, an abbreviation is expanded at the blank behind it, as for a person.
          if (!bracketedPaste && command.endsWith("abbreviated")) continue;
          const ran = await shell.run(execInput(command, kind, { bracketedPaste }).text);
          // readline may draw its prompt again, with its marks, while it takes in a line.
          const sequence = ran.sequence.replace(/^(?:AB)+C/, "C");
          expect({ what, sequence, exit: ran.exit, text: ran.text }).toEqual({
            what,
            sequence: "CDAB",
            exit: "0",
            text: output,
          });
        }
        const failed = await shell.run(execInput("echo 'open", kind, { bracketedPaste }).text);
        expect(failed.sequence).toBe("CDAB");
        expect(failed.exit).not.toBe("0");
        const blank = await shell.run(execInput(" ", kind, { bracketedPaste }).text);
        expect(blank).toMatchObject({ sequence: "CDAB", exit: "0", text: "" });
      });
    }
  }

  for (const kind of ["bash", "zsh"] as const) {
    testWith(kind)(`${kind}: a plain command is in the history unchanged`, async () => {
      await using shell = ShellTerminal.start(kind, { files: rc });
      await shell.prompt();
      await shell.run(execInput("echo plain", kind, { bracketedPaste: true }).text);
      shell.write("exit\r");
      await shell.exited();
      expect(readFileSync(join(shell.home, "hist"), "utf8")).toContain("echo plain\n");
    });
  }
});

describe("the typed line", () => {
  const line = (command: string, kind: "bash" | "zsh" | "fish" | "other" = "bash", bracketedPaste = true) =>
    execInput(command, kind, { bracketedPaste }).line;

  test("is the command itself if nothing could change it", () => {
    for (const command of ["ls -la", "git commit -m 'a b'", 'echo "$HOME" $(date) {a,b} | wc &', " spaced"]) {
      expect(line(command)).toBe(command);
      expect(line(command, "zsh")).toBe(command);
    }
  });

  test("is one eval where the shell would continue or split it", () => {
    expect(line("echo 'a\nb'")).toBe("eval 'echo '\\''a\nb'\\'''");
    expect(line("echo a\necho b", "bash", false)).toBe("eval $'echo a\\necho b'");
    expect(line("echo a |")).toBe("eval 'echo a |'");
    expect(line("if true", "fish")).toBe("eval 'if true'");
    expect(line("echo a\necho b", "fish", false)).toBe("eval 'echo a'\\n'echo b'");
    expect(line("echo hi!")).toBe("eval $'echo hi\\041'");
  });

  test("never ends a bracketed paste early and never contains a NUL", () => {
    for (const kind of ["bash", "zsh", "fish", "other"] as const) {
      const typed = new TextDecoder().decode(execInput("a\x1b[201~\rrm", kind, { bracketedPaste: true }).text);
      expect(typed.split("\x1b[201~").length).toBe(2);
    }
    expect(() => execInput("a\0b", "bash", { bracketedPaste: true })).toThrow("NUL");
  });
});
