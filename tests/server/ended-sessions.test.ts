/** Limits count running sessions: ended ones are evicted, the oldest first. */
import { expect, test } from "bun:test";
import { stopProcess } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

test("any number of short commands leaves room for the next, and the newest results stay readable", async () => {
  await using wsh = new Wsh({ config: "max_sessions = 3\n" });
  for (let n = 0; n < 10; n++)
    expect(await wsh.run("exec", "--", `echo ${n}`)).toMatchObject({ code: 0, stdout: `${n}\n` });
  await wsh.session("dev", "--", "sleep 600");
  const kept = await until("the oldest to have given way", async () => {
    const all = await wsh.list("--all");
    return all.length <= 4 ? all : null;
  });
  expect(kept.map(({ running }) => running)).toEqual([false, false, false, true]);
  for (const { id } of kept.slice(0, 3)) expect(await wsh.screen(id)).toMatch(/^[789]$/m);
  await until("the processes of those that gave way to end", () => wsh.hosts().length === 4);
});

test("a hung ended session is evicted too", async () => {
  await using wsh = new Wsh({ config: "max_sessions = 1\n" });
  await wsh.ok("exec", "--", "echo first");
  const [hung = 0] = wsh.hosts();
  await stopProcess(hung);
  await wsh.ok("exec", "--", "echo second");
  await wsh.ok("exec", "--", "echo third");
  await until("the hung one to be gone", () => !wsh.hosts().includes(hung));
});

test("the limit still holds for running sessions", async () => {
  await using wsh = new Wsh({ config: "max_sessions = 1\n" });
  await wsh.session("dev", "--", "sleep 600");
  const { code, stderr } = await wsh.run("new", "more");
  expect(code).not.toBe(0);
  expect(stderr).toContain("already has 1 sessions");
});
