/** Shells find our scripts at every start, wherever the state directory is, and read the person's own files. */
import { afterAll, expect } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { vanish } from "../reliability/faults/vanish.ts";
import { testWith } from "../support/programs.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const place = fs.mkdtempSync(join(os.tmpdir(), "wsh-state-"));
afterAll(() => fs.rmSync(place, { recursive: true, force: true }));

const rcFiles = { bash: ".bashrc", zsh: ".zshrc", fish: ".config/fish/config.fish" } as const;

for (const [shell, rc] of Object.entries(rcFiles)) {
  testWith(shell)(
    `${shell}: a restart after the scripts were deleted has them again, in a path full of signs`,
    async () => {
      const state = join(place, `${shell}'s "own" $HOME \`state\` \\ dir`);
      await using wsh = new Wsh({ env: { XDG_STATE_HOME: state, MINE: "unset" } });
      const rcFile = join(wsh.env.HOME ?? "", rc);
      fs.mkdirSync(join(rcFile, ".."), { recursive: true });
      fs.writeFileSync(rcFile, shell === "fish" ? "set -gx MINE read\n" : "export MINE=read\n");
      await wsh.session("s", "--shell", shell);
      const works = async (code: number): Promise<boolean> => {
        const { stdout, code: ended } = await wsh.run("exec", "s", "--", `echo "mine $MINE"; sh -c 'exit ${code}'`);
        return stdout === "mine read\n" && ended === code;
      };
      await until("a command", () => works(4));
      vanish(join(wsh.instance.stateDir, "shell"));
      await wsh.ok("restart", "s");
      await until("a command in the new shell", () => works(5));
      expect(fs.readdirSync(join(wsh.instance.stateDir, "shell"))).toHaveLength(1);
      // Its secret is removed everywhere.
      for (const directory of [join(wsh.instance.stateDir, "keys"), wsh.instance.runtimeDir]) {
        await until("no key", () => fs.readdirSync(directory).every((name) => !name.startsWith("key.")));
      }
    },
  );
}
