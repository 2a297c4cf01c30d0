/** Ctrl+R as docs/history.md binds it, in each shell: inside a session and outside. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { isMissing } from "../support/programs.ts";
import { hasTmux, PersonTerminal } from "../support/terminals/tmux-terminal.ts";
import { Wsh } from "../support/wsh.ts";

const page = fs.readFileSync(join(import.meta.dir, "../../docs/history.md"), "utf8");
const startup = { bash: ".bashrc", zsh: ".zshrc", fish: ".config/fish/config.fish" } as const;
const prompts = { bash: "PS1='$ '", zsh: "PS1='$ '", fish: "function fish_prompt; echo -n '$ '; end" } as const;
const own = (wsh: Wsh, shell: keyof typeof startup): string => {
  const words = wsh
    .command()
    .map((word) => `'${word}'`)
    .join(" ");
  return shell === "fish" ? `function wsh; command ${words} $argv; end` : `wsh() { ${words} "$@"; }`;
};

describe.if(hasTmux)("the line of docs/history.md puts Ctrl+R on the filter", () => {
  for (const shell of ["bash", "zsh", "fish"] as const) {
    test.skipIf(isMissing(shell))(shell, async () => {
      const [, snippet = ""] = new RegExp(`\`\`\`${shell}\n(.*?)\`\`\``, "s").exec(page) ?? [];
      expect(snippet).toContain("--pick");
      await using wsh = new Wsh({ env: { SHELL: `/usr/bin/${shell}` } });
      const file = join(wsh.dir, "home", startup[shell]);
      fs.mkdirSync(join(file, ".."), { recursive: true });
      fs.writeFileSync(file, `${prompts[shell]}\n${own(wsh, shell)}\n${snippet}`);
      await wsh.session("old");
      for (const word of ["alpha", "beta"]) await wsh.exec("old", `echo needle-${word}`);
      await wsh.ok("kill", "old");
      await using person = await PersonTerminal.open(wsh);
      await wsh.session("dev");
      for (const enter of ["wsh attach dev", `exec ${shell}`]) {
        await person.type(enter);
        await person.sees(/^\$$/m);
        await person.keys("n", "e", "e", "d");
        await person.sees(/^\$ need/m);
        await person.keys("C-r");
        await person.sees(/^› need.*needle-alpha/s);
        await person.keys("Space", "a", "l");
        await person.sees((screen) => screen.includes("needle-alpha") && !screen.includes("needle-beta"));
        await person.keys("Enter");
        await person.sees(/^\$ echo needle-alpha$/m);
        await person.keys("C-e", "x");
        await person.sees(/^\$ echo needle-alphax$/m);
        await person.keys("C-r");
        await person.sees("no match");
        await person.keys("Escape");
        await person.sees(/^\$ echo needle-alphax$/m);
        await person.keys("C-u");
        if (enter === "wsh attach dev") {
          await person.keys("C-\\", "C-\\");
          await person.sees("[detached");
          await person.clear();
        }
      }
    });
  }

  test("--pick is refused where it could not be displayed, and together with a list", async () => {
    await using wsh = new Wsh();
    expect(await wsh.run("history", "--pick")).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("needs a terminal"),
    });
    expect(await wsh.run("history", "--pick", "--json")).toMatchObject({ code: 2 });
  });
});
