/**
 * A random walk over splits, moves, sizes, floods, ends of programs and attached terminals while a person types without a
 * pause: every byte arrives exactly once, in order, and after each rest at the active pane's program; the person's
 * terminal then shows the same as a newly attached one. WSH_WALK_SEED repeats a walk, WSH_WALK_SECONDS sets its
 * duration.
 */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { splitServer } from "../support/panes.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { seededRandom } from "../support/terminals/outer-screen.ts";
import { until } from "../support/until.ts";

const FULL = process.env.WSH_TEST_FULL === "1";
const SECONDS = Number(process.env.WSH_WALK_SECONDS ?? (FULL ? 400 : 4));
/** The short walk is the same one each time. */
const SEED = Number(process.env.WSH_WALK_SEED ?? (FULL ? Date.now() % 1_000_000 : 1));
const SIDES = ["left", "right", "up", "down"];
const PRESETS = ["even-horizontal", "even-vertical", "main-vertical", "tiled", "next"];
/** Panes that record their input, and others that come and go. */
const RECORDERS = 3;
const OTHERS = 3;
const STEPS_TO_A_REST = 6;

test(
  "every byte that a person types arrives once, in order, at the right program",
  async () => {
    console.log(`typed: WSH_WALK_SEED=${SEED} WSH_WALK_SECONDS=${SECONDS}`);
    const random = seededRandom(SEED);
    const below = (n: number): number => Math.floor(random() * n);
    const pick = <T>(list: readonly T[]): T => {
      const chosen = list[below(list.length)];
      if (chosen === undefined) throw new Error("nothing to choose from");
      return chosen;
    };
    await using server = await splitServer({ config: "grace_seconds = 0\n" });
    const { wsh, http, panes } = server;
    const record = `stty raw -echo; printf here; exec cat > ${wsh.dir}/typed-$WSH_PANE`;
    await wsh.session("dev", "--", record);
    for (let at = 1; at < RECORDERS; at++) {
      await http.expect(201, http.post("/sessions/dev/panes", { command: record, direction: pick(SIDES) }));
    }
    const recorders = (await panes("dev")).map(({ id }) => id);
    const typedIn = (pane: string): string => fs.readFileSync(join(wsh.dir, `typed-${pane}`), "utf8");
    await until("the recorders", () => recorders.every((pane) => fs.existsSync(join(wsh.dir, `typed-${pane}`))));
    let person = await EmulatorTerminal.attach(wsh, "dev", { seen: "here" });
    let others: string[] = [];
    let number = 0;
    const log: string[] = [];
    const type = (): void => person.type(`${++number};`);
    let typing: Timer | null = null;
    const any = (): string => pick([...recorders, ...others]);
    const focus = (pane: string) => http.expect(200, http.post(`/sessions/${pane}/pane/select`, {}));
    const steps: Record<string, () => Promise<unknown>> = {
      // A pane without keys, so that its end takes none along: a recording one keeps the focus.
      split: async () => {
        if (others.length >= OTHERS) return;
        const command = pick(["exec sleep 1000", "while :; do seq 1 100000; done", "exit 3", "exec yes"]);
        const { status, body } = await http.post(`/sessions/${any()}/panes`, {
          command,
          direction: pick(SIDES),
          focus: false,
        });
        if (status === 201) others.push((body as { pane: string }).pane);
      },
      close: async () => {
        const [other, ...rest] = others;
        others = rest;
        if (other !== undefined) await http.send("DELETE", `/sessions/${other}/pane`);
      },
      kill: async () => {
        const found = (await panes("dev")).find(({ id }) => others.includes(id));
        try {
          if (found !== undefined) process.kill(found.pid, "SIGKILL");
        } catch {
          // ended by itself
        }
      },
      select: () => focus(pick(recorders)),
      resize: () => http.post(`/sessions/${any()}/pane/resize`, { direction: pick(SIDES), by: 1 + below(9) }),
      zoom: () => http.post(`/sessions/${pick(recorders)}/pane/zoom`, {}),
      swap: () => http.post(`/sessions/${pick(recorders)}/pane/swap`, { with: pick(recorders) }),
      "break out": () => http.post(`/sessions/${pick(recorders)}/pane/move`, { focus: true }),
      join: () =>
        http.post(`/sessions/${pick(recorders)}/pane/move`, {
          to: pick(recorders),
          direction: pick(SIDES),
          focus: true,
        }),
      preset: () => http.post(`/sessions/${any()}/layout/preset`, { preset: pick(PRESETS) }),
      terminal: async () => person.resize(12 + below(30), 60 + below(80)),
      attach: async () => {
        await using _other = await EmulatorTerminal.attach(wsh, "dev", { seen: /./, rows: 24, cols: 80 });
      },
    };
    const numbersIn = (pane: string): number[] => {
      const numbers = typedIn(pane).split(";").slice(0, -1).map(Number);
      expect([pane, numbers]).toEqual([pane, numbers.toSorted((a, b) => a - b)]);
      return numbers;
    };
    const arrived = async (): Promise<void> => {
      const all = (): number[] => recorders.flatMap(numbersIn).sort((a, b) => a - b);
      await until(`${number} numbers to have arrived`, () => all().length >= number);
      expect(all().find((each, at) => each !== at + 1)).toBeUndefined();
    };
    const rest = async (): Promise<void> => {
      clearInterval(typing ?? undefined);
      await arrived();
      const target = pick(recorders);
      await focus(target);
      type();
      await arrived();
      expect(numbersIn(target).at(-1)).toBe(number);
      for (const other of others.splice(0)) await http.send("DELETE", `/sessions/${other}/pane`);
      const { rows, cols } = person.screen.terminal;
      await using fresh = await EmulatorTerminal.attach(wsh, "dev", { seen: /./, rows, cols });
      let shown: string[] = [];
      await until("the screen of one that has just attached", async () => {
        shown = [await person.text(), await fresh.text()];
        return shown[0] === shown[1];
      }).catch(() => {
        throw new Error(`it shows\n${shown.join("\n--- and one that has just attached\n")}`);
      });
      if (below(2) === 0) {
        person.type("\x1cd");
        await person.exited;
        await person[Symbol.asyncDispose]();
        person = await EmulatorTerminal.attach(wsh, "dev", { seen: /./ });
      }
      typing = setInterval(type, 15);
    };
    try {
      const deadline = performance.now() + SECONDS * 1000;
      do {
        await rest();
        for (let at = 0; at < STEPS_TO_A_REST; at++) {
          const name = pick(Object.keys(steps));
          log.push(name);
          await steps[name]?.();
          const living = new Set((await panes("dev")).map(({ id }) => id));
          others = others.filter((each) => living.has(each));
          expect(recorders.filter((each) => !living.has(each))).toEqual([]);
        }
      } while (performance.now() < deadline);
      await rest();
    } catch (error) {
      throw new Error(`WSH_WALK_SEED=${SEED}, after ${log.slice(-20).join(", ")}: ${error}`);
    } finally {
      clearInterval(typing ?? undefined);
      await person[Symbol.asyncDispose]();
    }
    expect(log.length).toBeGreaterThan(5);
  },
  (SECONDS + 90) * 1000,
);
