/** An agent's commands at a prompt stay out of the shell's own history; a person's commands beside them are kept. */
import { afterAll, expect } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { call, McpInstance } from "../support/mcp-instance.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";

const mcp = new McpInstance();
const home = join(mcp.dir, "home");
fs.writeFileSync(
  join(home, ".bashrc"),
  "PS1='$ '; PROMPT_COMMAND='history -a'; HISTIGNORE=pwd; HISTFILE=~/kept.bash\n",
);
fs.writeFileSync(
  join(home, ".zshrc"),
  "PS1='$ '; HISTFILE=~/kept.zsh; HISTSIZE=99; SAVEHIST=99; setopt share_history\nprint_it() { print -r -- $1 >>~/seen }\nzshaddhistory_functions=(print_it)\n",
);
afterAll(() => mcp[Symbol.asyncDispose]());

/** Each shell's file, and a command that succeeds if the shell's settings are still the user's. */
const shells = {
  bash: { file: "kept.bash", own: 'test "$HISTIGNORE" = pwd' },
  zsh: { file: "kept.zsh", own: 'test "$zshaddhistory_functions" = print_it -a -n "$HISTFILE"' },
  fish: { file: ".local/share/fish/fish_history", own: "not set -q fish_history; and not set -q __wsh_hidden" },
};

for (const [shell, { file, own }] of Object.entries(shells)) {
  testWith(shell)(`${shell} keeps no line of an agent`, async () => {
    const agent = await mcp.client();
    const exec = async (command: string, more: object = {}) =>
      (await call(agent, "wsh_exec", { session: shell, command, ...more })).value;
    await mcp.session(shell, "--shell", shell);
    await mcp.ok("run", shell, "echo person 1");
    expect(await exec("echo agent 1")).toMatchObject({ exit_code: 0, output: "agent 1" });
    expect(await exec("echo 'agent:\n2'")).toMatchObject({ exit_code: 0, output: "agent:\n2" });
    await call(agent, "wsh_run_command", { session: shell, input: "echo agent 3", submit: true });
    // A line without a command leaves nothing behind, either.
    expect((await exec("echo agent 4 ) ;;")).exit_code).not.toBe(0);
    await mcp.call(shell, "input.send", { keys: ["Up"] });
    await until("the newest line of the history", async () => {
      const [last = ""] = (await mcp.ok("screen", shell)).trimEnd().split("\n").slice(-1);
      return /person 1$/.test(last.trimEnd()) || null;
    });
    await mcp.call(shell, "input.send", { keys: ["Ctrl+U"] });
    await mcp.ok("run", shell, own);
    const [{ exit_code } = { exit_code: null }] = (await mcp.commands(shell)).slice(-1);
    expect(exit_code).toBe(0);
    await mcp.ok("run", shell, "echo person 2");
    await exec("sleep 1000 # agent 5", { background: true });
    await mcp.ok("kill", shell);
    const lines = await until("the history file", () => {
      const text = fs.existsSync(join(home, file)) ? fs.readFileSync(join(home, file), "utf8") : "";
      return text.includes("person 2") ? text : null;
    });
    expect(lines).toMatch(/person 1[\s\S]*person 2/);
    expect(lines).not.toContain("agent");
    // wsh's own history has them all.
    let found = "";
    const texts = ["agent 1", "2'", "agent 3", "agent 5", "person 1"];
    await until("all commands", async () => {
      const { commands } = JSON.parse(await mcp.ok("history", "--json", "--session", shell));
      found = commands.map(({ command }: { command: string }) => command).join("\n");
      return texts.every((text) => found.includes(text));
    }).catch(() => expect(texts.filter((text) => !found.includes(text))).toEqual([]));
  });
}

testWith("bash")(
  "bash-preexec reads an agent's line, and it is gone afterwards; exec_history says whose stay",
  async () => {
    const config = join(home, ".config/wsh/config.toml");
    fs.writeFileSync(join(home, ".bashrc"), "PS1='$ '; HISTFILE=~/p; __bp_preexec_invoke_exec() { :; }\n");
    const agent = await mcp.client();
    await mcp.session("p");
    await call(agent, "wsh_exec", { session: "p", command: "echo $(history 1)" }).then(({ value }) =>
      expect(value.output).toContain("echo $(history 1)"),
    );
    await mcp.ok("run", "p", "echo person");
    const set = (whose: string) => fs.writeFileSync(config, `exec_history = "${whose}"\nagents_may = "everything"\n`);
    set("none");
    await mcp.session("none");
    await mcp.exec("none", "echo hidden");
    set("all");
    await mcp.session("all");
    await call(agent, "wsh_exec", { session: "all", command: "echo shown" });
    const listed = async (name: string) => (await mcp.ok("run", name, "history")).trim().replace(/^ *\d+ +/gm, "");
    expect(await listed("p")).toBe("echo person\nhistory");
    expect(await listed("none")).toBe("history");
    expect(await listed("all")).toBe("echo shown\nhistory");
  },
);
