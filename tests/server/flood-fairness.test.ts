// Alone: fills every processor to see which process is throttled.
/** A session that floods is throttled while others need the processors, and resumes its weight afterwards. */
import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { PATIENCE_MS, until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** The kernel's weight of a session process's process session, as a nice value. */
function groupOf(pid: number): number {
  return Number(/nice (-?\d+)/.exec(readFileSync(`/proc/${pid}/autogroup`, "utf8"))?.[1]);
}

/** Busy processes, each in a separate group, so many that everyone waits long for a processor. */
function crowd(): Disposable {
  const busy = Array.from({ length: 4 * availableParallelism() }, () =>
    Bun.spawn(["setsid", "sh", "-c", "while :; do :; done"], { stdio: ["ignore", "ignore", "ignore"] }),
  );
  return { [Symbol.dispose]: () => busy.forEach((child) => void child.kill("SIGKILL")) };
}

test.skipIf(!existsSync("/proc/self/autogroup"))(
  "a flood lowers its own session's priority, its end brings it back",
  async () => {
    await using wsh = new Wsh();
    await wsh.session("flood");
    const [host = 0] = wsh.hosts();
    await wsh.shows("flood", /^\$/m);
    expect(groupOf(host)).toBe(0);
    await wsh.enter("flood", "yes");
    using _others = crowd();
    await until("the flooding session to stand back", () => groupOf(host) > 0, 2 * PATIENCE_MS);
    await wsh.ok("signal", "flood", "INT");
    await until("the session to come forward", () => groupOf(host) === 0, 2 * PATIENCE_MS);
  },
  120_000,
);
