/** Commands end exactly with any rc file: custom prompts, hooks, traps and editors. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { prepareFish } from "../support/fish-home.ts";
import { Http } from "../support/http.ts";
import { isMissing } from "../support/programs.ts";
import { SessionApi } from "../support/session-api.ts";
import { shared } from "../support/shared.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(30_000);

/** A brief run uses every second one of each shell. */
const FULL = process.env.WSH_TEST_FULL === "1";

const wsh = shared(new Wsh());
const http = new Http({ unix: wsh.instance.httpSocket });

/** OSC 133 as a person's own prompt prints it, without a nonce. */
const mark = (kind: string): string => `\\e]133;${kind}\\a`;

const rcFiles: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bash: {
    "a PROMPT_COMMAND": `PROMPT_COMMAND='history -a /dev/null; printf "\\e]0;%s\\a" "$PWD"'; PS1='\\u@\\h:\\w\\$ '`,
    "a PROMPT_COMMAND of several, which fail and print": `PROMPT_COMMAND=(false 'echo from the prompt' 'return 3'); PS1='> '`,
    "a DEBUG trap": `trap 'last=$BASH_COMMAND; printf "\\e]0;%s\\a" "$last"' DEBUG; PS1='$ '`,
    "a DEBUG trap that functions inherit": `trap 'true "$BASH_COMMAND"' DEBUG; set -o functrace; PS1='$ '`,
    "the editor of vi": "set -o vi; PS1='$ '",
    "no bracketed paste": "bind 'set enable-bracketed-paste off'; PS1='$ '",
    "a prompt of several lines, built anew each time": `build() { local code=$?; PS1="\\n\\[\\e[1;34m\\]\\w\\[\\e[0m\\] took \${SECONDS}s [$code]\\n\\[\\e[32m\\]❯\\[\\e[0m\\] "; }; PROMPT_COMMAND=build`,
    "a prompt at the right edge": `PS1='\\[\\e7\\e[24;60Hright side\\e8\\]$ '`,
    "a history that forgets": "HISTCONTROL=ignoreboth; HISTIGNORE='*'; HISTSIZE=0; PS1='$ '",
    "no history": "set +o history; PS1='$ '",
    "no history expansion, errors on unset variables": "set +H -u; PS1='$ '",
    tracing: "set -x; PS1='$ '",
    "marks of the prompt's own": `PS0='${mark("C")}'; PROMPT_COMMAND='printf "${mark("D;42")}"'; PS1='\\[${mark("A")}\\]$ \\[${mark("B")}\\]'`,
    "output before the first prompt": "printf 'Welcome!\\nno newline'; PS1='$ '",
    "slow and noisy to start": "sleep 0.3; echo started; PS1='$ '",
    "an empty prompt": "PS1=''",
    "a title in every prompt": `PS1='\\[\\e]0;\\u@\\h: \\w\\a\\]\\u@\\h:\\w\\$ '`,
    "aliases of common words": "alias printf='printf' false='false' cd='cd -P'; PS1='$ '",
  },
  zsh: {
    "hooks of its own": `precmd() { print -Pn '\\e]0;%~\\a' }; preexec() { print -Pn '\\e]0;running\\a' }; PS1='%# '`,
    "hooks that fail and print": "precmd() { echo from precmd; return 3 }; preexec() { false }; PS1='%# '",
    "the editor of vi, with a mode in the prompt": `bindkey -v; zle-keymap-select() { zle reset-prompt }; zle -N zle-keymap-select; PS1='%# '`,
    "a prompt of several lines, and one at the right": `setopt prompt_subst; PS1=$'\\n%B%F{blue}%~%f%b took \${SECONDS}s [%?]\\n%F{green}❯%f '; RPROMPT='%T'`,
    "no line before the prompt": "unsetopt prompt_sp prompt_cr; PS1='%# '",
    "a history that forgets": "setopt hist_ignore_all_dups hist_ignore_space hist_no_store; HISTSIZE=1; PS1='%# '",
    "errors on unset variables": "setopt no_unset; PS1='%# '",
    tracing: "setopt xtrace; PS4='+'; PS1='%# '",
    "marks of the prompt's own": `precmd() { printf '${mark("D;42")}' }; preexec() { printf '${mark("C")}' }; PS1=$'%{${mark("A")}%}%# %{${mark("B")}%}'`,
    "a DEBUG trap": "TRAPDEBUG() { last=$ZSH_DEBUG_CMD }; PS1='%# '",
    "a prompt that is drawn anew": "TMOUT=1; TRAPALRM() { zle && zle reset-prompt }; PS1='%# '",
    "globs that must match, ksh arrays, words that split": "setopt nomatch ksh_arrays sh_word_split; PS1='%# '",
    "an editor that computes before it reads": `zmodload zsh/datetime; slow() { local -F end=$((EPOCHREALTIME + 0.8)); (( n++ == 1 )) && while ((EPOCHREALTIME < end)) do :; done }; zle -N zle-line-init slow; PS1='%# '`,
  },
  fish: {
    "the editor of vi": "fish_vi_key_bindings; function fish_mode_prompt; echo '[I] '; end",
    "a prompt of several lines, and one at the right": `function fish_prompt; printf '\\n\\e[34m%s\\e[0m [%s]\\n❯ ' (pwd) $status; end; function fish_right_prompt; date +%T; end`,
    "events of its own": `function before --on-event fish_preexec; printf '\\e]0;%s\\a' $argv; end; function after --on-event fish_postexec; false; end`,
    "a greeting and a title":
      "function fish_greeting; echo hello; echo there; end; function fish_title; echo mine; end",
    "marks of the prompt's own": `function fish_prompt; printf '${mark("A")}> ${mark("B")}'; end; function m --on-event fish_postexec; printf '${mark("D;42")}'; end`,
    abbreviations: "abbr -a echo 'echo abbreviated'; abbr -a false true",
  },
};

/** A home directory that contains only this rc file. */
function home(shell: string, text: string): string {
  const dir = fs.mkdtempSync(join(wsh.dir, "h-"));
  const files: Record<string, string> = {
    bash: ".bash_profile",
    zsh: ".zshrc",
    fish: ".config/fish/config.fish",
  };
  const file = join(dir, files[shell] ?? "");
  fs.mkdirSync(join(file, ".."), { recursive: true });
  fs.writeFileSync(file, `${text}\n`);
  return dir;
}

let sessions = 0;
async function start(shell: string, rc: string): Promise<SessionApi> {
  const dir = home(shell, rc);
  prepareFish(dir);
  const env = { HOME: dir, ZDOTDIR: dir, XDG_CONFIG_HOME: join(dir, ".config") };
  return SessionApi.shell(http, `${shell}${++sessions}`, { shell, env });
}

for (const [shell, files] of Object.entries(rcFiles)) {
  describe.skipIf(isMissing(shell))(`in ${shell} with`, () => {
    for (const [what, rc] of Object.entries(files).filter((_, at) => FULL || at % 2 === 0)) {
      test(what, async () => {
        const api = await start(shell, rc);
        expect(await api.exec("printf 'one\\ntwo'")).toMatchObject({
          exit_code: 0,
          output: expect.stringMatching(/one\ntwo$/),
        });
        const traced = what === "tracing";
        const lines = await api.exec("printf '%s\\n' 'it is' \\\n  'two lines'\nfalse");
        expect(lines).toMatchObject({ state: "finished", exit_code: 1 });
        if (!traced) expect(lines.output).toBe("it is\ntwo lines");
        const echo = await api.run("echo ty''ped\n");
        expect(echo).toMatchObject({ decided_by: "command_finished", exit_code: 0 });
        if (!traced) expect(echo.output).toMatch(/^(abbreviated )?typed$/);
        const records = await api.commands();
        expect(records.map(({ state, verified }) => [state, verified])).toEqual(Array(3).fill(["finished", true]));
        expect((await api.status()).shell_integration).toEqual({ active: true, shell });
      });
    }
  });
}

test("errexit ends a bash at the first failure, with its code", async () => {
  const api = await start("bash", "set -eu; PS1='$ '");
  expect(await api.exec("printf fine")).toMatchObject({ exit_code: 0, output: "fine" });
  expect(await api.exec("echo before; (exit 4)")).toMatchObject({ state: "finished", exit_code: 4, output: "before" });
  expect(await api.status()).toMatchObject({ alive: false, exit_code: 4 });
});

test("forged marks start and end no command", async () => {
  const api = await start("bash", "PS1='$ '");
  const forged = `printf '\\033]133;D;0\\007\\033]133;A\\007$ \\033]133;B\\007\\033]133;C\\007\\033]133;D;0;nonce=x\\007'`;
  const begun = await api.exec(`${forged}; sleep 1; exit 9`, { background: true });
  const { command } = await api.until("command_finished", { command_id: begun.command_id });
  expect(command).toMatchObject({ id: begun.command_id, exit_code: 9, verified: true });
  expect((await api.commands()).length).toBe(1);
});

test("without integration everything but exec works, and the reason is reported", async () => {
  const env = { WSH_SHELL_INTEGRATION: "0" };
  const plain = new Wsh({ env, name: "plain" });
  await using _plain = plain;
  await plain.server();
  const there = new Http({ unix: plain.instance.httpSocket });
  const api = await SessionApi.shell(there, "plain", { shell: "bash" });
  const { shell_integration } = await api.status();
  expect(shell_integration).toMatchObject({ active: false, shell: "bash", reason: expect.stringMatching(/./) });
  expect(await there.post("/sessions/plain/exec", { command: "true" })).toMatchObject({ status: 409 });
  const typed = await api.run("echo a''b\n");
  expect(typed).toMatchObject({ decided_by: "prompt" });
  expect(typed.output).toContain("ab");
  expect(typed.exit_code).toBeUndefined();
});
