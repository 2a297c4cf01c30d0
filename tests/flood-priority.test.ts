/** A session that floods stands back for the others, and comes forward again when it is done. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { until } from "./support/until.ts";
import { Wsh } from "./support/wsh.ts";

/** The kernel's weight of a host's process session, as a nice value. */
function groupOf(pid: number): number {
  return Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, "utf8"))?.[1]);
}

test.skipIf(!existsSync("/proc/self/autogroup"))(
  "a flood lowers its own session's priority, its end brings it back",
  async () => {
    await using wsh = new Wsh();
    await wsh.session("flood");
    const [host = 0] = wsh.hosts();
    await wsh.shows("flood", /^\$/m);
    expect(groupOf(host)).toBe(0);
    await wsh.ok("send", "flood", "yes", "--enter");
    await until("the flooding session to stand back", () => groupOf(host) > 0);
    await wsh.ok("signal", "flood", "INT");
    await until("the session to come forward", () => groupOf(host) === 0);
  },
  30_000,
);
