/** A person splits a session, an agent works in the panes, and neither disturbs the other's programs. */
import { describe, expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { columns, type Pane, splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const PREFIX = "\x1c";

describe("by keys", () => {
  test("prefix % puts a shell beside the first one; each has its own screen, size and focus", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    person.type("echo left; stty size\r");
    await person.sees(/^left\n24 80/m);
    person.type(`${PREFIX}%`);
    await person.sees(/^\$ echo left.*│\$/m);
    person.type("echo right; stty size\r");
    await until("the right pane's size", async () => /^right\n24 39/m.test(columns(await person.text(), 41)));
    expect(columns(await person.text(), 0, 40)).toMatch(/^left\n24 80/m);
    person.type(`${PREFIX}\x1b[D`);
    person.type("stty size\r");
    await until("the left pane's size", async () => /^24 40/m.test(columns(await person.text(), 0, 40)));
  });

  test("input right after a key goes where the key leads, from the first split on", async () => {
    await using wsh = new Wsh();
    const { pane_id: first } = await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    const description = (letter: string): string => `echo ${letter}=$WSH_PANE\r`;
    person.type(
      `${PREFIX}%${description("a")}${PREFIX}"${description("b")}${PREFIX}\x1b[D${description("c")}${PREFIX}c${description("d")}`,
    );
    await person.sees(/^d=@\d+/m);
    person.type(`${PREFIX}p`);
    // The shells of the new panes may print later than the first one.
    const seen = await person.sees((text) => [/a=@\d+/, /b=@\d+/, /c=@\d+/].every((each) => each.test(text)));
    const said = Object.fromEntries([...seen.matchAll(/([abc])=(@\d+)/g)].map(([, letter, pane]) => [letter, pane]));
    expect(said.c).toBe(first);
    expect(new Set([said.a, said.b, said.c]).size).toBe(3);
  });

  test("zoom, another window, closing: the remaining panes take the room, and the last pane ends the session", async () => {
    await using wsh = new Wsh();
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    person.type("echo first\r");
    await person.sees(/^first/m);
    person.type(`${PREFIX}"`);
    await person.sees(/[━─]{20}/);
    person.type("echo second\r");
    await person.sees(/^second/m);
    person.type(`${PREFIX}z`);
    await until("the zoom", async () => !(await person.text()).includes("first"));
    person.type(`${PREFIX}z`);
    await person.sees(/^first/m);
    person.type(`${PREFIX}c`);
    await until("an empty window", async () => /^\$\s*$/.test((await person.text()).trim()));
    person.type("echo third\r");
    await person.sees(/^third/m);
    person.type(`${PREFIX}p`);
    await person.sees(/^second/m);
    person.type("exit\r");
    await until("the upper pane alone", async () => !/[━─]/.test(await person.text()));
    await person.sees(/^first/m);
    person.type("stty size\r");
    await person.sees(/^24 80/m);
    person.type("exit\r");
    await person.sees(/^third/m);
    person.type("exit 7\r");
    expect(await person.exited).toBe(7);
    expect(await wsh.list()).toEqual([]);
  });
});

describe("by calls", () => {
  test("a pane beside the person's: their focus stays, and every call reaches the right pane", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    const made = await http.post("/sessions/dev/panes", { direction: "down", percent: 30 });
    expect(made.status).toBe(201);
    const { pane } = made.body as { pane: string };
    const [first, second] = await panes("dev");
    expect(second).toMatchObject({ id: pane, active: false, col: 0, cols: 80 });
    expect(first).toMatchObject({ active: true, row: 0 });
    expect((first?.rows ?? 0) + (second?.rows ?? 0) + 1).toBe(24);

    person.type("echo person\r");
    await person.sees(/^person/m);
    expect(await wsh.exec(pane, "echo agent")).toBe("agent\n");
    expect(await wsh.exec("dev:0.1", "echo by index")).toBe("by index\n");
    expect(await wsh.exec("dev", "echo oldest")).toBe("oldest\n");
    expect(await wsh.screen(pane)).toContain("by index");
    expect(await wsh.screen(pane)).not.toContain("person");
    expect(await wsh.screen("dev")).toContain("person");
    await http.post(`/sessions/${pane}/pane/select`, {});
    // A bare name selects the oldest pane, whichever is active; `name:` selects the active one.
    expect(await wsh.screen("dev")).toContain("person");
    expect(await wsh.screen("dev:")).toContain("by index");
    expect((await http.get("/sessions/dev:0.7/screen")).status).toBe(404);
    expect((await http.get("/sessions/@9999/screen")).status).toBe(404);
  });

  test("listed as one session with its windows and panes; members are not sessions", async () => {
    await using all = await splitServer();
    const { wsh, http } = all;
    const before = await wsh.session("dev");
    await http.post("/sessions/dev/panes", {});
    await http.post("/sessions/dev/windows", { name: "logs", command: "sleep 1000" });
    const sessions = await wsh.list();
    expect(sessions).toMatchObject([{ id: before.id, pane_id: before.pane_id, name: "dev", pid: before.pid }]);
    expect(sessions[0]?.windows).toMatchObject([
      { index: 0, active: true, panes: [{ id: before.pane_id, active: true }, { active: false }] },
      { index: 1, name: "logs", active: false, panes: [{ command: "sleep 1000" }] },
    ]);
    expect(((await http.get("/sessions")).body as unknown[]).length).toBe(1);
    expect(await wsh.ok("list", "--names")).toBe("dev\n");
    await wsh.ok("rename", "dev", "build");
    expect((await wsh.list()).map(({ name }) => name)).toEqual(["build"]);
    expect((await http.get("/sessions/build:logs/screen?format=plain")).status).toBe(200);
    await wsh.ok("kill", "build");
    expect(await wsh.list()).toEqual([]);
    await until("no process of it", async () =>
      wsh.processes().every(({ command }) => !command.includes("sleep 1000")),
    );
  });

  test("a pane that cannot start leaves everything unchanged", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    for (const body of [
      { cwd: "/does/not/exist" },
      { shell: "/no/shell" },
      { command: " " },
      { direction: "sideways" },
    ]) {
      expect((await http.post("/sessions/dev/panes", body)).status).toBeGreaterThanOrEqual(400);
    }
    expect(await panes("dev")).toHaveLength(1);
    await http.post("/sessions/dev/panes", {});
    const made = JSON.stringify(await panes("dev"));
    expect((await http.post("/sessions/dev/panes", { cwd: "/does/not/exist" })).status).toBe(400);
    const now = await panes("dev");
    expect(now.map(({ id, rows, cols }) => [id, rows, cols])).toEqual(
      (JSON.parse(made) as Pane[]).map(({ id, rows, cols }) => [id, rows, cols]),
    );
  });

  test("an invalid layout or size is refused, and closes, starts and changes nothing", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await http.expect(201, http.post("/sessions/dev/panes", {}));
    const places = async () => (await panes("dev")).map(({ id, pid, row, col, cols }) => ({ id, pid, row, col, cols }));
    const before = await places();
    const [pane] = before.map(({ id }) => id);
    for (const tree of [
      { row: [] },
      { row: [{ pane }, { pane: "six" }] },
      { column: [{ pane }, { row: [{ command: 7 }] }] },
      { row: [{ pane }], column: [{ pane }] },
      { row: [{ pane }], pane },
      { row: [{ pane, command: "cat" }] },
      { rwo: [{ pane }] },
      { row: [{ pane }, { weight: 0 }] },
      [{ pane }],
      [],
      "row",
    ]) {
      const { body, text } = await http.json("PUT", "/sessions/dev/layout", { tree, close_others: true });
      expect([JSON.stringify(tree), body]).toEqual([
        JSON.stringify(tree),
        { error: expect.objectContaining({ code: "invalid_request" }) },
      ]);
      expect(text).toContain("'tree");
    }
    const named = await http.json("PUT", "/sessions/dev/layout", { tree: { row: [{ pane }, { pane: "six" }] } });
    expect(named.text).toContain("tree.row.1.pane");
    for (const [path, body] of [
      ["panes", { percent: 40, cells: 20 }],
      ["pane/resize", { cols: 20, cols_percent: 40 }],
      ["pane/resize", { direction: "left", cols: 20 }],
      ["panes", { view: "dev", command: "cat" }],
    ] as const) {
      expect((await http.post(`/sessions/dev:0.0/${path}`, body)).text).toMatch(/is either|cannot be used with/);
    }
    expect(await places()).toEqual(before);
  });

  test("a limit of panes, a whole tree, presets, and tmux's layouts", async () => {
    await using all = await splitServer({ config: "max_panes = 4\n" });
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    const [own] = await panes("dev");
    const tree = { row: [{ pane: own?.id, weight: 2 }, { column: [{ command: "cat" }, { command: "cat" }] }] };
    const set = await http.send("PUT", "/sessions/dev/layout", {
      body: JSON.stringify({ tree }),
      headers: { "content-type": "application/json" },
    });
    expect(set.status).toBe(200);
    expect(await panes("dev")).toMatchObject([{ id: own?.id, rows: 24 }, { col: 54 }, { col: 54 }]);
    await http.post("/sessions/dev/panes", {});
    expect(await http.post("/sessions/dev/panes", {})).toMatchObject({
      body: { error: { code: "resource_limit_reached" } },
    });
    await http.post("/sessions/dev/layout/preset", { preset: "even-horizontal" });
    expect((await panes("dev")).map(({ row }) => row)).toEqual([0, 0, 0, 0]);
    const { windows } = (await http.get("/sessions/dev/layout")).body as { windows: { tmux: string }[] };
    await http.post("/sessions/dev/layout/preset", { preset: "tiled" });
    await http.send("PUT", "/sessions/dev/layout", {
      body: JSON.stringify({ tmux: windows[0]?.tmux }),
      headers: { "content-type": "application/json" },
    });
    expect((await panes("dev")).map(({ row }) => row)).toEqual([0, 0, 0, 0]);
  });

  test("closing the last pane of a window, and ending a session through a part of it", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    const made = await http.post("/sessions/dev/windows", {});
    const { pane } = made.body as { pane: string };
    expect(await http.send("DELETE", `/sessions/${pane}`)).toMatchObject({
      body: { error: { code: "invalid_request" } },
    });
    expect((await http.send("DELETE", `/sessions/${pane}/pane`)).body).toMatchObject({ closed: pane });
    expect(await panes("dev")).toHaveLength(1);
    await http.send("DELETE", "/sessions/dev/pane");
    await until("the session to be gone", async () => (await wsh.list()).length === 0);
  });

  test("a pane moves into another session, and one session is shown in another", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("one");
    await wsh.session("two");
    const chosen = { title: "mine", keep_after_exit: true, env: { PLACE: "here" } };
    const made = await http.post("/sessions/one/panes", chosen);
    const { pane } = made.body as { pane: string };
    expect(await http.post(`/sessions/${pane}/pane/move`, { to: "two" })).toMatchObject({ status: 200 });
    expect(JSON.stringify((await http.get("/sessions/two/layout")).body)).toContain(
      JSON.stringify(chosen).slice(1, -1),
    );
    expect((await panes("two")).map(({ id }) => id)).toContain(pane);
    expect(await panes("one")).toHaveLength(1);
    expect(await wsh.exec(pane, "echo moved")).toBe("moved\n");
    expect((await http.post("/sessions/one/panes", { view: "two" })).status).toBe(201);
    expect(await panes("one")).toMatchObject([{}, { view: "two" }]);
    await wsh.ok("kill", "two");
    await until("the view to be gone", async () => (await panes("one")).length === 1);
  });
});

test("a session and a split start in a directory whose name is not UTF-8", async () => {
  await using wsh = new Wsh();
  const directory = Buffer.concat([Buffer.from(`${wsh.dir}/caf`), Buffer.from([0xe9])]);
  mkdirSync(directory);
  // No text path leads there: a shell changes into it.
  const inThere = ["sh", "-c", `cd caf* && exec "$@"`, "sh"];
  const run = (...args: string[]) =>
    Bun.spawnSync([...inThere, ...wsh.command(...args)], { cwd: wsh.dir, env: wsh.env });
  expect(run("new", "dev").exitCode).toBe(0);
  const pane = (await wsh.ok("split", "dev")).trim();
  const ends = (stdout: Buffer): string => stdout.toString().trim().slice(-11);
  for (const target of ["dev", pane])
    expect(ends(run("exec", target, "--", "pwd | od -An -v -tx1 -w1000").stdout)).toBe("61 66 e9 0a");
  expect(ends(run("exec", "--", "pwd | od -An -v -tx1 -w1000").stdout)).toBe("61 66 e9 0a");
});
