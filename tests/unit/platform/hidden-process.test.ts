/** A program that cannot be examined is not taken for a session process if an agent has started it. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { isMissing } from "../../support/programs.ts";

/** A user without rights, on every system: root can examine every process. */
const NOBODY = 65_534;
const isRoot = process.getuid?.() === 0;
const canRun = process.platform === "linux" && (!isRoot || !isMissing("setpriv"));
const SOURCE = join(import.meta.dir, "../../../src/platform");

const directory = fs.mkdtempSync(join(os.tmpdir(), "wsh-hidden-"));
const hidden = join(directory, "wsh");
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));

/**
 * The agents for which two processes act that were started in a pane of `claude` or of nobody: an orphan that has the
 * name, the mark and the unreadable file of a hidden session process, and a child of it.
 */
async function found(owner: string | null): Promise<unknown> {
  // The program of the pane, whose hard limits are set once it runs; then the orphan.
  fs.writeFileSync(
    join(directory, "pane"),
    `while [ "$(ulimit -Hx)" = "$BEFORE" ]; do :; done
    ( while read -r _ _ _ parent _ < /proc/$BASHPID/stat; [ "$parent" = $$ ]; do :; done
      ulimit -Sx $(( (1 << 51) + BASHPID * (1 << 24) + 5 ))
      exec env -i setsid ${hidden} session-process ) > "$OUTPUT" &`,
  );
  fs.writeFileSync(join(directory, "session-process"), `sleep 300 & echo $$ $!; kill -STOP $$; kill $!`);
  const script = `
    import fs from "node:fs";
    import { agentAt } from "${SOURCE}/agent-above.ts";
    import { withChildLimits } from "${SOURCE}/child-limits.ts";
    process.chdir("${directory}");
    const env = { PATH: process.env.PATH, WSH_PANE: "@5", ...${JSON.stringify(owner === null ? {} : { WSH_AGENT: owner })} };
    const BEFORE = Bun.spawnSync(["bash", "-c", "ulimit -Hx"]).stdout.toString().trim();
    const output = Bun.spawnSync(["mktemp"]).stdout.toString().trim();
    withChildLimits({ env }, () => Bun.spawn(["bash", "pane"], { env: { ...env, BEFORE, OUTPUT: output } }));
    let pids = [];
    while (pids.length < 2) {
      await Bun.sleep(5);
      pids = fs.readFileSync(output, "utf8").split(/\\s+/).filter(Boolean).map(Number);
    }
    fs.rmSync(output);
    const file = (() => { try { return fs.readlinkSync("/proc/" + pids[0] + "/exe"); } catch { return null; } })();
    console.log(JSON.stringify({ file, agents: pids.map((pid) => agentAt(pid)) }));
    for (const pid of pids) process.kill(pid, "SIGKILL");`;
  const user = isRoot ? ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups"] : [];
  const child = Bun.spawn([...user, process.execPath, "-e", script], {
    env: { PATH: process.env.PATH ?? "" },
    stderr: "inherit",
  });
  const text = await new Response(child.stdout).text();
  return JSON.parse(text);
}

test.skipIf(!canRun)("an orphan of an agent's pane acts for the agent, although it cannot be examined", async () => {
  fs.chmodSync(directory, 0o755);
  fs.copyFileSync("/bin/bash", hidden);
  fs.chmodSync(hidden, 0o111);
  expect(await found("claude")).toEqual({ file: null, agents: ["an AI agent", "an AI agent"] });
  expect(await found(null)).toEqual({ file: null, agents: [null, null] });
});
