/** A failed change of windows and panes changes nothing: the session can be listed, read and changed as before. */
import { describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { folderOf } from "../reliability/checkpoints/crashed-sessions.ts";
import { splitServer } from "../support/panes.ts";

type All = Awaited<ReturnType<typeof splitServer>>;

/** State that a failure may not change. */
async function facts({ wsh, panes }: All): Promise<string> {
  const [info] = await wsh.list();
  const lying = (await panes("dev")).map(({ id, row, col, rows, cols, active }) => ({
    id,
    row,
    col,
    rows,
    cols,
    active,
  }));
  return JSON.stringify([
    info?.id,
    info?.name,
    info?.windows.map(({ id, active, index }) => ({ id, active, index })),
    lying,
  ]);
}

/** The session works: it answers, can be read, and a pane can be added and closed. */
async function works({ wsh, http, panes }: All): Promise<void> {
  expect(await wsh.exec("dev", "echo in order")).toBe("in order\n");
  expect(await wsh.screen("dev")).toContain("in order");
  const before = (await panes("dev")).length;
  const made = await http.post("/sessions/dev/panes", {});
  expect(made.status).toBe(201);
  const { pane } = made.body as { pane: string };
  expect(await wsh.exec(pane, "echo of the new")).toBe("of the new\n");
  expect(await http.send("DELETE", `/sessions/${pane}/pane`)).toMatchObject({ status: 200 });
  expect(await panes("dev")).toHaveLength(before);
}

/** Descriptors that every process has. */
const STANDARD_STREAMS = 3;

/** The session process has no free descriptor, as on a machine with too few processes. */
function withoutDescriptors({ wsh }: All): Disposable {
  const [pid = 0] = wsh.hosts();
  const limit = (soft: number): void => {
    const { exitCode } = Bun.spawnSync(["prlimit", "--pid", String(pid), `--nofile=${soft}:`]);
    expect(exitCode).toBe(0);
  };
  const before = Number(/Max open files\s+(\d+)/.exec(fs.readFileSync(`/proc/${pid}/limits`, "utf8"))?.[1]);
  // The lowest free number decides, not how many there are: connections of earlier calls may close later.
  limit(STANDARD_STREAMS);
  return { [Symbol.dispose]: () => limit(before) };
}

const failures: Readonly<Record<string, Record<string, unknown>>> = {
  "a shell that there is not": { shell: "/nowhere/shell" },
  "a directory that there is not": { cwd: "/nowhere/at/all" },
  "a view of nothing": { view: "nowhere" },
};

describe("the first split", () => {
  test.each(Object.entries(failures))("with %s", async (_, program) => {
    await using all = await splitServer();
    await all.wsh.session("dev");
    const before = await facts(all);
    for (const path of ["panes", "windows"]) {
      expect((await all.http.post(`/sessions/dev/${path}`, program)).status).toBeGreaterThanOrEqual(400);
      expect(await facts(all)).toBe(before);
    }
    await works(all);
  });

  test.if(process.platform === "linux")("without a descriptor for its terminal", async () => {
    await using all = await splitServer();
    await all.wsh.session("dev");
    await works(all);
    const before = await facts(all);
    {
      using _none = withoutDescriptors(all);
      expect((await all.http.post("/sessions/dev/panes", {})).status).toBeGreaterThanOrEqual(400);
    }
    expect(await facts(all)).toBe(before);
    await works(all);
  });

  test("without a writable directory", async () => {
    await using all = await splitServer();
    await all.wsh.session("dev");
    fs.rmSync(join(folderOf(all.wsh), ".."), { recursive: true, force: true });
    fs.writeFileSync(join(folderOf(all.wsh), ".."), "in the way");
    await works(all);
    await all.wsh.ok("split", "dev");
    await works(all);
  });
});

test("an operation that is impossible with several panes leaves them unchanged", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  const { pane } = (await http.post("/sessions/dev/panes", {})).body as { pane: string };
  await http.post("/sessions/dev/windows", { name: "logs" });
  await wsh.session("other");
  const before = await facts(all);
  const asked: [string, string, unknown][] = [
    ["POST", "/sessions/dev:0.0/pane/swap", { with: "@999" }],
    ["POST", "/sessions/dev:0.0/pane/move", { to: "nowhere" }],
    ["POST", `/sessions/${pane}/pane/move`, { to: pane }],
    ["POST", "/sessions/dev:logs/pane/move", { to: null }],
    ["POST", "/sessions/dev:logs/pane/move", { to: "dev:9" }],
    ["POST", "/sessions/dev/layout/preset", { preset: "none" }],
    ["PUT", "/sessions/dev/layout", { windows: [] }],
    ["POST", `/sessions/${pane}/pane/respawn`, { cwd: "/nowhere/at/all" }],
    ["DELETE", "/sessions/dev:7/window", undefined],
  ];
  for (const [method, path, input] of asked) {
    const answer = input === undefined ? await http.send(method, path) : await http.json(method, path, input as never);
    expect([path, answer.status >= 400]).toEqual([path, true]);
    expect([path, await facts(all)]).toEqual([path, before]);
  }
  await works(all);
});

test("every byte arrives at a split, and the lines from before it can be read during it and after its end", async () => {
  await using all = await splitServer();
  const { wsh, http } = all;
  await wsh.session("dev");
  await wsh.exec("dev", "seq 1 3000");
  await wsh.enter("dev", "seq 10001 40000; echo do''ne");
  const made = await Promise.all(
    Array.from({ length: 3 }, async () => (await http.post("/sessions/@1/panes", {})).body as { pane: string }),
  );
  await wsh.shows("@1", /^done$/m);
  const numbers = async (): Promise<string[]> => {
    const { lines } = await http.scrollback("@1", "limit=10000");
    return lines.filter((line) => /^\d+$/.test(line));
  };
  const during = await numbers();
  expect(during.length).toBeGreaterThan(9_000);
  expect(during.map(Number).every((number, at) => at === 0 || number > Number(during[at - 1]))).toBe(true);
  for (const { pane } of made) await http.send("DELETE", `/sessions/${pane}/pane`);
  expect((await numbers()).slice(0, 9_000)).toEqual(during.slice(0, 9_000));
});
