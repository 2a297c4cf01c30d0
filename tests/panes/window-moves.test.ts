/** Windows that get another number, change places, or move to another session: completely, or not at all. */
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { splitServer } from "../support/panes.ts";
import { until } from "../support/until.ts";
import { TestSocket } from "../support/websocket.ts";

setDefaultTimeout(60_000);

type All = Awaited<ReturnType<typeof splitServer>>;
interface Made {
  readonly pane: string;
  readonly window: string;
}

async function post(all: All, path: string, body: object = {}): Promise<Made> {
  const answer = await all.http.post(`/sessions/${path}`, body as never);
  expect([path, answer.status]).toEqual([path, path.endsWith("move") || path.endsWith("swap") ? 200 : 201]);
  return answer.body as Made;
}

/** Windows of each session by number: name or id, the shape of the layout, and the programs in it. */
async function facts({ wsh, http }: All): Promise<Record<string, readonly string[]>> {
  const sessions = await wsh.list();
  const each = sessions.map(async ({ name, windows }) => {
    const layouts = await http.expect<{ windows: { id: string; tmux: string }[] }>(
      200,
      http.get(`/sessions/${name}/layout`),
    );
    const shown = windows.map(({ id, index, active, panes }) => {
      const shape = layouts.windows.find((layout) => layout.id === id)?.tmux.replace(/^\w+,/, "");
      const programs = panes.map(({ id, pid }) => `${id}:${pid}`).join(" ");
      return `${index} ${id}${active ? "*" : ""} ${shape} ${programs}`;
    });
    return [name, shown] as const;
  });
  return Object.fromEntries(await Promise.all(each));
}

const numbers = async (all: All, name: string): Promise<string[]> =>
  ((await all.http.get(`/sessions/${name}/windows`)).body as { index: number; id: string; active: boolean }[]).map(
    ({ index, id, active }) => `${index}${id}${active ? "*" : ""}`,
  );

test("in its session: to a free number, between others, and in exchange", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  const [first = ""] = (await numbers(all, "dev")).map((each) => each.slice(1, -1));
  const { window: second } = await post(all, "dev/windows");
  const { window: third } = await post(all, "dev/windows");
  const before = await numbers(all, "dev");
  expect(await http.post(`/sessions/${third}/window/move`, { index: 1 })).toMatchObject({ status: 400 });
  expect(await http.post(`/sessions/${third}/window/move`, { to: "dev:second" })).toMatchObject({ status: 400 });
  for (const beyond of [
    { index: 10_000 },
    { index: 1.5 },
    { index: -1 },
    { to: "10000" },
    { to: "dev:99999999999999" },
  ])
    expect((await http.post(`/sessions/${third}/window/move`, beyond)).status).toBeOneOf([400, 409, 422]);
  expect(await http.post(`/sessions/${third}/window/swap`, { with: "9" })).toMatchObject({
    status: 404,
    body: { error: { hint: "GET …/windows lists which exist." } },
  });
  for (const target of ["dev", "dev:9"])
    expect((await wsh.run("window", "swap", target, "9")).stderr).toContain("`wsh window list` shows which exist.");
  for (const to of ["dev", "next"]) {
    const { code, stderr } = await wsh.run("window", "move", "dev:0", "--to", to);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringContaining("'move' takes its destination as the last word"),
    });
  }
  expect((await wsh.run("window", "select", "dev:0", "--to", "up")).stderr).toContain("'up' is not one of next,");
  expect(await http.post(`/sessions/${third}/window/swap`, { with: "dev" })).toMatchObject({ status: 400 });
  expect(await numbers(all, "dev")).toEqual(before);
  await post(all, `${third}/window/move`, { index: 0, make_room: true });
  expect(await numbers(all, "dev")).toEqual([`0${third}`, `1${first}*`, `2${second}`]);
  await wsh.ok("window", "swap", third, "next");
  expect(await numbers(all, "dev")).toEqual([`0${first}*`, `1${third}`, `2${second}`]);
  await wsh.ok("window", "swap", third, "2");
  await wsh.ok("window", "move", first, "7");
  expect(await numbers(all, "dev")).toEqual([`1${second}`, `2${third}`, `7${first}*`]);
  await wsh.ok("window", "move", first, "dev:");
  expect(await numbers(all, "dev")).toEqual([`0${first}*`, `1${second}`, `2${third}`]);
  await wsh.ok("tmux", "swap-window", "-d", "-s", "dev:0", "-t", "dev:2");
  expect(await numbers(all, "dev")).toEqual([`0${third}`, `1${second}`, `2${first}*`]);
});

test("renumber_windows closes the gap of a window that has moved away or was joined to another", async () => {
  await using all = await splitServer({ config: "renumber_windows = true\n" });
  const { wsh } = all;
  await wsh.session("dev");
  await wsh.session("other");
  const [first = ""] = (await numbers(all, "dev")).map((each) => each.slice(1, -1));
  const made = [await post(all, "dev/windows"), await post(all, "dev/windows"), await post(all, "dev/windows")];
  const [second, third, fourth] = made.map(({ window }) => window);
  await wsh.ok("window", "move", second ?? "", "other");
  expect(await numbers(all, "dev")).toEqual([`0${first}*`, `1${third}`, `2${fourth}`]);
  await wsh.ok("pane", "move", made[1]?.pane ?? "", "--to", "dev:0");
  expect(await numbers(all, "dev")).toEqual([`0${first}*`, `1${fourth}`]);
  await wsh.ok("window", "move", fourth ?? "", "7");
  await wsh.ok("window", "swap", fourth ?? "", "other:0");
  expect((await numbers(all, "dev")).map((each) => each[0])).toEqual(["0", "7"]);
});

test("a bare name means the pane that has been in the session longest, wherever others came from", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  for (const name of ["one", "two"]) await wsh.session(name);
  const [older = "", own = ""] = (await wsh.list()).map(({ pane_id }) => pane_id);
  await post(all, "one/panes", { direction: "right" });
  await wsh.ok("pane", "move", older, "--to", "two");
  const named = async () => (await wsh.list()).find(({ name }) => name === "two")?.pane_id;
  expect(await named()).toBe(own);
  expect(await wsh.exec("two", "echo $WSH_PANE")).toBe(`${own}\n`);
  expect(await wsh.ok("tmux", "display-message", "-p", "-t", "two", "#{session_path}")).toBe(`${wsh.dir}\n`);
  // Moves within the session count for nothing.
  await post(all, `${own}/pane/move`, {});
  expect(await named()).toBe(own);
  await wsh.ok("pane", "close", own);
  await post(all, "two/panes", { direction: "right" });
  expect(await named()).toBe(older);
});

test("a session whose only pane came from another one is used like any other, whatever their numbers", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  await wsh.session("one");
  const { pane } = await post(all, "one/panes", { direction: "right" });
  await wsh.session("two");
  const two = async () => (await wsh.list()).find(({ name }) => name === "two");
  const own = (await two())?.pane_id ?? "";
  // The pane has the number of the session, whose process has another.
  expect((await two())?.id).toBe(pane.replace("@", "@s"));
  await wsh.ok("pane", "move", pane, "--to", "two");
  await wsh.ok("pane", "close", own);
  for (const target of ["two", pane, "two:0.0"]) {
    expect(await wsh.exec(target, "echo $WSH_PANE")).toBe(`${pane}\n`);
    const raw = new TestSocket(
      `ws+unix://${wsh.instance.httpSocket}:/sessions/${encodeURIComponent(target)}/ws/raw`,
      {},
    );
    const json = new TestSocket(
      `ws+unix://${wsh.instance.httpSocket}:/sessions/${encodeURIComponent(target)}/ws/json`,
      {},
    );
    await Promise.all([raw.opened, json.opened]);
    raw.socket.send(Buffer.from("echo raw-$((40+2))\r"));
    await raw.wait("its output", () => raw.text.includes("raw-42"));
    for (const socket of [raw, json]) socket.close();
  }
});

test("a pane is stored while its session is not private, wherever it came from", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  for (const name of ["safe", "desk"]) await wsh.session(name);
  await wsh.ok("private", "safe", "on");
  const { pane } = await post(all, "safe/panes");
  const isStored = (): boolean =>
    fs
      .readdirSync(`${wsh.instance.stateDir}/t.checkpoints`, { recursive: true })
      .some((each) => `${each}`.endsWith(".state") && `${each}`.includes(`p${pane.slice(1)}.`));
  await wsh.ok("pane", "move", pane, "--to", "desk");
  await until("its checkpoint", isStored);
  for (const [state, isKept] of [
    ["on", false],
    ["off", true],
  ] as const) {
    await wsh.ok("private", "desk", state);
    await until(`desk to be private: ${state}`, () => isStored() === isKept);
  }
  await wsh.ok("pane", "move", pane, "--to", "safe");
  await until("its checkpoint to be gone", () => !isStored());
});

/** Two sessions, of which the first has a window of three panes beside its own. */
async function twoSessions(): Promise<{ all: All; moved: Made; last: string }> {
  const all = await splitServer();
  await all.wsh.session("one");
  await all.wsh.session("two");
  const moved = await post(all, "one/windows", { name: "würk" });
  await post(all, `${moved.pane}/panes`, { direction: "down" });
  const { pane: last } = await post(all, `${moved.pane}/panes`, { direction: "right" });
  await all.wsh.exec(moved.pane, "kept=here");
  return { all, moved, last };
}

test("sessions that have exchanged their only windows are used by name as before", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  for (const name of ["one", "two"]) await wsh.ok("exec", await wsh.session(name).then(() => name), "--", `me=${name}`);
  await wsh.ok("window", "swap", "one:0", "two:0");
  expect(await wsh.exec("one", "echo $me")).toBe("two\n");
  expect(await wsh.exec("two:0", "echo $me")).toBe("one\n");
  expect(await wsh.ok("screen", "one")).toContain("echo $me");
  expect((await wsh.run("window", "move", "one:0", "")).stderr).toContain("'' is not a session");
});

test("a window that came from another session is restored with its session, and survives a move without an answer", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  await wsh.session("one");
  await wsh.session("two");
  const [, taker = 0] = wsh.hosts();
  const { window, pane } = await post(all, "one/windows", { name: "moved" });
  await wsh.exec(pane, "here=1; echo mark");
  process.kill(taker, "SIGSTOP");
  expect((await wsh.run("window", "move", window, "two")).code).toBe(1);
  process.kill(taker, "SIGCONT");
  // Longer than a pane without a session may live.
  await Bun.sleep(2_500);
  expect(await wsh.exec(pane, "echo $here")).toBe("1\n");
  await wsh.ok("window", "move", window, "two");
  await wsh.exec(pane, "cd /usr");
  const parts = `${wsh.instance.stateDir}/t.checkpoints`;
  const kept = () =>
    fs.readdirSync(parts, { recursive: true }).some((each) => `${each}`.includes(`p${pane.slice(1)}.`));
  await until("its checkpoint", kept);
  process.kill(taker, "SIGKILL");
  await until("it to be crashed", async () => (await all.http.get("/sessions?all=true")).text.includes('"crashed"'));
  await until("its process to let go", async () => (await wsh.run("exec", pane, "--", "true")).code !== 0);
  expect((await wsh.run("restore", "two")).stderr).not.toContain("without");
  expect(await wsh.ok("window", "list", "two")).toContain("moved");
});

describe("to another session", () => {
  test("with its panes, layout, name and id, and back; the only one takes its session with it", async () => {
    const { all, moved, last } = await twoSessions();
    await using _ = all;
    const { wsh } = all;
    const before = await facts(all);
    await wsh.ok("window", "move", moved.window, "two:5");
    const there = await facts(all);
    expect(there.one).toEqual((before.one ?? []).slice(0, 1));
    expect(there.two?.[1]?.slice(2)).toBe(before.one?.[1]?.slice(2));
    expect(there.two?.[1]).toStartWith("5 ");
    expect(await wsh.exec(moved.pane, "echo $kept")).toBe("here\n");
    expect(await wsh.exec("two:würk.2", "echo by name")).toBe("by name\n");
    await wsh.ok("tmux", "move-window", "-d", "-s", moved.window.replace("w", ""), "-t", "one:1");
    expect(await facts(all)).toEqual(before);
    await wsh.ok("window", "close", "one:0");
    await wsh.ok("window", "move", "one:", "two");
    await until("the session to be gone", async () => (await wsh.list()).length === 1);
    expect((await facts(all)).two?.[1]?.slice(2).replace("*", "")).toBe(before.one?.[1]?.slice(2));
    expect(await wsh.exec(last, "echo alive")).toBe("alive\n");
  });

  test("in exchange for one of that session", async () => {
    const { all, moved } = await twoSessions();
    await using _ = all;
    const before = await facts(all);
    await post(all, `${moved.window}/window/swap`, { with: "two:0" });
    const after = await facts(all);
    const body = (line = ""): string => line.slice(2).replace("*", "");
    expect(body(after.one?.[1])).toBe(body(before.two?.[0]));
    expect(body(after.two?.[0])).toBe(body(before.one?.[1]));
    expect(after.two?.[0]).toStartWith(`0 ${moved.window}*`);
    expect(await all.wsh.exec("two", "echo $kept")).toBe("here\n");
    await all.wsh.ok("window", "swap", moved.window, "one:1");
    expect(await facts(all)).toEqual(before);
  });

  test("or not at all: when the last of its panes cannot be shown there, on either side", async () => {
    const { all, moved, last } = await twoSessions();
    await using _ = all;
    const { wsh, http } = all;
    const { window } = await post(all, "two/windows", { view: last });
    const before = await facts(all);
    const asked: [string, string, object][] = [
      [moved.window, "move", { to: "two" }],
      [moved.window, "swap", { with: "two:0" }],
      // Here the other side refuses, after the first has received its window.
      ["two:0", "swap", { with: moved.window }],
      [moved.window, "move", { to: "nowhere" }],
      [moved.window, "move", { to: "two:0" }],
    ];
    for (const [target, act, body] of asked) {
      const { status } = await http.post(`/sessions/${target}/window/${act}`, body as never);
      expect([act, status >= 400, await facts(all)]).toEqual([act, true, before]);
    }
    await wsh.ok("window", "close", window);
    await wsh.ok("window", "move", moved.window, "two");
    expect(await wsh.exec(last, "echo shown")).toBe("shown\n");
  });

  test.if(process.platform === "linux")("or not at all: the other process dies, or has no descriptors", async () => {
    const { all, moved, last } = await twoSessions();
    await using _ = all;
    const { wsh, http } = all;
    const { one } = await facts(all);
    // The second in age.
    const two = wsh.hosts()[1] ?? 0;
    const descriptors = fs.readdirSync(`/proc/${two}/fd`).length;
    Bun.spawnSync(["prlimit", "--pid", String(two), `--nofile=${descriptors + 2}:`]);
    expect((await http.post(`/sessions/${moved.window}/window/move`, { to: "two" })).status).toBeGreaterThanOrEqual(
      400,
    );
    expect((await facts(all)).one).toEqual(one);
    process.kill(two, "SIGSTOP");
    const swapping = http.post(`/sessions/${moved.window}/window/swap`, { with: "two:0" });
    await Bun.sleep(100);
    process.kill(two, "SIGKILL");
    expect((await swapping).status).toBeGreaterThanOrEqual(400);
    expect((await facts(all)).one).toEqual(one);
    expect(await wsh.exec(last, "echo in order")).toBe("in order\n");
  });

  test("two sessions that exchange windows at the same time do not deadlock", async () => {
    const { all, moved } = await twoSessions();
    await using _ = all;
    const { window: other } = await post(all, "two/windows");
    for (let round = 0; round < 3; round++) {
      const [to, back] = round % 2 === 0 ? ["two", "one"] : ["one", "two"];
      await Promise.all([
        post(all, `${moved.window}/window/move`, { to }),
        post(all, `${other}/window/move`, { to: back }),
      ]);
    }
    const { one = [], two = [] } = await facts(all);
    expect(one.some((line) => line.includes(other))).toBe(true);
    expect(two.some((line) => line.includes(moved.window))).toBe(true);
  });
});
