/**
 * Shells as people set them up. Frameworks that no package offers are represented by their essential lines,
 * rewritten: their effects on the variables and hooks that integration uses too.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { preexecLibrary } from "../support/preexec-library.ts";
import { testWith } from "../support/programs.ts";
import { findText, ShellTerminal } from "../support/terminals/shell-terminal.ts";

setDefaultTimeout(30_000);

describe("a preexec library that rewrites PROMPT_COMMAND", () => {
  for (const before of [
    "",
    "PROMPT_COMMAND='mine=1'",
    "PROMPT_COMMAND='mine=1;'",
    "PROMPT_COMMAND=('mine=1' 'other=2')",
  ]) {
    test(`does not grow or slow down: ${before || "alone"}`, async () => {
      const rc = `PS1='$ '\n${before}\n${preexecLibrary}\nprecmd_functions+=(told); told() { seen=$?; }
        preexec_functions+=(asked); asked() { last=$1; }`;
      await using shell = ShellTerminal.start("bash", { files: { ".bashrc": rc } });
      await shell.prompt();
      const sizes: string[] = [];
      for (let n = 0; n < 6; n++) {
        expect(await shell.run("(exit 7)")).toMatchObject({ sequence: "CDAB", exit: "7" });
        sizes.push((await shell.run(`x="\${PROMPT_COMMAND[*]}"; echo \${#x} $mine $seen`)).text);
      }
      expect(new Set(sizes.slice(1)).size).toBe(1);
      expect(sizes[5]).toMatch(before === "" ? /^\d+ 7\n$/ : /^\d+ 1 7\n$/);
      const shown = (await shell.run(`declare -p PROMPT_COMMAND`)).text;
      expect(shown.split("__wsh_pre").length).toBe(2);
      expect((await shell.run("echo $last")).text).toBe("echo $last\n");
      expect(findText(shell.output)).not.toContain("syntax error");
    });
  }
});

describe("zsh's arrays of hooks are the person's to assign:", () => {
  const theme = "theme() { PROMPT='@@ ' }; other() { seen=$? }";

  for (const assigned of [
    "precmd_functions=(theme)",
    "precmd_functions=()",
    "precmd_functions=(theme other) preexec_functions=()",
    "unset precmd_functions",
    "precmd_functions=(theme); precmd() { PROMPT='## ' }",
  ]) {
    for (const option of ["promptsp", "nopromptsp", "ksharrays"]) {
      testWith("zsh")(`${assigned} in .zshrc and at the prompt, ${option}`, async () => {
        const rc = `PROMPT='%% '; setopt ${option}; ${theme}; ${assigned}`;
        await using shell = ShellTerminal.start("zsh", { files: { ".zshrc": rc } });
        await shell.prompt();
        for (const line of [assigned, ". ~/.zshrc", "unset preexec_functions precmd_functions"]) {
          expect(await shell.run("(exit 7)")).toMatchObject({ sequence: "CDAB", exit: "7", text: "" });
          expect(await shell.run("printf end")).toMatchObject({ sequence: "CDAB", exit: "0", text: "end" });
          expect(await shell.run(`${line}; (exit 5)`)).toMatchObject({ sequence: "CDAB", exit: "5", text: "" });
          const since = shell.output.length;
          shell.write("\r");
          await shell.prompt(since);
          expect(shell.sequence(since)).toBe("AB");
        }
        expect((await shell.run("echo hi")).text).toBe("hi\n");
        expect((await shell.run("sched")).text).toBe("");
      });
    }
  }
});
