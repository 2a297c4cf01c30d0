/** Shells that redraw their prompt after a resize leave nothing of the old one behind, and remove nothing else. */
import { describe } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { pathOf, testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const words = "one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen";
const letters = (text: string): string => text.replace(/\s/g, "");

/** Prompts of one row, and of two whose first fills the width. */
const prompts = {
  zsh: ["", `PROMPT=$'\${(l:COLUMNS::=:)}\\n%# '; setopt prompt_subst`],
  fish: ["", "function fish_prompt; string repeat -n $COLUMNS =; echo '> '; end"],
};

describe.each(["zsh", "fish"] as const)("a long line at the prompt of %s", (shell) => {
  testWith(shell).each(prompts[shell])(
    "stands there once when the terminal became narrow and wide again: '%s'",
    async (setUp) => {
      await using wsh = new Wsh();
      const config = join(wsh.env.HOME ?? "", shell === "zsh" ? ".zshrc" : ".config/fish/config.fish");
      fs.mkdirSync(join(config, ".."), { recursive: true });
      fs.writeFileSync(config, `${setUp}\n`);
      await wsh.session("s", "--shell", pathOf(shell) ?? "");
      await wsh.exec("s", "echo above");
      await wsh.type("s", `echo ${words}`);
      const shown = async (): Promise<string> => letters(await wsh.ok("screen", "s"));
      const line = letters(`echo ${words}`);
      await until("the line", async () => (await shown()).includes(line));
      // Of the present prompt: older ones are rewrapped like any text.
      const rules = async (): Promise<number> => {
        const screen = await wsh.ok("screen", "s");
        const rows = screen.slice(screen.lastIndexOf("above")).split("\n");
        return rows.filter((row) => /^=+$/.test(row)).length;
      };
      for (const [cols, rows] of [
        [45, 20],
        [20, 20],
        [80, 24],
      ]) {
        await wsh.ok("resize", "s", `${cols}x${rows}`);
        // The shell draws in steps, some time after the resize.
        await wsh.ok("wait", "s", "--idle", "0.3");
        await until(`the line in ${cols} columns, once`, async () => {
          const all = await shown();
          return (
            all.includes(line) &&
            all.split("echoone").length === 2 &&
            all.split("above").length === 3 &&
            (await rules()) === (setUp === "" ? 0 : 1)
          );
        });
      }
    },
  );
});
