/**
 * Typing, alone and beside a panel: echoes reach the terminal before the emulator and the client have seen them. In any
 * state of the program's terminal, the screen equals the program's.
 */
import { expect, test } from "bun:test";
import { Canvas } from "../support/drawing-api.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { OuterScreen } from "../support/terminals/outer-screen.ts";
import { Wsh } from "../support/wsh.ts";

const ROWS = 12;
const COLS = 24;
/** Echoes byte by byte, as an editor does. */
const ECHO = "stty raw -echo; printf 'ready\\r\\n'; exec cat";
/** Longer than a frame: each key gets its own picture. Without pictures there is no wait. */
const PAUSE_MS = { panel: 18, alone: 1 } as const;

/** Modes and styles in which a character does not appear plainly at the cursor. */
const states = [
  "\x1b[4h",
  "\x1b[4l",
  "\x1b[1m",
  "\x1b[m",
  "\x1b)0\x0e",
  "\x0f",
  "\x1b[?25l",
  "\x1b[?25h",
  "\x1b[?7l",
  "\x1b[?7h",
];
const moves = ["\b", "\r", "\r\n", "\x1b[C", "\x1b[A", "\x1b[K", "\x1b[5G", "\x1b[20G"];

async function walk(where: "panel" | "alone", seed: number, keys: number): Promise<void> {
  await using wsh = new Wsh();
  await Promise.all([wsh.session("s", "--", ECHO), wsh.server()]);
  const canvas = new Canvas(wsh, "s");
  const below = where === "panel" ? ["PANEL"] : [];
  if (where === "panel") await canvas.panel({ position: "bottom", height: 1, spans: [{ text: "PANEL" }] });
  await using terminal = await EmulatorTerminal.attach(wsh, "s", { rows: ROWS, cols: COLS, seen: below[0] ?? "ready" });
  const program = new OuterScreen(ROWS - below.length, COLS);
  await program.write("ready\r\n");
  let state = seed;
  const random = (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
  const pick = (from: readonly string[]): string => from[random(from.length)] ?? "";
  const same = async (typed: number): Promise<void> => {
    const wanted = [...program.text(), ...below].join("\n");
    await terminal.sees((text) => text === wanted).catch(() => {});
    expect({ seed, typed, text: await terminal.text() }).toEqual({ seed, typed, text: wanted });
  };
  for (let typed = 0; typed < keys; typed++) {
    // Mostly characters, since otherwise no state would last.
    const kind = random(12);
    const key = kind === 0 ? pick(states) : kind === 1 ? pick(moves) : String.fromCharCode(0x20 + random(0x5f));
    if (kind === 0) {
      // A sequence like a terminal's answer is not typed: it is sent another way, after the earlier input.
      await same(typed);
      await canvas.http.send("POST", "/sessions/s/input", { body: key });
    } else terminal.type(key);
    await program.write(key);
    await Bun.sleep(PAUSE_MS[where]);
    if (typed % 10 === 9) await same(typed);
  }
  await same(keys);
  const { cursor, lines } = await terminal.grid();
  const shown = program.grid();
  expect({ row: cursor.row, col: cursor.col }).toEqual({
    row: shown.cursor.row,
    col: Math.min(shown.cursor.col, COLS - 1),
  });
  expect(lines.slice(0, ROWS - below.length)).toEqual([...shown.lines]);
}

test.each([
  ["panel", 1],
  ["panel", 2],
  ["alone", 3],
  ["alone", 4],
] as const)("what is typed is shown as the program shows it: %s, seed %d", (where, seed) => walk(where, seed, 120));
