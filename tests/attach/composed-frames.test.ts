/**
 * For any output of a program and any drawing of an agent, the person's terminal shows the frame that is composed from
 * scratch from the API's screen and elements: over real processes, whether passed through or rendered.
 */
import { expect, test } from "bun:test";
import { composeFrame } from "../../src/compositor/compose.ts";
import { clusters } from "../../src/compositor/graphemes.ts";
import { layoutPanels } from "../../src/compositor/panel-layout.ts";
import type { Overlay, Panel } from "../../src/protocol/drawing.ts";
import {
  BLINK,
  BOLD,
  type Cell,
  FAINT,
  type Grid,
  INVERSE,
  ITALIC,
  type Row,
  STRIKE,
  type Style,
  UNDERLINE,
} from "../../src/protocol/grid.ts";
import type { Screen, Span } from "../../src/protocol/screen.ts";
import { Canvas } from "../support/drawing-api.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { describeRows, seededRandom } from "../support/terminals/outer-screen.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const full = process.env.WSH_TEST_FULL === "1";
const seeds = full ? Array.from({ length: 20 }, (_, i) => i + 1) : [1, 2];
const STEPS = full ? 150 : 40;

const plain: Style = { fg: null, bg: null, flags: 0, link: null };

function styleOf(span: Span): Style {
  const flags =
    (span.bold ? BOLD : 0) |
    (span.faint ? FAINT : 0) |
    (span.italic ? ITALIC : 0) |
    (span.underline ? UNDERLINE : 0) |
    (span.strikethrough ? STRIKE : 0) |
    (span.blink ? BLINK : 0) |
    (span.inverse ? INVERSE : 0);
  return { fg: span.fg ?? null, bg: span.bg ?? null, flags, link: null };
}

/** The screen of `GET /screen` as cells. */
function gridOf(screen: Screen): Grid {
  const lines = screen.lines.map((line): Row => {
    const cells: Cell[] = [];
    for (const span of typeof line === "string" ? [{ text: line }] : line) {
      const style = styleOf(span);
      for (const { text, width } of clusters(span.text)) {
        cells.push({ text, width, style });
        if (width === 2) cells.push({ text: "", width: 0, style });
      }
    }
    while (cells.length < screen.cols) cells.push({ text: " ", width: 1, style: plain });
    return cells;
  });
  const { row, col, visible } = screen.cursor;
  const cursor = { row, col: Math.min(col, screen.cols - 1), visible, shape: "block", blink: false } as const;
  return { rows: screen.rows, cols: screen.cols, lines, cursor };
}

/** Rows to compare: of a blank without marks only the background is visible, and only that is in the API. */
function describe(lines: readonly Row[]): string[] {
  const marked = INVERSE | UNDERLINE | STRIKE;
  const seen = lines.map((row, y) =>
    row.map((cell, col): Cell => {
      const { text, style } = cell;
      if (text !== " ") return cell;
      // A wide character that did not fit leaves a blank in the style that was set.
      const leftOver = col === row.length - 1 && lines[y + 1]?.[0]?.width === 2;
      return (style.flags & marked) === 0 || leftOver ? { ...cell, style: { ...plain, bg: style.bg } } : cell;
    }),
  );
  return describeRows(seen);
}

/** A program that prints its input, byte for byte. */
const ECHO = "stty raw -echo; printf ready; exec cat";

test("a look at a terminal sees no part of a synchronized update, as no person does", async () => {
  await using wsh = new Wsh();
  const script = "stty -echo; printf '\\033[?2026hhalf'; read line; printf ' whole\\033[?2026l'; read line";
  await using terminal = EmulatorTerminal.run(wsh, [script], { wsh: ["sh", "-c"] });
  await until("the update to begin", () => terminal.bytes.includes("half"));
  const look = terminal.text();
  terminal.type("\r");
  expect(await look).toStartWith("half whole\n");
});

test.each(seeds)("random output, overlays, panels and sizes (seed %d)", async (seed) => {
  await using wsh = new Wsh();
  await Promise.all([wsh.session("s", "--", ECHO), wsh.server()]);
  await using terminal = await EmulatorTerminal.attach(wsh, "s", { seen: "ready" });
  const canvas = new Canvas(wsh, "s");
  const random = seededRandom(seed);
  const below = (n: number): number => Math.floor(random() * n);
  const pick = <T>(...choices: readonly [T, ...T[]]): T => choices[below(choices.length)] ?? choices[0];
  const size = { rows: 24, cols: 80 };
  const ids: { overlay: string[]; panel: string[] } = { overlay: [], panel: [] };
  let z = 0;
  const log: string[] = [];

  // The emulator's own reflow may leave half a wide character: sizes change freely only without those.
  const wide = seed % 2 === 1;
  const WIDE = /\p{Script=Han}|\p{Extended_Pictographic}/u;
  const narrow = ["plain", "a b", "│─┘", "e\u0301te\u0301"] as const;
  const words = (): string =>
    Array.from({ length: 1 + below(6) }, () =>
      wide ? pick(...narrow, "日本語", "👍🏽", "👩‍👩‍👧") : pick(...narrow),
    ).join(" ");
  const output = (): string =>
    pick(
      () => `${words()}\r\n`,
      () => Array.from({ length: below(40) }, (_, i) => `${i} ${words()}`).join("\r\n"),
      () => `\x1b[${1 + below(size.rows)};${1 + below(size.cols)}H${words()}`,
      () => `\x1b[${pick(0, 1, 3, 4, 7, 31, 42, 93, 104)};${30 + below(8)}m${words()}\x1b[0m`,
      () => `\x1b[38;2;${below(256)};${below(256)};9m\x1b[48;5;${below(256)}m${words()}\x1b[K\x1b[m`,
      () =>
        pick("\x1b[J", "\x1b[1J", "\x1b[2J", "\x1b[K", "\x1b[3L", "\x1b[2M", "\x1b[5@", "\x1b[4P", "\x1b[S", "\x1b[2T"),
      () => `\x1b[${1 + below(5)};${8 + below(8)}r\x1b[10;1H${"scrolled\r\n".repeat(below(6))}\x1b[r`,
      () => pick("\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h", "\x1bc", "\x1b[!p", "\x1b[?5h", "\x1b[?5l"),
      () => "x".repeat(below(200)),
    )();
  const spans = () => [{ text: `${words()}\n${words()}`, ...pick({}, { fg: "red" as const }, { bold: true }) }];
  const look = () => pick({}, { background: "blue" as const }, { background: { bg: { r: 9, g: 99, b: 200 } } });
  const forget = async (kind: "overlay" | "panel"): Promise<void> => {
    const id = ids[kind].splice(below(ids[kind].length), 1)[0];
    if (id !== undefined) await canvas.delete(kind, id);
  };
  const steps: (() => Promise<string>)[] = [
    async () => {
      const text = output();
      await canvas.http.type("s", text);
      return JSON.stringify(text);
    },
    async () => {
      const box = { x: below(size.cols + 5), y: below(size.rows + 2), width: below(30), height: below(6), z: ++z };
      ids.overlay.push(await canvas.overlay({ ...box, ...look(), spans: spans() }));
      return `overlay ${JSON.stringify(box)}`;
    },
    async () => {
      const place = { position: pick("top" as const, "bottom" as const), height: 1 + below(4), z: ++z };
      ids.panel.push((await canvas.panel({ ...place, ...look(), spans: spans() })).id);
      return `panel ${JSON.stringify(place)}`;
    },
    async () => {
      const id = ids.overlay[below(ids.overlay.length)];
      if (id !== undefined) await canvas.patch("overlay", id, { x: below(size.cols), y: below(size.rows), z: ++z });
      return "overlay moved";
    },
    async () => {
      await forget("overlay");
      return "overlay removed";
    },
    async () => {
      await forget("panel");
      return "panel removed";
    },
    async () => {
      if (wide) {
        await canvas.http.type("s", `\x1b[?1049l\x1b[H\x1b[2J\x1b[3J${"some text\r\n".repeat(below(40))}`);
        // The program prints it some time after it was typed.
        await until("wide characters to be gone", async () => !WIDE.test((await canvas.http.screen("s")).lines.join()));
      }
      Object.assign(size, { rows: 3 + below(28), cols: 10 + below(90) });
      terminal.resize(size.rows, size.cols);
      return `size ${size.rows}x${size.cols}`;
    },
  ];

  /** The frame composed from the API's answer, and the terminal's screen. */
  const compare = async (): Promise<{ expected: unknown; shown: unknown }> => {
    const [screen, overlays, panels] = await Promise.all([
      canvas.get<Screen>("screen?format=styled"),
      canvas.get<Overlay[]>("overlay"),
      canvas.get<Panel[]>("panel"),
    ]);
    const frame = composeFrame({
      grid: gridOf(screen),
      layout: layoutPanels(panels, size),
      overlays,
      panels,
      outer: size,
    });
    const grid = await terminal.grid();
    const place = ({ row, col }: { row: number; col: number }) => [row, Math.min(col, size.cols - 1)];
    const { cursor } = frame;
    return {
      expected: { lines: describe(frame.lines), cursor: cursor.visible ? place(cursor) : null },
      shown: { lines: describe(grid.lines), cursor: cursor.visible ? place(grid.cursor) : null },
    };
  };

  for (let step = 0; step < STEPS; step++) {
    // Most steps print, as programs do.
    const act = random() < 0.5 ? steps[0] : steps[below(steps.length)];
    log.push((await act?.()) ?? "");
    let last: Awaited<ReturnType<typeof compare>> | null = null;
    await until("the terminal to show the frame", async () => {
      last = await compare();
      return Bun.deepEquals(last.expected, last.shown);
    }).catch(() => {
      const { expected, shown } = last ?? {};
      console.error(`step ${step} of seed ${seed}, after:\n${log.slice(-8).join("\n")}`);
      expect(shown).toEqual(expected);
    });
  }
});
