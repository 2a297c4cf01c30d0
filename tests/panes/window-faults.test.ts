/**
 * kill -9 at every moment of a window's move to another session, of either process, or both: after a restore
 * one session has the whole window, and so it is with the one that it was exchanged for. WSH_TEST_SEED repeats a run.
 */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { readPane } from "../../src/checkpoints/files/part-reader.ts";
import { splitServer } from "../support/panes.ts";
import { stopProcess } from "../support/processes.ts";
import { seededRandom } from "../support/terminals/outer-screen.ts";
import { until } from "../support/until.ts";

const full = process.env.WSH_TEST_FULL === "1";
const SEED = Number(process.env.WSH_TEST_SEED ?? Date.now() % 1_000_000);
/** Longest time from the request to the kill, in ms: a move takes half as long. */
const LONGEST_MS = 60;
const ROUNDS = full ? 12 : 1;
const WAYS = ["move", "swap"] as const;
const VICTIMS = ["giver", "taker", "both"] as const;
type Trial = readonly [way: (typeof WAYS)[number], victim: (typeof VICTIMS)[number]];
/** Briefly one of each: a swap exercises both directions of a move. */
const TRIALS: readonly Trial[] = full
  ? WAYS.flatMap((way) => VICTIMS.map((victim) => [way, victim] as const))
  : [
      ["move", "giver"],
      ["swap", "taker"],
      ["move", "both"],
    ];

/** Whether a checkpoint of the pane shows this text. */
function isKept(parts: string, pane: string, text: string): boolean {
  const number = Number(pane.slice(1));
  try {
    const folders = fs.readdirSync(parts).filter((name) => fs.existsSync(`${parts}/${name}/p${number}.lock`));
    return folders.some((name) => readPane(`${parts}/${name}`, number).screen?.includes(text));
  } catch {
    return false; // It is being written.
  }
}

test(
  `a window on its way is in one session, whoever is killed when (WSH_TEST_SEED=${SEED})`,
  async () => {
    await using all = await splitServer({ intervals: { checkpointRest: 50 } });
    const { wsh, http } = all;
    const random = seededRandom(SEED);
    const parts = `${wsh.instance.stateDir}/t.checkpoints`;
    for (let round = 0; round < ROUNDS; round++) {
      for (const [way, victim] of TRIALS) {
        const ms = Math.floor(random() * LONGEST_MS);
        const names = [`one${round}${way}${victim}`, `two${round}${way}${victim}`];
        const one = await wsh.session(names[0] ?? "");
        const two = await wsh.session(names[1] ?? "");
        const [giver = 0, taker = 0] = wsh.hosts().slice(-2);
        const given = await http.expect<{ window: string; pane: string }>(
          201,
          http.post(`/sessions/${one.id}/windows`, {}),
        );
        const beside = await http.expect<{ pane: string }>(201, http.post(`/sessions/${given.pane}/panes`, {}));
        const windows = [
          { id: given.window, panes: [given.pane, beside.pane] },
          { id: two.windows[0]?.id ?? "", panes: [two.pane_id] },
        ];
        const panes = windows.flatMap((window) => window.panes);
        await Promise.all(
          panes.map((pane) =>
            http.expect(200, http.post(`/sessions/${pane}/exec`, { command: `echo mark-$((1${pane.slice(1)} + 0))` })),
          ),
        );
        await until("the checkpoints", () => panes.every((pane) => isKept(parts, pane, `mark-1${pane.slice(1)}`)));
        await until("the layout", () =>
          fs.readdirSync(`${parts}/${one.id.slice(1)}`).some((file) => file.startsWith("layout.")),
        );
        const moving = http
          .post(`/sessions/${given.window}/window/${way}`, way === "move" ? { to: names[1] } : { with: windows[1]?.id })
          .catch(() => {});
        await Bun.sleep(ms);
        for (const pid of victim === "giver" ? [giver] : victim === "taker" ? [taker] : [giver, taker])
          process.kill(pid, "SIGKILL");
        await moving;
        await wsh.run("restore", "--all");
        const at = `${way} ${victim} ${ms} ms`;
        const found = async () => {
          const shown = (await wsh.list())
            .filter(({ name }) => names.includes(name))
            .flatMap((session) => session.windows);
          return windows.map(({ id }) =>
            shown.filter((window) => window.id === id).map((window) => window.panes.map((pane) => pane.id)),
          );
        };
        const wanted = windows.map((window) => [window.panes]);
        await until(`${at}: the windows`, async () => Bun.deepEquals(await found(), wanted)).catch(() => {});
        expect([at, await found()]).toEqual([at, wanted]);
        for (const pane of panes) {
          // After a kill a moment may pass until the pane's session has the process that runs it.
          const screen = await until(`${at}: the screen of ${pane}`, () => wsh.screen(pane).catch(() => null));
          expect([at, pane, screen]).toEqual([at, pane, expect.stringContaining(`mark-1${pane.slice(1)}`)]);
        }
        await Promise.all(names.map((name) => http.delete(`/sessions/${name}`)));
      }
    }
  },
  full ? 600_000 : 60_000,
);

test("a process that only runs a window of a killed session ends by itself; wsh stop leaves nothing", async () => {
  await using all = await splitServer();
  const { wsh } = all;
  for (const name of ["one", "two"]) await wsh.session(name);
  const [, taker = 0] = wsh.hosts();
  await wsh.ok("window", "move", "one:0", "two");
  process.kill(taker, "SIGKILL");
  await wsh.ok("stop");
  // A process gives up its socket a moment before it is gone.
  expect(fs.readdirSync(wsh.instance.sessionsDir).filter((name) => name.endsWith(".sock"))).toEqual([]);
  await until("the processes to be gone", () => wsh.hosts().length === 0);
});

test("a moved pane outlives its old process: although that is running again, and as a shell in a private session", async () => {
  await using all = await splitServer({ intervals: { checkpointRest: 50 } });
  const { wsh, http } = all;
  await wsh.session("one");
  await wsh.ok("new", "hidden", "--private");
  const moved = [];
  for (const to of ["one", "hidden"]) {
    const from = await wsh.session(`from-${to}`);
    await http.expect(201, http.post(`/sessions/${from.id}/windows`, {}));
    await wsh.exec(from.pane_id, "cd /usr && echo mark-$((6 * 7))");
    await wsh.ok("window", "move", `from-${to}:0`, to);
    moved.push(from.pane_id);
  }
  const [one = 0, , fromOne = 0, fromHidden = 0] = wsh.hosts();
  const [kept = ""] = moved;
  await until("its checkpoint", () => isKept(`${wsh.instance.stateDir}/t.checkpoints`, kept, "mark-42"));
  await stopProcess(one);
  process.kill(fromOne, "SIGKILL");
  await wsh.ok("restore", "from-one");
  process.kill(one, "SIGCONT");
  const [pane = "", lost = ""] = moved;
  await until("its restore", async () => (await wsh.run("screen", pane)).stdout.includes("restored: above"));
  expect(await wsh.screen(pane)).toContain("mark-42");
  // In the private session nothing of it stays on disk, also of the time before.
  const stored = () => fs.readdirSync(`${wsh.instance.stateDir}/t.checkpoints`, { recursive: true }).join(" ");
  await until("its files to be gone", () => !new RegExp(`\\bp${lost.slice(1)}\\.\\d+\\.`).test(stored()));
  process.kill(fromHidden, "SIGKILL");
  const panes = async () => (await wsh.list()).find(({ name }) => name === "hidden")?.windows[1]?.panes ?? [];
  await until("a shell in its place", async () => (await panes()).some(({ id }) => id !== lost));
  expect(await wsh.exec("hidden:1", "pwd")).toBe("/usr\n");
});
