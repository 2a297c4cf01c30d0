/**
 * A random walk over windows and panes, with a person attached, beside a session that gives and takes panes
 * and is shown in views while it is renamed, paused, ended and killed: after each step every cell belongs to
 * one pane or line, every pane runs its earlier program, no session is missing, and one of the panes answers with its
 * own output; at the end the person can type, and `wsh stop` leaves nothing behind. WSH_WALK_SEED repeats a walk,
 * WSH_WALK_SECONDS sets its duration.
 */
import { expect, test } from "bun:test";
import { type Pane, splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { seededRandom } from "../support/terminals/outer-screen.ts";
import { until } from "../support/until.ts";
import { hostOf } from "../support/wsh.ts";

const SECONDS = Number(process.env.WSH_WALK_SECONDS ?? (process.env.WSH_TEST_FULL === "1" ? 120 : 3));
const SEED = Number(process.env.WSH_WALK_SEED ?? Date.now() % 1_000_000);
/** Panes beyond which the walk only closes some. */
const MANY = 7;
const PRESETS = ["even-horizontal", "even-vertical", "main-vertical", "main-horizontal-mirrored", "tiled", "next"];
const SIDES = ["left", "right", "up", "down"];

interface Shown {
  readonly id: string;
  readonly index: number;
  readonly rows: number;
  readonly cols: number;
  readonly active: boolean;
  readonly panes: readonly Pane[];
}

test(
  "whatever is done to windows and panes, the programs go on",
  async () => {
    console.log(`panes: WSH_WALK_SEED=${SEED} WSH_WALK_SECONDS=${SECONDS}`);
    const random = seededRandom(SEED);
    const below = (n: number): number => Math.floor(random() * n);
    const pick = <T>(list: readonly T[]): T => {
      const chosen = list[below(list.length)];
      if (chosen === undefined) throw new Error("nothing to choose from");
      return chosen;
    };
    // Ended sessions are removed at once, and their processes with them.
    await using all = await splitServer({ config: "grace_seconds = 0\n" });
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    let other = "other";
    await wsh.session(other);
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    await http.post("/sessions/dev/panes", {});
    const pids = new Map((await panes("dev")).map(({ id, pid }) => [id, pid]));
    /** Panes that are in the other session, with their programs. */
    const away = new Map<string, number>();
    const log: string[] = [];
    let asked = 0;
    const any = () => pick([...pids.keys()]);
    const make = async (path: string, body: object) => {
      const { status, body: made } = await http.post(path, body);
      if (status === 201) pids.set((made as { pane: string }).pane, 0);
      return status;
    };
    const steps: Record<string, () => Promise<unknown>> = {
      split: () => make(`/sessions/${any()}/panes`, { direction: pick(SIDES), focus: below(2) === 0 }),
      window: () => make("/sessions/dev/windows", { focus: below(2) === 0 }),
      close: async () => {
        const pane = any();
        pids.delete(pane);
        return (await http.send("DELETE", `/sessions/${pane}/pane`)).status;
      },
      select: () => http.post(`/sessions/${any()}/pane/select`, {}),
      resize: () => http.post(`/sessions/${any()}/pane/resize`, { direction: pick(SIDES), by: 1 + below(9) }),
      zoom: () => http.post(`/sessions/${any()}/pane/zoom`, {}),
      swap: () => http.post(`/sessions/${any()}/pane/swap`, { with: any() }),
      "break out": () => http.post(`/sessions/${any()}/pane/move`, {}),
      join: () => http.post(`/sessions/${any()}/pane/move`, { to: any(), direction: pick(SIDES) }),
      "move to another session": async () => {
        const pane = any();
        const pid = pids.get(pane) ?? 0;
        const moved = await http.post(`/sessions/${pane}/pane/move`, { to: other, focus: below(2) === 0 });
        expect(moved.status, JSON.stringify(moved.body)).toBe(200);
        pids.delete(pane);
        away.set(pane, pid);
      },
      "move back": async () => {
        const pane = pick([...away.keys()]);
        const moved = await http.post(`/sessions/${pane}/pane/move`, { to: any(), direction: pick(SIDES) });
        // A window may be too small for one more.
        if (moved.status !== 200) return moved.status;
        pids.set(pane, away.get(pane) ?? 0);
        return away.delete(pane);
      },
      view: () => http.post(`/sessions/${any()}/panes`, { view: other, direction: pick(SIDES) }),
      "rename the other session": async () => {
        await wsh.ok("rename", other, `other${log.length}`);
        other = `other${log.length}`;
      },
      "end the other session": async () => {
        await wsh.ok("kill", other);
        await anotherSession();
      },
      "kill -9 of all of the other session": async () => {
        const there = await http.expect<Pane[]>(200, http.get(`/sessions/${other}/panes`));
        // Panes that came from the other session still run in its process, and end without a viewer.
        const own = new Set(there.filter(({ id }) => !away.has(id)).map(({ pid }) => hostOf(pid)));
        for (const pid of own) process.kill(pid, "SIGKILL");
        await anotherSession();
      },
      "a split while the other session is held up": async () => {
        const there = await http.expect<Pane[]>(200, http.get(`/sessions/${other}/panes`));
        const held = hostOf(pick(there.filter(({ id }) => !away.has(id))).pid);
        process.kill(held, "SIGSTOP");
        try {
          return await make(`/sessions/${any()}/panes`, { direction: pick(SIDES) });
        } finally {
          process.kill(held, "SIGCONT");
        }
      },
      "close the view": async () => {
        const view = (await panes("dev")).find(({ view: shown }) => shown !== undefined);
        const window = ((await http.get("/sessions/dev/windows")).body as Shown[]).find(
          ({ id }) => id === view?.window,
        );
        if (view !== undefined) await http.send("DELETE", `/sessions/dev:${window?.index}.${view.index}/pane`);
      },
      preset: () => http.post(`/sessions/${any()}/layout/preset`, { preset: pick(PRESETS) }),
      "set a layout": async () => {
        const shown = await http.expect<Shown[]>(200, http.get("/sessions/dev/windows"));
        const { id, panes } = pick(shown);
        // A view is in no tree: its id is another session's.
        if (panes.some(({ view }) => view !== undefined)) return "a view is in it";
        const leaves: object[] = panes.map((pane) => ({ pane: pane.id, weight: 1 + below(5) }));
        const moved = any();
        if (below(3) === 0 && panes.every((pane) => pane.id !== moved)) leaves.push({ pane: moved });
        leaves.sort(() => random() - 0.5);
        const at = below(leaves.length);
        const inner = { column: leaves.slice(at), weight: 2 };
        const tree = at === 0 ? inner : { row: [...leaves.slice(0, at), inner] };
        const set = await http.json("PUT", `/sessions/${id}/layout`, { tree });
        expect(set.status, set.text).toBe(200);
      },
      rotate: () => http.post(`/sessions/${any()}/layout/rotate`, {}),
      terminal: async () => person.resize(6 + below(40), 20 + below(120)),
    };
    /** The other session has ended, with its panes: a new one is made. */
    const anotherSession = async () => {
      const ended = other;
      away.clear();
      await until("the other session to be gone", async () => !(await living()).includes(ended));
      other = `other${log.length}`;
      await wsh.session(other);
    };
    // A session killed as a whole can be restored, and is listed as crashed.
    const living = async () => (await wsh.list()).flatMap(({ name, state }) => (state === "crashed" ? [] : [name]));
    const check = async (): Promise<void> => {
      let reason = "";
      await until("everything to be in order", async () => {
        const { status, body } = await http.get("/sessions/dev/windows");
        reason = status === 200 ? problem(body as Shown[], pids) : `status ${status}`;
        return reason === "";
      }).catch((error) => {
        throw new Error(`${error.message}: ${reason}`);
      });
      for (const { id, pid, view } of await panes("dev")) if (view === undefined) pids.set(id, pid);
      const others = await until("the panes in the other session", async () => {
        const { status, body } = await http.get(`/sessions/${other}/panes`);
        if (status !== 200) return null;
        const there = body as Pane[];
        const isThere = ([id, pid]: [string, number]): boolean =>
          there.some((each) => each.id === id && (pid === 0 || each.pid === pid));
        return [...away].every(isThere) ? there : null;
      });
      for (const { id, pid } of others) if (away.has(id)) away.set(id, pid);
      expect((await living()).sort()).toEqual(["dev", other]);
      // A pane answers with its own shell's output, wherever it is and however small.
      const pane = pick([...pids.keys(), ...away.keys()]);
      const command = `echo $WSH_PANE ${++asked}; (exit ${asked % 100})`;
      expect(await http.expect<object>(200, http.post(`/sessions/${pane}/exec`, { command }))).toMatchObject({
        output: `${pane} ${asked}`,
        exit_code: asked % 100,
      });
    };
    const deadline = performance.now() + SECONDS * 1000;
    try {
      await check();
      while (performance.now() < deadline) {
        const ending = /^close$|of a pane's|to another/;
        const possible = Object.keys(steps)
          .filter((name) => (pids.size <= 2 ? !ending.test(name) : true))
          .filter((name) => (pids.size > MANY ? !/split|^window$/.test(name) : true))
          .filter((name) =>
            away.size === 0 ? name !== "move back" : away.size > MANY ? !/to another/.test(name) : true,
          );
        const name = pick(possible);
        log.push(name);
        await steps[name]?.();
        await check();
      }
      const line = `echo end${SEED}`;
      const focused = any();
      await http.post(`/sessions/${focused}/pane/select`, {});
      person.resize(24, 80);
      // By its shell's records: a pane may be too narrow or too low to show the line.
      const ran = async (): Promise<boolean> => {
        const path = `/sessions/${focused}/commands`;
        const commands = await http.expect<{ command: string | null }[]>(200, http.get(path));
        return commands.some(({ command }) => command === line);
      };
      await until("the person to reach the focused pane", async () => {
        person.type(`\r${line}\r`);
        await Bun.sleep(200);
        return ran();
      }).catch(async (error) => {
        const shown = (await panes("dev")).map(
          ({ id, rows, cols, active }) => `${id} ${cols}x${rows}${active ? "*" : ""}`,
        );
        throw new Error(`${error.message}: ${focused} of ${shown.join(", ")}; ${await wsh.screen(focused)}`);
      });
      await wsh.ok("stop");
      await until("every process to have ended", () => {
        const left = wsh.processes().filter(({ pid }) => pid !== person.pid);
        return left.length === 0;
      });
    } catch (error) {
      throw new Error(`WSH_WALK_SEED=${SEED}, after ${log.slice(-20).join(", ")}: ${error}`);
    }
    expect(log.length).toBeGreaterThan(5);
  },
  (SECONDS + 90) * 1000,
);

/** Errors in the windows; empty when there are none. @param pids earlier ids of the programs, 0 when new */
function problem(windows: readonly Shown[], pids: ReadonlyMap<string, number>): string {
  const all = windows.flatMap(({ panes }) => panes).filter(({ view }) => view === undefined);
  if (
    all
      .map(({ id }) => id)
      .sort()
      .join() !== [...pids.keys()].sort().join()
  )
    return `panes ${all.map(({ id }) => id)} instead of ${[...pids.keys()]}`;
  const changed = all.find(({ id, pid }) => pids.get(id) !== 0 && pids.get(id) !== pid);
  if (changed !== undefined) return `another program in ${changed.id}`;
  if (windows.filter(({ active }) => active).length !== 1) return "not one window is active";
  for (const { id, rows, cols, panes } of windows) {
    if (panes.filter(({ active }) => active).length !== 1) return `not one pane of ${id} is active`;
    const cells = new Uint8Array(rows * cols);
    const shown = panes.filter(({ hidden }) => hidden !== true);
    if (shown.length === 0) return `nothing is shown in ${id}`;
    for (const { id: pane, row = 0, col = 0, rows: height, cols: width } of shown) {
      if (height < 1 || width < 1 || row + height > rows || col + width > cols) return `${pane} lies outside`;
      for (let y = row; y < row + height; y++) {
        for (let at = y * cols + col; at < y * cols + col + width; at++) {
          if (cells[at] !== 0) return `${pane} overlaps`;
          cells[at] = 1;
        }
      }
    }
    const isFree = (y: number, x: number): boolean => cells[y * cols + x] === 0;
    // A cell outside every pane is a line between two: one cell wide, and along no edge.
    for (let y = 0; y + 1 < rows; y++) {
      for (let x = 0; x + 1 < cols; x++) {
        const square = isFree(y, x) && isFree(y, x + 1) && isFree(y + 1, x) && isFree(y + 1, x + 1);
        if (square) return `cells of ${id} at row ${y}, column ${x} are nobody's`;
      }
    }
    const isRowFree = (y: number): boolean => cells.subarray(y * cols, (y + 1) * cols).every((owner) => owner === 0);
    const isColumnFree = (x: number): boolean => Array.from({ length: rows }, (_, y) => y).every((y) => isFree(y, x));
    if ([0, rows - 1].some(isRowFree) || [0, cols - 1].some(isColumnFree)) return `an edge of ${id} is nobody's`;
  }
  return "";
}
