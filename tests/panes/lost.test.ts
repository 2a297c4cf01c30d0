/** Processes of a session with several panes are killed: each costs what is its own. */
import { expect, test } from "bun:test";
import { type Pane, splitServer } from "../support/panes.ts";
import { stopProcess } from "../support/processes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { hostOf, Wsh } from "../support/wsh.ts";

test("kill -9 of the layout process ends no program; who is attached goes on, and so do calls", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { direction: "right" });
  await http.post("/sessions/dev/windows", { name: "logs" });
  await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: "│" });
  person.type("echo before\r");
  await person.sees(/^before/m);
  const panes = async () => (await http.get("/sessions/dev/panes")).body as Pane[];
  const before = await panes();
  await wsh.replaceLayoutProcess();
  await until("the session to answer", async () => (await http.get("/sessions/dev/panes")).status === 200);
  expect((await panes()).map(({ id, pid }) => [id, pid])).toEqual(before.map(({ id, pid }) => [id, pid]));
  await until("the terminal to be attached again", async () => (await wsh.list())[0]?.attached === 1);
  person.type("echo after\r");
  await person.sees(/^after/m);
  expect((await wsh.list()).map(({ name }) => name)).toEqual(["dev"]);
  expect(await wsh.ok("exec", "dev:logs.0", "--", "echo there")).toBe("there\n");
});

test("calls of the command line right after kill -9 of the layout process are answered by its successor", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.ok("split", "dev");
  const panes = async () => JSON.parse(await wsh.ok("pane", "list", "dev", "--json")) as Pane[];
  const before = (await panes()).map(({ id, pid }) => [id, pid]);
  // By the session's name, by a place in it, and by a pane, whose own process lives and asks the lost one.
  for (const target of ["dev", "dev:0.1", String(before[1]?.[0])]) {
    await wsh.killLayoutProcess();
    const listed = JSON.parse(await wsh.ok("pane", "list", target, "--json")) as Pane[];
    expect(listed.map(({ id, pid }) => [id, pid])).toEqual(before);
  }
  await wsh.killLayoutProcess();
  expect(await wsh.ok("exec", "dev:0.1", "--", "echo there")).toBe("there\n");
  // What is not there is still said at once, and as before.
  const missing = await wsh.run("pane", "list", "dev:0.7");
  expect(missing.stderr).toContain("no pane 'dev:0.7'");
});

test("a layout is kept while another runtime directory with the same home has layouts, too", async () => {
  await using wsh = new Wsh();
  await using other = new Wsh({ env: { HOME: wsh.env.HOME ?? "" } });
  await wsh.session("dev");
  await wsh.ok("split", "dev");
  await other.session("work");
  await other.ok("split", "work");
  await wsh.replaceLayoutProcess();
  expect(JSON.parse(await wsh.ok("pane", "list", "dev", "--json"))).toHaveLength(2);
  expect(await wsh.ok("exec", "dev:0.1", "--", "echo there")).toBe("there\n");
});

test("calls over HTTP right after kill -9 of the layout process are answered by its successor", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  await wsh.ok("split", "dev");
  const before = (await http.get("/sessions/dev/panes")).body as Pane[];
  for (const target of ["dev", "dev:0.1", String(before[1]?.id)]) {
    await wsh.killLayoutProcess();
    expect(await http.expect(200, http.get("/sessions"))).toMatchObject([{ name: "dev" }]);
    const listed = await http.expect<Pane[]>(200, http.get(`/sessions/${encodeURIComponent(target)}/panes`));
    expect(listed.map(({ id, pid }) => [id, pid])).toEqual(before.map(({ id, pid }) => [id, pid]));
  }
  await wsh.killLayoutProcess();
  const there = http.post(`/sessions/${encodeURIComponent("dev:0.1")}/exec`, { command: "echo there" });
  expect(await http.expect(200, there)).toMatchObject({ exit_code: 0, output: "there" });
});

test("kill -9 of a pane's process costs that pane; the others take its room", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  const made = await http.post("/sessions/dev/panes", { direction: "right" });
  const { pane } = made.body as { pane: string };
  await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: "│" });
  const [, second] = (await http.get("/sessions/dev/panes")).body as Pane[];
  process.kill(hostOf(second?.pid ?? null), "SIGKILL");
  await until("one pane", async () => {
    const panes = (await http.get("/sessions/dev/panes")).body as Pane[];
    return panes.length === 1 && panes[0]?.cols === 80;
  });
  person.type("echo still here\r");
  await person.sees(/^still here/m);
  expect((await http.get(`/sessions/${pane}/screen`)).status).toBe(404);
});

test("a pane whose process is stopped when the layout process is lost keeps its place, and is there when it goes on", async () => {
  await using wsh = new Wsh({ config: "spare_pane = false\n" });
  await wsh.session("dev");
  await wsh.ok("split", "dev");
  const panes = async () => {
    const { code, stdout } = await wsh.run("pane", "list", "dev", "--json");
    return code === 0 ? (JSON.parse(stdout) as Pane[]) : [];
  };
  const [first, second] = await panes();
  const stopped = hostOf(second?.pid ?? null);
  await stopProcess(stopped);
  await wsh.replaceLayoutProcess();
  await until("it to serve both panes", async () => (await panes()).length === 2);
  expect((await panes()).map(({ id, state }) => [id, state === "unresponsive"])).toEqual([
    [first?.id ?? "", false],
    [second?.id ?? "", true],
  ]);
  expect(await wsh.ok("exec", first?.id ?? "", "--", "echo here")).toBe("here\n");
  process.kill(stopped, "SIGCONT");
  await until("the pane to answer", async () => (await panes())[1]?.state === "prompt");
  expect(await wsh.ok("exec", "dev:0.1", "--", "echo there")).toBe("there\n");
}, 60_000);
