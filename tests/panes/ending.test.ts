/** Panes end, by themselves or by a call: what ends with them, what remains, and what restarts. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { splitServer } from "../support/panes.ts";
import { until } from "../support/until.ts";

test("stop ends a session of several panes without a server, and leaves no process", async () => {
  await using all = await splitServer();
  const { wsh, http, server } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { command: "sleep 1000" });
  await server.kill("SIGTERM");
  expect(await wsh.ok("stop")).toContain("1 session ended");
  await until("no process", async () => wsh.processes().every(({ command }) => !/ session-process$/.test(command)));
  expect(await wsh.list()).toEqual([]);
});

test("a session that got a pane from another one ends completely, with a server and without", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("one");
  await wsh.session("two");
  await http.post("/sessions/one/panes", {});
  const [, made] = await panes("one");
  await http.post(`/sessions/${made?.id}/pane/move`, { to: "two" });
  await wsh.ok("kill", "two");
  expect((await wsh.list()).map(({ name }) => name)).toEqual(["one"]);
  await until("two's processes to be gone", () => {
    return wsh.processes().filter(({ command }) => command.endsWith(" session-process")).length === 1;
  });
  await wsh.ok("stop");
  await until("no process", async () => wsh.processes().every(({ command }) => !/ session-process$/.test(command)));
});

test("a pane that came from another session leaves no entry in the registry when it ends or is closed", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  for (const name of ["one", "two"]) await wsh.session(name);
  for (const end of [(pane: string) => wsh.ok("pane", "close", pane), (pane: string) => wsh.enter(pane, "exit")]) {
    const { pane } = (await http.post("/sessions/one/panes", {})).body as { pane: string };
    await wsh.ok("pane", "move", pane, "--to", "two");
    const entry = `@s2.p${pane.slice(1)}`;
    const entries = (): string[] => fs.readdirSync(wsh.instance.namesDir);
    expect(entries()).toContain(entry);
    await end(pane);
    await until("the entry to be gone", () => !entries().includes(entry));
  }
});

test("a view that is closed, or whose session ends, leaves its source running", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("shown");
  await wsh.session("dev");
  for (const end of [
    (view: string) => http.send("DELETE", `/sessions/${view}/pane`),
    (view: string) => http.post(`/sessions/${view}/pane/respawn`, { command: "sleep 1000" }),
    () => http.send("DELETE", "/sessions/dev"),
  ]) {
    expect((await http.post("/sessions/dev/panes", { view: "shown" })).status).toBe(201);
    const view = (await panes("dev")).find((pane) => pane.view !== undefined);
    const ended = await end(`dev:0.${view?.index}`);
    expect(ended.status, JSON.stringify(ended.body)).toBeLessThan(300);
    expect(await wsh.exec("shown", "echo lives")).toBe("lives\n");
  }
  expect((await wsh.list()).map(({ name }) => name)).toEqual(["shown"]);
});

test("a pane whose new program ends at once closes, or stays with its exit code, and can be restarted", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  for (let round = 0; round < 5; round++) {
    await http.post("/sessions/dev/panes", {});
    expect((await http.post("/sessions/dev:0.1/pane/respawn", { command: "exit 3" })).status).toBe(200);
    await until("one pane", async () => (await panes("dev")).length === 1);
  }
  const kept = { command: "echo once; exit 3", keep_after_exit: true };
  const made = await http.post("/sessions/dev/panes", kept);
  const { pane } = made.body as { pane: string };
  await until("its end", async () => (await panes("dev"))[1]?.exit_code === 3);
  expect((await http.post(`/sessions/dev:0.1/pane/respawn`, {})).status).toBe(200);
  await until(
    "its second end",
    async () => (await wsh.screen(pane)).includes("once") && (await panes("dev"))[1]?.exit_code === 3,
  );
  expect((await http.post(`/sessions/dev:0.1/pane/respawn`, { command: "cat", keep_after_exit: false })).status).toBe(
    200,
  );
  await until("another program", async () => (await panes("dev"))[1]?.command === "cat");
});

test("restart after the last pane has ended: the session continues with that pane", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", {});
  await wsh.enter("dev:0.0", "exit");
  await until("one pane", async () => (await panes("dev")).length === 1);
  await wsh.enter("dev", "exit 5");
  await until("its end", async () => (await wsh.list()).length === 0);
  await wsh.ok("restart", "dev");
  expect((await wsh.list()).map(({ name, running }) => [name, running])).toEqual([["dev", true]]);
  expect(await wsh.exec("dev", "echo again")).toBe("again\n");
  await http.post("/sessions/dev/panes", { focus: true });
  expect(await panes("dev")).toHaveLength(2);
  const [first] = await panes("dev");
  await wsh.ok("restart", first?.id ?? "");
  const [restarted] = await panes("dev");
  expect(restarted?.id).toBe(first?.id);
  expect(restarted?.pid).not.toBe(first?.pid);
});

test("the last pane, restarted as soon as it has ended, stays with its session", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { command: "true" });
  await until("one pane", async () => (await panes("dev")).length === 1);
  for (let round = 0; round < 5; round++) {
    expect(await http.post("/sessions/dev/pane/respawn", { command: "true" })).toMatchObject({ status: 200 });
    await until("its end", async () => (await panes("dev"))[0]?.exit_code === 0);
  }
  await http.post("/sessions/dev/pane/respawn", { command: "cat" });
  expect(await wsh.list()).toMatchObject([{ name: "dev", running: true }]);
});

test("no change of the layout starts a program in a session that has ended", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await wsh.enter("dev", "exit 3");
  await until("its end", async () => (await wsh.list()).length === 0);
  const before = await panes("dev");
  const program = { command: "sleep 1000" };
  for (const [method, path, input] of [
    ["PUT", "layout", { tree: { row: [{ pane: before[0]?.id }, program] } }],
    ["PUT", "layout", { tree: { pane: before[0]?.id }, floats: [program] }],
    ["POST", "panes", program],
    ["POST", "windows", program],
  ] as const) {
    const refused = await http.json(method, `/sessions/dev/${path}`, input);
    expect(refused.body, path).toMatchObject({ error: { code: "session_ended" } });
  }
  expect(await panes("dev")).toEqual(before);
});

test("stop ends kept panes that have ended, and ended sessions of several panes", async () => {
  for (const withServer of [true, false]) {
    await using all = await splitServer();
    const { wsh, http, panes, server } = all;
    await wsh.session("dev");
    await http.post("/sessions/dev/panes", { command: "echo gone; exit 3" });
    await until("one pane", async () => (await panes("dev")).length === 1);
    await wsh.session("over");
    await http.post("/sessions/over/panes", { command: "exit 4" });
    await until("one pane", async () => (await panes("over")).length === 1);
    await wsh.enter("over", "exit 5");
    await until("its end", async () => (await wsh.list()).length === 1);
    if (!withServer) await server.kill("SIGTERM");
    await wsh.ok("stop");
    await until("no process", async () => wsh.processes().every(({ command }) => !/ session-process$/.test(command)));
  }
}, 60_000);

test("kill ends a session's kept panes, whether the session runs or has ended", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  for (const isOver of [false, true]) {
    await wsh.session("dev");
    await http.post("/sessions/dev/panes", { command: "exit 3" });
    await until("one pane", async () => (await panes("dev")).length === 1);
    if (isOver) {
      await wsh.enter("dev", "exit 5");
      await until("its end", async () => (await wsh.list()).length === 0);
    }
    await wsh.ok("kill", "dev");
    await until("no process", async () => wsh.processes().every(({ command }) => !/ session-process$/.test(command)));
  }
});

test("kill of a session of several panes answers after the last program is gone, as with one pane", async () => {
  await using all = await splitServer();
  const { wsh, http, panes } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { command: "trap '' HUP TERM INT; echo deaf; sleep 713; sleep 714" });
  await until("the trap", async () => (await wsh.screen("dev:0.1")).includes("deaf"));
  const pids = (await panes("dev")).map(({ pid }) => pid);
  await wsh.ok("kill", "dev");
  expect(pids.filter((pid) => isThere(pid))).toEqual([]);
}, 30_000);

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
