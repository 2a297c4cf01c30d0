/**
 * Programs in four panes show the same as in tmux's panes of the same cells: vim, htop or a pager, a flood and a shell,
 * driven by keys and calls. The layout is tmux's own text, so that the positions are the same; borders are left out.
 */
import { afterAll, describe, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { columns, type Pane, splitServer } from "../support/panes.ts";
import { testWith } from "../support/programs.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import type { Wsh } from "../support/wsh.ts";

const full = process.env.WSH_TEST_FULL === "1";

/** Four panes in two rows and two columns, at 80×24. */
const tmux = (...args: readonly string[]): string => {
  const { stdout, stderr, exitCode } = Bun.spawnSync(["tmux", ...args]);
  if (exitCode !== 0) throw new Error(`tmux ${args.join(" ")}: ${stderr}`);
  return stdout.toString();
};

/** The text of a box of a screen, without trailing blanks. */
function boxOf(text: string, { row = 0, col = 0, rows, cols }: Pane): string {
  const lines = text.split("\n").slice(row, row + rows);
  return columns(lines.join("\n"), col, col + cols).trimEnd();
}

/** Program of the third pane, and keys that change its screen. */
interface Third {
  readonly program: "htop" | "less";
  /** On its screen once it runs. */
  readonly begun: RegExp;
  command(wsh: Wsh, file: string): string;
  readonly keys: string;
  /** After it was small. */
  readonly home: string;
}

/** Two processes and nothing that changes by itself: no meters, no times. */
const HTOPRC = `htop_version=3.2.2
config_reader_min_version=3
hide_kernel_threads=1
hide_userland_threads=1
header_margin=0
screen_tabs=0
enable_mouse=0
delay=10
header_layout=two_50_50
column_meters_0=Hostname
column_meter_modes_0=2
column_meters_1=
column_meter_modes_1=
screen:Main=PID USER Command
.sort_key=PID
.sort_direction=1
.tree_view=0
`;

/** Rows of htop's list. */
const listed = [Bun.spawn(["sleep", "1000"]), Bun.spawn(["sleep", "1001"])];
afterAll(() => {
  for (const each of listed) each.kill();
});

/** The first one in each run of the tests: vim beside it draws as htop does. */
const thirds: readonly Third[] = [
  { program: "less", begun: /^page/m, command: (_, file) => `less -P page ${file}`, keys: "/line 33\r", home: "g" },
  {
    program: "htop",
    begun: /^ *\d+ .*sleep 1001/m,
    command(wsh) {
      // Each has a separate file, since htop writes it at its end.
      const rc = join(wsh.dir, `htoprc.${Math.random()}`);
      fs.writeFileSync(rc, HTOPRC);
      return `HTOPRC=${rc} exec htop -p ${listed.map(({ pid }) => pid).join(",")}`;
    },
    // The order of the list, reversed and back.
    keys: "I",
    home: "I",
  },
];

describe("beside tmux", () => {
  for (const third of full ? thirds : thirds.slice(0, 1))
    testWith(
      "tmux",
      "vim",
      third.program,
    )(
      `vim, a finished flood, ${third.program} and a shell look as they do there, at 80×24, at 60×15 and back`,
      async () => {
        await using all = await splitServer();
        const { wsh, http, panes } = all;
        const file = join(wsh.dir, "text");
        fs.writeFileSync(
          file,
          Array.from({ length: 60 }, (_, at) => `line ${at} ${"word ".repeat(at % 30)}`).join("\n"),
        );
        const commands = [
          // Without its first message, which it holds until a key where the pane is narrow by the time that it is shown.
          `vim -u NONE -i NONE -n --cmd "set shortmess+=F" ${file}`,
          "seq 1 12000; exec sleep 100000",
          third.command(wsh, file),
          "PS1='$ ' exec bash --norc --noprofile",
        ];
        const socket = join(wsh.dir, "tmux");
        const env = ["-S", socket, "-f", "/dev/null"];
        try {
          const [first = "", ...rest] = commands;
          tmux(...env, "new-session", "-d", "-s", "t", "-x", "80", "-y", "24", first);
          tmux(...env, "set", "-g", "status", "off");
          tmux(...env, "resize-window", "-t", "t", "-x", "80", "-y", "24");
          for (const command of rest) {
            tmux(...env, "split-window", "-t", "t", command);
            tmux(...env, "select-layout", "-t", "t", "tiled");
          }
          const layoutOf = () => tmux(...env, "display-message", "-p", "-t", "t", "#{window_layout}").trim();
          const theirs = (index: number): string =>
            tmux(...env, "capture-pane", "-p", "-t", `t.${index}`)
              .split("\n")
              .map((line) => line.trimEnd())
              .join("\n")
              .trimEnd();

          await wsh.session("t", "--", first);
          let last = "t";
          for (const command of rest) {
            last = ((await http.post(`/sessions/${last}/panes`, { command })).body as { pane: string }).pane;
          }
          const set = await http.json("PUT", "/sessions/t/layout", { tmux: layoutOf() });
          expect(set.status).toBe(200);
          await using person = await EmulatorTerminal.attach(wsh, "t", { seen: /[│┃]/ });
          const same = async (what: string): Promise<void> => {
            const places = await panes("t");
            let difference = "";
            await until(`the same picture ${what}`, async () => {
              const text = await person.text();
              const differing = places.find((place, index) => boxOf(text, place) !== theirs(index));
              difference =
                differing === undefined ? "" : `${boxOf(text, differing)}\n-----\n${theirs(differing.index)}`;
              return differing === undefined;
            }).catch((error) => {
              throw new Error(`${error.message}:\n${difference}`);
            });
          };
          const { windows } = (await http.get("/sessions/t/layout")).body as { windows: { tmux: string }[] };
          const shape = (text: string) => text.replace(/^[0-9a-f]+,/, "").replace(/(\d+x\d+,\d+,\d+),\d+/g, "$1");
          expect(shape(windows[0]?.tmux ?? "")).toBe(shape(layoutOf()));
          // Keys that came before a program would be echoed by its terminal.
          for (const begun of [/^line 1 word/m, /[│┃]12000$/m, third.begun, /[│┃]\$$/m]) await person.sees(begun);
          await same("at first");
          // By a call, and by keys at the terminal.
          const both = async (pane: number, keys: string) => {
            tmux(...env, "send-keys", "-t", `t.${pane}`, "-l", keys);
            await http.send("POST", `/sessions/t:0.${pane}/input`, { body: keys });
          };
          await both(0, "20Gdwihello \x1b");
          await both(2, third.keys);
          await both(3, "printf '%s\\n' one two; stty size\r");
          await same("after calls");
          await http.post("/sessions/t:0.3/pane/select", {});
          person.type("echo typed; printf '\\033[31mred\\033[0m wide 日本 end\\n'\r");
          tmux(...env, "send-keys", "-t", "t.3", "-l", "echo typed; printf '\\033[31mred\\033[0m wide 日本 end\\n'\r");
          await same("after keys");
          const before = (await panes("t")).map(({ row, col, rows, cols }) => [row, col, rows, cols]);
          // The weights stay: there and back, every pane has its cells again, and the same picture as before.
          person.resize(15, 60);
          await until("the smaller size", async () => (await panes("t")).every(({ rows }) => rows <= 7));
          person.resize(24, 80);
          await until("the size before", async () => {
            const now = (await panes("t")).map(({ row, col, rows, cols }) => [row, col, rows, cols]);
            return JSON.stringify(now) === JSON.stringify(before);
          });
          // A program chooses what it keeps in view while it is small: each is sent to a fixed position.
          await both(0, "20Gzt");
          await both(2, third.home);
          await both(3, "clear; echo after\r");
          await same("at the size before");
        } finally {
          Bun.spawnSync(["tmux", ...env, "kill-server"]);
        }
      },
    );
});

describe("common complaints", () => {
  test("weights survive any sequence of sizes; no pane has zero size; hidden ones return", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    for (const percent of [70, 30, 60]) await http.post("/sessions/dev/panes", { percent, command: "cat" });
    await http.post("/sessions/dev/panes", { direction: "down", percent: 25, command: "cat" });
    const places = async () =>
      JSON.stringify((await panes("dev")).map(({ id, row, col, rows, cols }) => [id, row, col, rows, cols]));
    await until("five panes", async () => (await panes("dev")).length === 5);
    const before = await places();
    for (const [rows, cols] of [
      [10, 40],
      [4, 10],
      [2, 6],
      [40, 150],
      [15, 60],
    ] as const) {
      person.resize(rows, cols);
      await until(`${cols}×${rows}`, async () => {
        const { body } = await http.get("/sessions/dev/windows");
        const [window] = body as { rows: number; cols: number }[];
        return window?.rows === rows && window.cols === cols;
      });
      for (const pane of await panes("dev")) {
        if (pane.hidden === true) continue;
        expect(pane.rows).toBeGreaterThanOrEqual(1);
        expect(pane.cols).toBeGreaterThanOrEqual(2);
      }
    }
    person.resize(24, 80);
    await until("everything as before", async () => (await places()) === before);
  });

  test("one SIGWINCH for each pane and change", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    const counter =
      "n=0; trap 'n=$((n+1)); echo winch $n $(stty size)' WINCH; echo counting; while :; do sleep 0.05; done";
    for (let at = 0; at < 3; at++) await http.post("/sessions/dev/panes", { command: counter });
    await http.post("/sessions/dev/layout/preset", { preset: "tiled" });
    const counters = (await panes("dev")).slice(1);
    const outputOf = async (id: string) => (await wsh.call(id, "output.get", {})).text ?? "";
    const counts = () =>
      Promise.all(
        counters.map(async ({ id }) => {
          const found = [...(await outputOf(id)).matchAll(/winch (\d+) (\d+) (\d+)/g)].at(-1);
          return { count: Number(found?.[1] ?? 0), size: `${found?.[2]} ${found?.[3]}` };
        }),
      );
    const sizes = async () => (await panes("dev")).slice(1).map(({ rows, cols }) => `${rows} ${cols}`);
    await until("the traps", async () =>
      (await Promise.all(counters.map(({ id }) => outputOf(id)))).every((text) => text.includes("counting")),
    );
    // Both sides of every pane change.
    const first = await sizes();
    person.resize(30, 100);
    await until("the first size", async () => {
      const told = await counts();
      const now = await sizes();
      return now[0] !== first[0] && told.every(({ size }, at) => size === now[at]);
    });
    const before = await counts();
    person.resize(40, 130);
    await until("the second size", async () => {
      const told = await counts();
      const now = await sizes();
      return now[0] !== before[0]?.size && told.every(({ size }, at) => size === now[at]);
    });
    const after = await counts();
    expect(after.map(({ count }, at) => count - (before[at]?.count ?? 0))).toEqual([1, 1, 1]);
  });

  test("one SIGWINCH at the first split, at a neighbour's end, and for each size of a terminal that keeps changing", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    // A shell's trap would count two that come together as one.
    const counter = join(wsh.dir, "counter.ts");
    fs.writeFileSync(
      counter,
      `let count = 0;
      const size = () => Bun.spawnSync(["stty", "size"], { stdin: "inherit" }).stdout.toString().trim();
      process.on("SIGWINCH", () => console.log("winch", ++count, size()));
      setInterval(() => {}, 1_000_000);
      console.log("counting");`,
    );
    await wsh.session("dev", "--", `exec ${process.execPath} ${counter}`);
    await using person = await EmulatorTerminal.attach(wsh, "dev", { seen: "counting" });
    /** Waits until the program has received this size; returns the number of its size changes. */
    const told = (size: string) =>
      until(`the program to be told ${size}`, async () => {
        const { text = "" } = await wsh.call("dev", "output.get", {});
        const last = [...text.matchAll(/^winch (\d+) (\d+ \d+)$/gm)].at(-1);
        return last?.[2] === size ? Number(last[1]) : null;
      });
    await http.expect(201, http.post("/sessions/dev/panes", { command: "cat" }));
    expect(await told("24 40")).toBe(1);
    // The visible part changes, not its size.
    await http.expect(201, http.post("/sessions/dev/windows", { command: "cat", focus: true }));
    await http.expect(200, http.post("/sessions/dev:0/window/select", {}));
    await http.expect(200, http.post("/sessions/dev:0.1/pane/select", {}));
    for (let twice = 0; twice < 2; twice++) await http.expect(200, http.post("/sessions/dev:0.1/pane/zoom", {}));
    await http.expect(200, http.delete("/sessions/dev:0.1/pane"));
    expect(await told("24 80")).toBe(2);
    const sizes = Array.from({ length: 20 }, (_, at) => [10 + at, 100 - at] as const);
    for (const [rows, cols] of sizes) person.resize(rows, cols);
    const count = await told("29 81");
    expect(count).toBeLessThanOrEqual(2 + sizes.length);
    expect(await panes("dev:0")).toMatchObject([{ rows: 29, cols: 81 }, {}]);
  });

  test("a narrow pane loses no scrollback, and a flood beside it freezes nothing", async () => {
    await using all = await splitServer();
    const { wsh, http, panes } = all;
    await wsh.session("dev");
    await using person = await EmulatorTerminal.attach(wsh, "dev");
    const line = (at: number) => `${at} ${"abcdefghij".repeat(6)}`;
    await wsh.exec("dev", `for i in $(seq 1 200); do echo "$i ${"abcdefghij".repeat(6)}"; done`);
    await http.post("/sessions/dev/panes", { percent: 90, command: "while :; do seq 1 100000; done" });
    await until("a narrow pane", async () => ((await panes("dev"))[0]?.cols ?? 80) < 10);
    person.type("echo quick\r");
    await until("what was typed, beside the flood", async () => {
      return columns(await person.text(), 0, (await panes("dev"))[0]?.cols).includes("quick");
    });
    await http.send("DELETE", "/sessions/dev:0.1/pane");
    await until("one pane", async () => (await panes("dev")).length === 1);
    const output = await wsh.ok("output", "dev", "--lines", "1000");
    for (const at of [1, 2, 100, 199, 200]) expect(output).toContain(line(at));
  });
});
