/**
 * zsh with macOS's /etc/zprofile and /etc/zshrc, in files of our own with the same effects: path_helper puts
 * the system's directories first, the history file is named by ZDOTDIR, keys are bound from terminfo, `log` is disabled.
 */
import { describe, expect } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { canMount, runBehind } from "../reliability/faults/enclosed.ts";
import { testWith } from "../support/programs.ts";
import { Wsh } from "../support/wsh.ts";

const test = testWith("zsh", "unshare").skipIf(!canMount);

/** The system's PATH, followed by the person's. */
const SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin";
const OWN = "/opt/own/bin";

const zprofile = (helper: string): string => `# login shells\neval "$('${helper}' -s)"\n`;
const zshrc = `# interactive shells
setopt combining_chars
disable log
HISTFILE=\${ZDOTDIR:-$HOME}/.zsh_history
HISTSIZE=2000
SAVEHIST=1000
zmodload zsh/terminfo
for each in kcuu1:up-line-or-search kcud1:down-line-or-search khome:beginning-of-line kdch1:delete-char; do
  [[ -z $terminfo[\${each%%:*}] ]] || bindkey "$terminfo[\${each%%:*}]" \${each#*:}
done
PS1='%n@%m %1~ %# '
[[ ! -r /etc/zsh/zshrc_$TERM_PROGRAM ]] || . /etc/zsh/zshrc_$TERM_PROGRAM
`;

/** A session whose zsh reads these as the system's startup files; Debian keeps such files in /etc/zsh. */
async function session(wsh: Wsh, more: Readonly<Record<string, string>> = {}): Promise<void> {
  const etc = join(wsh.dir, "etc");
  fs.mkdirSync(etc);
  const helper = join(wsh.dir, "path_helper");
  const script = `#!/bin/sh\nrest=$(echo "$PATH" | tr : '\\n' | grep -vxE '${SYSTEM.replaceAll(":", "|")}' | paste -sd: -)
echo "PATH=\\"${SYSTEM}:$rest\\"; export PATH;"\n`;
  fs.writeFileSync(helper, script, { mode: 0o755 });
  const files = { zprofile: zprofile(helper), zshrc, ...more };
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(join(etc, name), text);
  const mount = 'mount --bind "$0" /etc/zsh && exec "$@"';
  const prefix = ["unshare", "--mount", "--propagation", "private", "sh", "-c", mount, etc];
  expect(await runBehind(wsh, prefix, "new", "one")).toMatchObject({ code: 0, stderr: "" });
}

const environment = { SHELL: "/usr/bin/zsh", USER: "tester", PATH: `${OWN}:${process.env.PATH ?? ""}` };

describe("zsh as macOS sets it up", () => {
  test("exec is exact from the first prompt, which is the system's if the person has none", async () => {
    await using wsh = new Wsh({ env: environment });
    await session(wsh);
    const { code, stdout, stderr } = await wsh.run("exec", "one", "--", "echo 'é ok'; (exit 3)");
    expect({ code, stdout, stderr }).toEqual({ code: 3, stdout: "é ok\n", stderr: "" });
    expect(await wsh.screen("one")).toMatch(/^\S+@\S+ \S+ [#%]/m);
    const status = JSON.parse(await wsh.ok("status", "one", "--json"));
    expect(status.shell_integration).toEqual({ active: true, shell: "zsh" });
  });

  test("PATH is path_helper's, the history is at home, and none of our variables is left", async () => {
    await using wsh = new Wsh({ env: environment });
    await session(wsh);
    const said = await wsh.ok(
      "exec",
      "one",
      "--",
      'print -r -- "$PATH" "$HISTFILE" "[$ZDOTDIR]"; env | grep -c WSH_SHELL || true',
    );
    const [line = "", count] = said.trim().split("\n");
    const [path = "", ...rest] = line.split(" ");
    expect(path.startsWith(`${SYSTEM}:${OWN}:`)).toBe(true);
    expect([...rest, count]).toEqual([join(wsh.env.HOME ?? "", ".zsh_history"), "[]", "0"]);
  });

  test("the person's own files come last, with their prompt, their ZDOTDIR and a terminal's own file", async () => {
    const dotdir = "own dotdir";
    await using wsh = new Wsh({ env: environment });
    const home = wsh.env.HOME ?? "";
    fs.mkdirSync(join(home, dotdir));
    fs.writeFileSync(join(home, ".zshenv"), `export ZDOTDIR="$HOME/${dotdir}"\n`);
    fs.writeFileSync(
      join(home, dotdir, ".zshrc"),
      "PS1='own> '\nprecmd_functions+=(own_hook)\nown_hook() { : $((n++)) }\n",
    );
    await session(wsh, { zshrc_wsh: "read_for=$TERM_PROGRAM\nprecmd() { print -n '\\e]7;file://other/place\\a' }\n" });
    const said = await wsh.ok(
      "exec",
      "one",
      "--",
      'print -r -- "$HISTFILE|$read_for|$((n > 0))|$ZDOTDIR"; false || true',
    );
    expect(said).toBe(`${home}/${dotdir}/.zsh_history|wsh|1|${home}/${dotdir}\n`);
    expect(await wsh.screen("one")).toContain("own> ");
    const second = await wsh.run("exec", "one", "--", "cd /usr; (exit 4)");
    expect(second).toMatchObject({ code: 4, stdout: "" });
  });

  test("a restart reads them again", async () => {
    await using wsh = new Wsh({ env: environment });
    await session(wsh);
    await wsh.exec("one", "true");
    await wsh.ok("restart", "one");
    expect(await wsh.exec("one", "print -r -- $path[1] $options[combiningchars]")).toBe("/usr/local/bin on\n");
  });
});
