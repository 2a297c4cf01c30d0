/**
 * Shells as people have set them up. Frameworks that no package offers are stood in for by their essential lines, written
 * anew: what they do to the variables and hooks that integration uses too.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { findText, ShellTerminal } from "./support/shell-terminal.ts";

setDefaultTimeout(30_000);

/** As bash-preexec does since 0.5 (atuin and iTerm2 bring it along): a DEBUG trap, and an installation at the first prompt. */
const preexecLibrary = String.raw`
pl_invoke() { pl_status=$?; for pl_each in "${"$"}{precmd_functions[@]}"; do pl_return "$pl_status"; "$pl_each"; done; }
pl_return() { return "$1"; }
pl_ready() { pl_at_prompt=on; }
pl_debug() {
  [[ -t 1 && -z $COMP_LINE && -n $pl_at_prompt ]] || return 0
  pl_at_prompt=
  local part parts trimmed
  IFS=$'\n;' read -rd '' -a parts <<<"${"$"}{PROMPT_COMMAND[*]}"
  for part in "${"$"}{parts[@]}"; do pl_trim trimmed "$part"; [[ $trimmed == "$BASH_COMMAND" ]] && return 0; done
  local line; line=$(HISTTIMEFORMAT= builtin history 1 | sed '1 s/^ *[0-9][0-9]*[* ] //')
  [[ -n $line ]] || return 0
  for part in "${"$"}{preexec_functions[@]}"; do "$part" "$line"; done
}
pl_trim() { local text=$2; text=${"$"}{text#"${"$"}{text%%[![:space:]]*}"}; text=${"$"}{text%"${"$"}{text##*[![:space:]]}"}; printf -v "$1" %s "$text"; }
pl_clean() { local out; pl_trim out "$2"; out=${"$"}{out%;}; out=${"$"}{out#;}; pl_trim out "$out"; printf -v "$1" %s "$out"; }
pl_later=$'pl_trap=$(trap -p DEBUG)\ntrap - DEBUG\npl_install'
pl_install() {
  [[ ${"$"}{PROMPT_COMMAND[*]} == *pl_invoke* ]] && return 1
  trap 'pl_debug "$_"' DEBUG
  local old=$PROMPT_COMMAND
  old=${"$"}{old//"$pl_later"/:}
  old=${"$"}{old//$'\n:\n'/$'\n'}
  old=${"$"}{old//$'\n:;'/$'\n'}
  pl_clean old "$old"
  [[ $old == : ]] && old=
  PROMPT_COMMAND=pl_invoke
  PROMPT_COMMAND+=${"$"}{old:+$'\n'$old}
  PROMPT_COMMAND+=(pl_ready)
  pl_invoke
  pl_ready
}
pl_clean pl_old "$PROMPT_COMMAND"
PROMPT_COMMAND=${"$"}{pl_old:+$pl_old$'\n'}$pl_later
`;

describe("a preexec library that rewrites PROMPT_COMMAND", () => {
  for (const before of [
    "",
    "PROMPT_COMMAND='mine=1'",
    "PROMPT_COMMAND='mine=1;'",
    "PROMPT_COMMAND=('mine=1' 'other=2')",
  ]) {
    test(`grows nothing, costs nothing: ${before || "alone"}`, async () => {
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
      test(`${assigned} in .zshrc and at the prompt, ${option}`, async () => {
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
