/** The pane in which a process was started is known by its limits, whatever the process makes of them. */
import { afterAll, expect, test } from "bun:test";
import fs from "node:fs";
import { startedIn, withChildLimits } from "../../../src/platform/child-limits.ts";
import { until } from "../../support/until.ts";

/** The hard limit of this process, which a program of a pane does not have. */
const HARD = Bun.spawnSync(["bash", "-c", "ulimit -Hx"]).stdout.toString().trim();
const MARK = 2 ** 51;
const children: Bun.Subprocess[] = [];
afterAll(() => {
  for (const child of children) child.kill("SIGKILL");
});

/** The pane of a process that changes its limits by `change`. */
async function marked(change: string, pane = "@5", agent?: string) {
  const env = { PATH: process.env.PATH ?? "", WSH_PANE: pane, ...(agent === undefined ? {} : { WSH_AGENT: agent }) };
  const fixed = "while [ $(ulimit -Hx) = $BEFORE ]; do :; done";
  const child = withChildLimits({ env }, () =>
    Bun.spawn(["bash", "-c", `${fixed}; ${change}; kill -STOP $$`], {
      env: { ...env, BEFORE: HARD },
      stderr: "ignore",
    }),
  );
  children.push(child);
  await until("it has stopped", () => /^State:\s+T/m.test(fs.readFileSync(`/proc/${child.pid}/status`, "utf8")));
  return startedIn(child.pid, () => false);
}

const soft = (pane: number): number => MARK + process.pid * 2 ** 24 + pane;

test.skipIf(process.platform !== "linux")(
  "a program changes its mark in no way that another pane would have",
  async () => {
    const own = { process: process.pid, pane: "@5", isAgents: false };
    expect(startedIn(process.pid, () => false)).toBeNull();
    expect(await marked("true")).toEqual(own);
    expect(await marked("true", "@5", "claude")).toEqual({ ...own, isAgents: true });
    for (const claim of [`ulimit -Sx ${soft(2)}`, `ulimit -Sx ${soft(9)}`, "ulimit -Sx unlimited"])
      expect([claim, await marked(claim)]).toEqual([claim, own]);
    // What no person's program does counts as an agent's.
    for (const change of [
      "ulimit -Sx hard",
      "ulimit -x 5",
      `ulimit -x ${soft(2)}`,
      `ulimit -Sx 0; ulimit -Hx ${soft(2) + MARK}`,
    ])
      expect([change, (await marked(change))?.isAgents]).toEqual([change, true]);
    expect((await marked(`ulimit -Sx ${soft(9)}`, "@5", "claude"))?.isAgents).toBe(true);
  },
);
