/** A session of four panes whose process was killed is restored. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { readLayout } from "../../../src/checkpoints/files/part-reader.ts";
import { sessionSocket } from "../../../src/instance/paths.ts";
import { Http } from "../../support/http.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { folderOf, holdLocks, kill, lifeLocks, stored, textOf, writtenToPrompt } from "./crashed-sessions.ts";

interface PaneOf {
  readonly id: string;
  readonly row: number;
  readonly col: number;
  readonly rows: number;
  readonly cols: number;
  readonly active: boolean;
}

async function placesOf(http: Http): Promise<object[]> {
  const panes = (await http.get("/sessions/dev/panes")).body as PaneOf[];
  return panes.map(({ id, row, col, rows, cols, active }) => ({ id, row, col, rows, cols, active }));
}

async function four(wsh: Wsh, http: Http): Promise<string[]> {
  await wsh.session("dev");
  const made: string[] = ["@1"];
  for (const [beside, direction] of [
    [0, "right"],
    [0, "down"],
    [1, "down"],
  ] as const) {
    const { body } = await http.post(`/sessions/${made[beside]}/panes`, { direction, focus: beside === 1 });
    made.push((body as { pane: string }).pane);
  }
  await http.post("/sessions/@1/pane/resize", { cols: 30 });
  for (const pane of made) await wsh.exec(pane, `seq 1 40; echo in ${pane}`);
  // The last change of the layout: the checkpoint with it has the sizes, too.
  await wsh.ok("tag", "dev", "--add", "mine");
  for (const pane of made) await writtenToPrompt(wsh, `in ${pane}`, Number(pane.slice(1)));
  await until("the layout to be written", () => {
    try {
      const { panes, session } = readLayout(folderOf(wsh)).record;
      return panes.length === 4 && session.tags.includes("mine");
    } catch {
      return false;
    }
  });
  return made;
}

/** Numbers of the panes in the written layout, once there are so many. */
function layoutOf(wsh: Wsh, count: number): Promise<readonly number[]> {
  return until(`${count} panes to be written`, () => {
    try {
      const { panes } = readLayout(folderOf(wsh)).record;
      return panes.length === count ? panes : null;
    } catch {
      return null;
    }
  });
}

test("four panes: positions, focus, ids, name, tags, and the screen of each", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const made = await four(wsh, http);
  const before = await placesOf(http);
  expect(before).toHaveLength(4);
  const shown = new Map<string, string>();
  for (const pane of made) shown.set(pane, textOf(wsh, Number(pane.slice(1))));
  await kill(wsh);
  await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
  const [lost] = await wsh.list();
  expect(lost).toMatchObject({ name: "dev", id: "@s1", tags: ["mine"] });
  // In the order of their positions, and not of their ids; the active one is known.
  const places = before as { id: string; active: boolean }[];
  expect(lost?.windows[0]?.panes.map(({ id, active }) => ({ id, active }))).toEqual(
    places.map(({ id, active }) => ({ id, active })),
  );
  // Each pane can be read by its id.
  await until("the pane to be read", async () =>
    (await wsh.run("screen", made[2] ?? "")).stdout.includes(`in ${made[2]}`),
  );
  expect(await wsh.screen("dev")).toContain("in @1");
  await wsh.ok("restore", "dev");
  await until("it to run", async () => (await wsh.list())[0]?.running === true);
  expect(await placesOf(http)).toEqual(before);
  const [info] = await wsh.list();
  expect(info).toMatchObject({ name: "dev", id: "@s1", tags: ["mine"] });
  for (const pane of made) {
    await wsh.shows(pane, /restored: above/);
    const { body } = await http.get(`/sessions/${pane}/scrollback?format=plain&limit=200`);
    const text = (body as { lines: string[] }).lines.join("\n");
    const old = (shown.get(pane) ?? "").replace(/\x1b\[[\d;:]*m/g, "");
    expect(text.slice(0, text.indexOf("\n──")).trimEnd()).toBe(old.replace(/[ \t]+$/gm, "").trimEnd());
    expect(await wsh.ok("exec", pane, "--", "echo alive")).toBe("alive\n");
  }
  // It is a normal session: a pane can be split, and its end leaves nothing.
  await http.post("/sessions/dev/panes", { direction: "right" });
  await wsh.ok("kill", "dev");
  await until("nothing to be left", () => !fs.existsSync(folderOf(wsh)));
  expect(await wsh.ok("list")).toBe("No active sessions.\n");
}, 90_000);

test("four panes to the cell: characters, colours, attributes, links and cursor, read while crashed and above the rule", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const made = await four(wsh, http);
  const [styled = "", wide = "", full = "", hidden = ""] = made;
  const print = async (pane: string, text: string): Promise<void> => {
    fs.writeFileSync(join(wsh.dir, pane), text);
    await wsh.enter(pane, `clear; cat ${join(wsh.dir, pane)}; sleep 1000`);
    await wsh.shows(pane, "end");
  };
  const colours = [1, 4, "4:3;58;5;9", 7, 31, "48;5;22", "38;2;1;2;3", "3;9;44"];
  await print(styled, `${colours.map((each) => `\x1b[${each}m<${each}>\x1b[0m`).join("\n")}\nend`);
  await print(
    wide,
    "你好 e\u0301 👩‍👩‍👧\n\x1b]8;;https://a.b/c\x1b\\link\x1b]8;;\x1b\\\n\x1b[41m\x1b[K\x1b[0m\nend\x1b[2;3H",
  );
  await print(full, "\x1b[?1049h\x1b[2J\x1b[4;7H\x1b[44;1mbox\x1b[0m end\x1b[2;5H");
  await print(hidden, `${"long ".repeat(30)}\x1b[?25l\nend`);
  type Shown = { lines: unknown[]; cursor: object; alternate_active: boolean; rows: number; cols: number };
  const shown = async (pane: string) => {
    const { body } = await http.get(`/sessions/${pane}/screen?format=styled`);
    const { lines, cursor, alternate_active, rows, cols } = body as Shown;
    return { lines, cursor, alternate_active, rows, cols };
  };
  const before = new Map<string, Awaited<ReturnType<typeof shown>>>();
  for (const pane of made) before.set(pane, await shown(pane));
  for (const pane of made) {
    const { cursor } = before.get(pane) ?? {};
    const number = Number(pane.slice(1));
    await until(`${pane} to be written`, () => {
      return textOf(wsh, number).includes("end") && Bun.deepEquals(stored(wsh, number)?.record.cursor, cursor);
    });
  }
  expect(before.get(full)).toMatchObject({ alternate_active: true, cursor: { row: 1, col: 4 } });
  expect(before.get(hidden)).toMatchObject({ cursor: { visible: false } });
  await kill(wsh);
  await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
  for (const pane of made) expect(await shown(pane), pane).toEqual(before.get(pane) ?? expect.unreachable());
  await wsh.ok("restore", "dev");
  for (const pane of made) {
    await wsh.shows(pane, /restored: above/);
    const { body } = await http.get(`/sessions/${pane}/scrollback?format=styled&limit=200`);
    const lines = (body as { lines: unknown[] }).lines.map((line) => JSON.stringify(line));
    const rule = lines.findIndex((line) => line.includes("restored: above"));
    const old = (before.get(pane)?.lines ?? []).map((line) => JSON.stringify(line));
    const empty = JSON.stringify(before.get(full)?.lines[0]);
    while (old.at(-1) === empty) old.pop();
    expect(lines.slice(rule - old.length, rule), pane).toEqual(old);
  }
}, 90_000);

test("SIGTERM to all of them, as at shutdown; a pane that cannot be read is removed from the layout", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  const made = await four(wsh, http);
  await kill(wsh, "SIGTERM");
  await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
  expect((await wsh.list())[0]?.crashed?.why).toBe("ended by SIGTERM");
  const [, second = ""] = made;
  for (const name of fs.readdirSync(folderOf(wsh))) {
    if (name.startsWith(`p${second.slice(1)}.`)) fs.writeFileSync(`${folderOf(wsh)}/${name}`, "damaged");
  }
  const taken = await wsh.session("other");
  expect((await wsh.run("restore", "@s1", "--as", "other")).stderr).toContain("a session named 'other' already exists");
  expect(taken.name).toBe("other");
  const restored = await wsh.run("restore", "@s1", "--as", "again", "--json");
  expect(restored.stderr).toContain(`session 'again' is restored without pane ${second}: no generation of`);
  expect(JSON.parse(restored.stdout).left_out).toMatchObject([{ session: "again", pane_id: second }]);
  const all = made.filter((pane) => pane !== second).sort();
  await until("its panes", async () => {
    const panes = (await http.get("/sessions/again/panes")).body as PaneOf[];
    return Bun.deepEquals(panes.map(({ id }) => id).sort(), all);
  });
}, 90_000);

test("it is restored, or offered, without a list of sessions since; of a removed one nothing is left", async () => {
  await using wsh = new Wsh();
  const split = async (): Promise<void> => {
    await wsh.ok("split", "dev");
    await until("the layout to be written", () => {
      try {
        return readLayout(folderOf(wsh)).record.panes.length > 1;
      } catch {
        return false;
      }
    });
    const { panes } = readLayout(folderOf(wsh)).record;
    await until("both panes to be written", () => panes.every((pane) => textOf(wsh, pane) !== ""));
    await kill(wsh);
  };
  await wsh.session("dev");
  await split();
  expect((await wsh.run("attach", "dev")).stderr).toContain("session 'dev' crashed");
  expect(await wsh.ok("restore", "dev")).toBe("Session 'dev' is restored: wsh attach dev\n");
  await wsh.shows("@1", /restored: above/);
  await kill(wsh);
  // Its process cannot be started: that removes nothing of the checkpoint.
  const [first = 0, second = 0] = readLayout(folderOf(wsh)).record.panes;
  const place = sessionSocket(wsh.instance, first);
  fs.rmSync(place, { force: true });
  fs.mkdirSync(place);
  expect((await wsh.run("restore", "dev")).code).toBe(1);
  fs.rmdirSync(place);
  expect(await wsh.ok("restore", "--all")).toContain("Session 'dev' is restored");
  await wsh.shows(`@${second}`, /restored: above/);
  await kill(wsh);
  await wsh.ok("forget", "--all", "--yes");
  const { stderr } = await wsh.run("attach", "dev");
  expect(stderr).toContain("no session 'dev'");
}, 60_000);

test("several windows and a zoomed pane: listed separately while crashed, and restored", async () => {
  await using wsh = new Wsh();
  await wsh.server();
  const http = new Http({ unix: wsh.instance.httpSocket });
  await wsh.session("dev");
  await http.post("/sessions/dev/panes", { direction: "right" });
  await http.post("/sessions/dev/windows", { name: "logs" });
  await http.post("/sessions/@1/pane/zoom", {});
  const windowsOf = async () => {
    const [info] = await wsh.list();
    return info?.windows.map(({ id, name, index, active, panes }) => {
      return { id, index, active, isLogs: name === "logs", panes: panes.map((pane) => pane.id) };
    });
  };
  const before = await windowsOf();
  expect(before).toHaveLength(2);
  const zoomedOf = async () => {
    const listed = (await http.get("/sessions/dev/windows")).body as { zoomed?: boolean }[];
    return listed.map(({ zoomed }) => zoomed === true);
  };
  expect(await zoomedOf()).toEqual([true, false]);
  await wsh.exec("@1", "echo here");
  await writtenToPrompt(wsh, "here");
  await until("the zoom to be written", () => {
    try {
      const { record } = readLayout(folderOf(wsh));
      return record.windows.length === 2 && JSON.stringify(record.tree).includes('"zoomed":true');
    } catch {
      return false;
    }
  });
  const panes = before?.flatMap((window) => window.panes) ?? [];
  for (const pane of panes) await until(`${pane} to be written`, () => stored(wsh, Number(pane.slice(1))) !== null);
  await kill(wsh);
  await until("it to be lost", async () => (await wsh.list())[0]?.state === "crashed");
  expect(await windowsOf()).toEqual(before);
  await wsh.ok("restore", "dev");
  await until("it to run", async () => (await wsh.list())[0]?.running === true);
  expect(await windowsOf()).toEqual(before);
  expect(await zoomedOf()).toEqual([true, false]);
});

test("a split is written at once; of two restores at once, each session is restored once, completely", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  // On a busy machine a timer may be late once: not four times, each time by a second.
  const late: number[] = [];
  for (let panes = 2; panes < 6; panes++) {
    await wsh.ok("split", "dev");
    const made = Date.now();
    await layoutOf(wsh, panes);
    late.push(readLayout(folderOf(wsh)).record.saved_at - made);
    if (late.some((ms) => ms < 1_000)) break;
  }
  expect(Math.min(...late)).toBeLessThan(1_000);
  const panes = await layoutOf(wsh, late.length + 1);
  for (const pane of panes) await until(`@${pane} to be written`, () => stored(wsh, pane) !== null);
  const { pane_id } = await wsh.session("one");
  await until("it to be written", () => stored(wsh, Number(pane_id.slice(1)), 2) !== null);
  await kill(wsh);
  const both = await Promise.all([wsh.run("restore", "--all"), wsh.run("restore", "--all")]);
  const said = both.map(({ stdout }) => stdout).join("");
  for (const name of ["dev", "one"]) expect(said.split(`Session '${name}' is restored`), said).toHaveLength(2);
  const listed = await wsh.list();
  expect(listed.map(({ name, running }) => [name, running]).sort()).toEqual([
    ["dev", true],
    ["one", true],
  ]);
  expect(
    listed
      .find(({ name }) => name === "dev")
      ?.windows[0]?.panes.map(({ id }) => id)
      .sort(),
  ).toEqual(panes.map((pane) => `@${pane}`).sort());
}, 60_000);

test("after a restore that was killed the next one restores all; while processes are dying, too", async () => {
  await using wsh = new Wsh();
  await wsh.session("dev");
  await wsh.ok("split", "dev");
  const panes = await layoutOf(wsh, 2);
  for (const pane of panes) await until(`@${pane} to be written`, () => stored(wsh, pane) !== null);
  await kill(wsh);
  const hosts = () => wsh.processes().filter(({ command }) => command.endsWith(" session-process"));
  const restore = wsh.spawn(["restore", "dev"]);
  await until("its first pane", () => hosts().length > 0 || restore.exitCode !== null);
  restore.kill("SIGKILL");
  await restore.exited;
  // It was killed too late, or its children end, which takes a while: until then there is nothing to restore.
  await until("the session to run", async () => {
    const [info] = await wsh.list();
    return info?.running === true || (info?.state === "crashed" && (await wsh.run("restore", "dev")).code === 0);
  });
  const [info] = await wsh.list();
  expect(info?.windows[0]?.panes.map(({ id }) => id)).toEqual(panes.map((pane) => `@${pane}`));
  for (const pane of panes) expect(await wsh.ok("exec", `@${pane}`, "--", "echo alive")).toBe("alive\n");

  // While its processes are dying it can be restored, attached to and forgotten.
  const dying = async (): Promise<() => Promise<unknown>> => {
    await kill(wsh);
    return holdLocks(lifeLocks(wsh));
  };
  let released = await dying();
  expect(await wsh.ok("restore", "dev")).toContain("Session 'dev' is restored");
  await released();
  released = await dying();
  expect((await wsh.run("attach", "dev")).stderr).toContain("session 'dev' crashed");
  await released();
  await wsh.ok("restore", "dev");
  released = await dying();
  await wsh.ok("forget", "dev", "--yes");
  expect((await wsh.run("attach", "dev")).stderr).toContain("no session 'dev'");
  await released();
}, 60_000);
