/** Which session `wsh attach` means without a whole name, and who else stays. */
import { expect, test } from "bun:test";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

test("the one attached last, one whose name begins so, and alone with -d", async () => {
  await using wsh = new Wsh();
  for (const name of ["work", "website", "newest"]) await wsh.session(name);
  const attached = async (name: string): Promise<number | undefined> =>
    (await wsh.list()).find((session) => session.name === name)?.attached;
  const first = EmulatorTerminal.run(wsh, ["attach", "wo"], {});
  await until("work to be shown", async () => (await attached("work")) === 1);
  await using second = EmulatorTerminal.run(wsh, ["attach", "-d"], {});
  await first.exited;
  await until("the first to have left", async () => (await attached("work")) === 1);
  await first[Symbol.asyncDispose]();
  second.type("\x1c\x1c");
  await second.exited;
  const { code, stderr } = await wsh.run("attach", "w");
  expect(code).not.toBe(0);
  expect(stderr).toContain("no session 'w'");
});
