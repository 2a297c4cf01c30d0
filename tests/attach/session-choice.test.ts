/** The session that `wsh attach` selects without a whole name, and the terminals that stay attached. */
import { expect, test } from "bun:test";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

test("the one attached last, one with this prefix, and alone with -d", async () => {
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
  type Shown = { session: string; client: number; used: boolean; last_key: number | null; read_only: boolean };
  const clients = async (...names: string[]): Promise<Shown[]> =>
    JSON.parse(await wsh.ok("clients", ...names, "--json")) as Shown[];
  const third = EmulatorTerminal.run(wsh, ["attach", "work"], {});
  await until("the third", async () => (await attached("work")) === 2);
  third.type("x");
  await until("its key", async () => (await clients("work"))[1]?.last_key !== null);
  const [, one] = await clients();
  expect(one).toMatchObject({ session: "work", used: true, read_only: false });
  expect(await wsh.ok("clients", "work")).toContain("used last");
  const wrong = await wsh.run("detach", "work", "--client", "9999");
  expect(wrong.code).not.toBe(0);
  expect(wrong.stderr).toContain("terminal 9999 is not attached");
  await wsh.ok("detach", "work", "--client", String(one?.client));
  await third.exited;
  await third[Symbol.asyncDispose]();
  expect((await clients("work")).length).toBe(1);
  second.type("\x1c\x1c");
  await second.exited;
  const { code, stderr } = await wsh.run("attach", "w");
  expect(code).not.toBe(0);
  expect(stderr).toContain("several names begin with 'w': work, website");
});
