/**
 * Shells as people set them up: each prompt with each set of hooks and with each plugin, and the frameworks' own code if
 * a package has it. In every one, five commands must return exactly their output, exit code and directory. A part of
 * the matrix always runs, one set-up per shell; all of it with WSH_TEST_FULL=1.
 */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { preexecLibrary } from "../support/preexec-library.ts";
import { isMissing } from "../support/programs.ts";
import { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const isFull = process.env.WSH_TEST_FULL === "1";
const modules = join(import.meta.dir, "../../node_modules");

/** Lines of an rc file, and the program or file that they need. */
interface Part {
  readonly name: string;
  readonly rc: string;
  readonly needs?: string;
}

interface Shell {
  readonly file: string;
  readonly prompts: readonly Part[];
  readonly hooks: readonly Part[];
  readonly plugins: readonly Part[];
}

const none: Part = { name: "none", rc: "" };
const fzf = "/usr/share/doc/fzf/examples";
const share = "/usr/share";

function sourced(name: string, path: string, before = ""): Part {
  return { name, rc: `${before}\n. ${path}`, needs: path };
}

const shells: Readonly<Record<string, Shell>> = {
  bash: {
    file: ".bashrc",
    prompts: [
      { name: "plain", rc: "PS1='$ '" },
      { name: "two lines, built anew", rc: String.raw`b() { PS1="\[\e[32m\]\w $?\[\e[m\]\n> "; }; PROMPT_COMMAND=b` },
      sourced("liquidprompt", `${share}/liquidprompt/liquidprompt`),
      sourced("powerline", `${share}/powerline/bindings/bash/powerline.sh`),
    ],
    hooks: [
      none,
      { name: "direnv", rc: 'eval "$(direnv hook bash)"', needs: "direnv" },
      { name: "zoxide", rc: 'eval "$(zoxide init bash)"', needs: "zoxide" },
      { name: "a preexec library", rc: preexecLibrary },
      {
        name: "marks of its own in PS0",
        rc: String.raw`PS0='\e]133;C\e\\'; PS1='\[\e]133;A\e\\\]'$PS1'\[\e]133;B\e\\\]'`,
      },
    ],
    plugins: [
      none,
      sourced("completion and fzf", `${fzf}/key-bindings.bash`, `. ${share}/bash-completion/bash_completion`),
      sourced("autojump", `${share}/autojump/autojump.bash`),
      { name: "a DEBUG trap and vi mode", rc: "set -o vi; trap ': $BASH_COMMAND' DEBUG" },
    ],
  },
  zsh: {
    file: ".zshrc",
    prompts: [
      { name: "plain", rc: "PROMPT='%% '" },
      {
        name: "two lines and a transient one",
        rc: `setopt promptsubst transientrprompt; PROMPT=$'%~ %?\\n> ' RPROMPT='right'
        zle-line-finish() { PROMPT='$ ' RPROMPT= ; zle reset-prompt; PROMPT=$'%~ %?\\n> ' RPROMPT=right }; zle -N zle-line-finish`,
      },
      {
        name: "pure",
        rc: `fpath+=(${modules}/pure-prompt); autoload -U promptinit; promptinit; prompt pure`,
        needs: `${modules}/pure-prompt/pure.zsh`,
      },
      sourced("spaceship", `${modules}/spaceship-prompt/spaceship.zsh`),
      sourced("powerlevel9k", `${share}/powerlevel9k/powerlevel9k.zsh-theme`),
      sourced("liquidprompt", `${share}/liquidprompt/liquidprompt`),
      sourced("powerline", `${share}/powerline/bindings/zsh/powerline.zsh`),
    ],
    hooks: [
      none,
      { name: "direnv", rc: 'eval "$(direnv hook zsh)"', needs: "direnv" },
      { name: "zoxide", rc: 'eval "$(zoxide init zsh)"', needs: "zoxide" },
      {
        name: "arrays assigned anew",
        rc: "h() { seen=$? }; precmd_functions=($precmd_functions[1] h) preexec_functions=()",
      },
    ],
    plugins: [
      none,
      sourced("autosuggestions", `${share}/zsh-autosuggestions/zsh-autosuggestions.zsh`),
      sourced("syntax highlighting", `${share}/zsh-syntax-highlighting/zsh-syntax-highlighting.zsh`),
      sourced("fzf and vi mode", `${fzf}/key-bindings.zsh`, "bindkey -v"),
      { name: "completion", rc: "autoload -Uz compinit; compinit -u -D; setopt correct" },
    ],
  },
  fish: {
    file: ".config/fish/config.fish",
    prompts: [
      { name: "plain", rc: "function fish_prompt; printf '$ '; end" },
      { name: "its own", rc: "" },
      {
        name: "two lines and a right one",
        rc: "function fish_prompt; echo (pwd) $status; printf '> '; end; function fish_right_prompt; date; end",
      },
    ],
    hooks: [
      none,
      { name: "direnv", rc: "direnv hook fish | source", needs: "direnv" },
      { name: "zoxide", rc: "zoxide init fish | source", needs: "zoxide" },
    ],
    plugins: [
      none,
      { name: "vi bindings", rc: "fish_vi_key_bindings" },
      { name: "fzf", rc: "fzf_key_bindings", needs: "fzf" },
    ],
  },
};

/** The parts of a shell that its one set-up in `check` has: a prompt of several lines among hooks and plugins. */
const BRIEF = 2;

/** Each two parts together in one set-up, a quarter of all combinations; else one set-up. */
function combinations({ prompts, hooks, plugins }: Shell): (readonly Part[])[] {
  const at = (parts: readonly Part[], n: number): Part => parts[n % parts.length] ?? none;
  if (!isFull) return [[at(prompts, BRIEF), at(hooks, BRIEF + 1), at(plugins, BRIEF + 1)]];
  const lists = [prompts, hooks, plugins];
  const [shortest = 0, ...longer] = lists.map((_, list) => list).toSorted((a, b) => sizeOf(a) - sizeOf(b));
  const [one = 0, other = 0] = longer.map(sizeOf);
  return Array.from({ length: one * other }, (_, n) => {
    const [i, j] = [n % one, Math.floor(n / one)];
    // The parts of the shortest list in turn, so that each meets all of the others.
    return lists.map((parts, list) => at(parts, list === shortest ? i + j : list === longer[0] ? i : j));
  });

  function sizeOf(list: number): number {
    return lists[list]?.length ?? 0;
  }
}

function isAbsent({ needs }: Part): boolean {
  if (needs === undefined) return false;
  if (!needs.startsWith("/")) return isMissing(needs);
  if (fs.existsSync(needs)) return false;
  console.error(`SKIPPED: there is no ${needs}, so what tests it does not run`);
  return true;
}

for (const [kind, shell] of Object.entries(shells)) {
  describe(kind, () => {
    for (const parts of combinations(shell)) {
      const [prompt = none, hooks = none, plugin = none] = parts;
      const can = !isMissing(kind) && !parts.some(isAbsent);
      test.skipIf(!can)(`prompt ${prompt.name}, hooks ${hooks.name}, plugin ${plugin.name}`, async () => {
        await using wsh = new Wsh();
        const home = join(wsh.dir, "home");
        const rc = join(home, shell.file);
        fs.mkdirSync(join(rc, ".."), { recursive: true });
        fs.mkdirSync(join(home, "sub"));
        fs.writeFileSync(rc, `${prompt.rc}\n${hooks.rc}\n${plugin.rc}\n`);
        await wsh.session("s", "--shell", kind, "--cwd", home);
        // Some prompts start Python or git before the first one shows, which takes time on a busy machine.
        await wsh.ok("wait", "s", "prompt", "--timeout", "50");
        const exit = kind === "fish" ? "sh -c 'exit 7'" : "(exit 7)";
        for (const [script, output, code] of [
          ["echo hi", "hi", 0],
          [exit, "", 7],
          ["echo one\necho two", "one\ntwo", 0],
          ["printf end", "end", 0],
          ["cd sub && pwd", join(home, "sub"), 0],
        ] as const) {
          const ran = await wsh.run("exec", "s", "--json", "--", script);
          const { error: _, ...result } = ran.stdout === "" ? { error: 0, failed: ran.stderr } : JSON.parse(ran.stdout);
          expect({ script, ...result }).toMatchObject({ script, state: "finished", output, exit_code: code });
        }
        const { cwd } = JSON.parse((await wsh.run("exec", "s", "--json", "--", "true")).stdout);
        expect(cwd).toBe(join(home, "sub"));
      });
    }
  });
}
