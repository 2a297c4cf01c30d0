/** System calls that a sandbox or a file system refuses: the operation fails at once and reports the cause. */
import { expect, test } from "bun:test";
import { within } from "../../support/timing-retries.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { runBehind } from "./enclosed.ts";
import { canFilter, without } from "./seccomp.ts";

if (!canFilter) console.warn("SKIPPED: tests of refused system calls need Linux, seccomp and python3");

for (const call of ["symlink", "flock"] as const) {
  test.skipIf(!canFilter)(
    `${call}(2) is refused: no session, no server, no wait, and what is missing is named`,
    async () => {
      await using wsh = new Wsh();
      const made = await within(4_000, () => runBehind(wsh, without(call), "new", "s"));
      expect(made.code).toBe(1);
      expect(made.stderr).toContain("ENOSYS");
      expect(made.stderr).toContain("XDG_RUNTIME_DIR");
      expect(made.stderr).not.toContain("was locked by");
      expect(await runBehind(wsh, without(call), "list")).toMatchObject({ code: 0, stdout: "No active sessions.\n" });
      await until("nothing to run", () => wsh.processes().length === 0);
      // The same directory without the filter.
      await wsh.session("s");
      expect((await wsh.list()).map(({ name }) => name)).toEqual(["s"]);
    },
  );
}
