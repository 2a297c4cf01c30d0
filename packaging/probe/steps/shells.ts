/** Step 4: the shells of this machine: their prompt, exec, and a restart after a cleaner has taken our scripts. */
import fs from "node:fs";
import { join } from "node:path";
import { until } from "../../../tests/support/until.ts";
import { Wsh } from "../../../tests/support/wsh.ts";
import { type Checks, type Facts, require, Skipped } from "../report.ts";

export async function shells(checks: Checks): Promise<void> {
  for (const shell of ["zsh", "/bin/bash", "fish"]) {
    await checks.check(shell, async () => {
      const file = Bun.which(shell);
      if (file === null) throw new Skipped(`${shell} is not installed`);
      await using wsh = new Wsh({ env: { SHELL: file } });
      return await tryShell(wsh, file);
    });
  }
}

async function tryShell(wsh: Wsh, file: string): Promise<Facts> {
  const version = Bun.spawnSync([file, "--version"]).stdout.toString().split("\n")[0];
  await wsh.session("one", "--shell", file);
  const known = await integration(wsh);
  const facts = { version, integration: known };
  if (!known.active && known.reason !== null && known.shell === null) {
    require(file === "/bin/bash" && known.reason.includes("4.4"), "there should be integration", facts);
    await ranWithout(wsh, facts);
    await restartWithoutScripts(wsh);
    await ranWithout(wsh, facts);
    return facts;
  }
  await exec(wsh, facts);
  await restartWithoutScripts(wsh);
  await exec(wsh, facts);
  return facts;
}

async function integration(wsh: Wsh): Promise<{ active: boolean; shell: string | null; reason: string | null }> {
  return until("the shell to be at its prompt, or to say why nobody can know", async () => {
    const known = JSON.parse(await wsh.ok("status", "one", "--json")).shell_integration;
    return known.active || known.shell === null ? known : null;
  });
}

async function exec(wsh: Wsh, facts: Facts): Promise<void> {
  const { code, stdout, stderr } = await wsh.run("exec", "one", "--", "echo probe; sh -c 'exit 3'");
  require(code === 3 && stdout === "probe\n", "exec does not work", { ...facts, code, stdout, stderr });
}

/** Without integration exec is refused with the reason, and run still answers. */
async function ranWithout(wsh: Wsh, facts: Facts): Promise<void> {
  const refused = await wsh.run("exec", "one", "--", "true");
  require(refused.code !== 0 && refused.stderr.includes("4.4"), "exec is not refused", { ...facts, refused });
  const ran = await wsh.run("run", "one", "echo pro''be");
  require(ran.code === 0 && ran.stdout.includes("probe"), "run does not work", { ...facts, ran });
}

async function restartWithoutScripts(wsh: Wsh): Promise<void> {
  const scripts = join(wsh.instance.stateDir, "shell");
  // They are not there for a shell that has no integration.
  fs.rmSync(scripts, { recursive: true, force: true });
  await wsh.ok("restart", "one");
  await integration(wsh);
}
