import { describe, expect, setDefaultTimeout } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { testWith } from "../support/programs.ts";
import { findText, type ShellOptions, ShellTerminal } from "../support/terminals/shell-terminal.ts";

const test = testWith("fish");
setDefaultTimeout(30_000);

const prompt = "function fish_greeting; end\nfunction fish_prompt; echo -n '> '; end\n";

async function fish(config = "", options: ShellOptions = {}): Promise<ShellTerminal> {
  const files = { ".config/fish/config.fish": `${prompt}${config}\n`, ...options.files };
  const shell = ShellTerminal.start("fish", { ...options, files });
  await shell.prompt();
  return shell;
}

describe("the person's own fish set-up works", () => {
  test("status at the prompt and in the next command", async () => {
    await using shell = await fish('function fish_prompt; echo -n "$status $pipestatus> "; end');
    await shell.run("true | sh -c 'exit 4'");
    expect(findText(shell.output)).toContain("4 0 4> ");
    expect((await shell.run("echo $status $pipestatus")).text).toBe("4 0 4\n");
  });

  for (const [what, config] of [
    ["vi mode", "fish_vi_key_bindings"],
    ["a prompt of two lines", "function fish_prompt; echo one; echo -n '> '; end"],
    ["a prompt with a right side", "function fish_right_prompt; echo right; end"],
    ["own events", "function p --on-event fish_prompt; set -g seen 1; end; function e --on-event fish_preexec; end"],

    ["a prompt that prints marks", "function fish_prompt; printf '\\e]133;D;0\\a\\e]133;A\\a> \\e]133;B\\a'; end"],
    ["private mode's variable", "set -g fish_private_mode 1"],
  ] as const) {
    test(what, async () => {
      await using shell = await fish(config);
      const { marks } = await shell.run("sh -c 'exit 6'");
      const verified = marks.filter((mark) => mark.verified && mark.kind !== "E");
      expect(verified.map((mark) => mark.kind).join("")).toMatch(/^CD(AB+)+$/);
      expect(verified.find((mark) => mark.kind === "D")?.exit).toBe("6");
      expect(findText(shell.output)).not.toContain("wsh");
      expect((await shell.run("env -u PATH /usr/bin/env")).text).not.toMatch(/wsh|n0nce/);
    });
  }

  test("fish_trace shows nothing of ours", async () => {
    await using shell = await fish();
    const since = shell.output.length;
    await shell.run("set -g fish_trace 1");
    expect((await shell.run("sh -c 'exit 6'")).exit).toBe("6");
    expect(findText(shell.output.slice(since))).not.toContain("wsh");
  });

  test("a redefined prompt is marked too", async () => {
    await using shell = await fish();
    await shell.run("function fish_prompt; echo -n 'new> '; end");
    const { sequence } = await shell.run("true");
    expect(sequence).toBe("CDAB");
    expect(findText(shell.output)).toContain("new> ");
    expect((await shell.run("history")).text).not.toContain("wsh");
  });

  test("nothing reaches child shells", async () => {
    await using shell = await fish();
    const since = shell.output.length;
    shell.write("fish --no-config\r");
    await shell.until("child's prompt", () => shell.output.slice(since).includes("@"));
    const inner = shell.output.length;
    shell.write("echo inner'-ok'; exit 3\r");
    await shell.see("inner-ok", inner);
    await shell.until("end", () => shell.marks.some((mark) => mark.kind === "D" && mark.exit === "3"));
    expect(shell.sequence(inner)).toMatch(/^DA?B?/);
  });
});

describe("fish starts as without integration", () => {
  for (const login of [false, true]) {
    test(login ? "login" : "interactive", async () => {
      const state =
        "echo $SHLVL; env | sort; functions -a | tr , '\\n' | grep -v wsh; set -n | grep -v __wsh; status is-login; and echo login; bind | string match -v '*__wsh*'; abbr; umask";
      const [bare = "", ours = ""] = await Promise.all(
        [false, true].map(async (integration) => {
          const files = {
            ".config/fish/config.fish": `${prompt}echo config $WSH_X`,
            ".config/fish/conf.d/a.fish": "echo conf.d\n",
          };
          await using shell = ShellTerminal.start("fish", { login, integration, files, env: { WSH_X: "given" } });
          await shell.until("prompt", () => /> /.test(findText(shell.output)));
          shell.write(`begin; ${state}; end > ~/dump 2>&1; touch ~/done\r`);
          await shell.until("dump", () => existsSync(join(shell.home, "done")));
          const dump = readFileSync(join(shell.home, "dump"), "utf8");
          const seen = findText(shell.output).match(/^conf.*$/gm);
          return `${seen?.join("\n")}\n${dump}`.replaceAll(shell.home, "HOME");
        }),
      );
      expect(ours).toBe(bare);
      expect(ours).toStartWith("conf.d\nconfig given\n");
    });
  }
});
