/** Echoes beside a panel go to the terminal without the client, only where rendering would write the same. */
import { expect, test } from "bun:test";
import { capsFromEnvironment } from "../../../src/attach/render/modes.ts";
import { render } from "../../../src/attach/render/render.ts";
import { SessionView } from "../../../src/attach/view.ts";
import { type Frame, initialFrameModes, noEvents } from "../../../src/protocol/frame.ts";
import { encodeFrame, type FrameUpdate, typedInPlace } from "../../../src/protocol/frame-codec.ts";
import { type Cell, plainStyle } from "../../../src/protocol/grid.ts";
import { OuterScreen } from "../../support/terminals/outer-screen.ts";

const caps = capsFromEnvironment({ TERM: "xterm-256color" });
const size = { rows: 3, cols: 12 };
const bold = { ...plainStyle, flags: 1 };

function row(text: string, style = plainStyle): Cell[] {
  return [...text.padEnd(size.cols)].map((char) => ({ text: char, width: 1, style }));
}

function frame(lines: readonly Cell[][], cursor: Partial<Frame["cursor"]>, more: Partial<Frame> = {}): Frame {
  const place = { row: 0, col: 0, visible: true, shape: "block", blink: false } as const;
  return { ...size, lines, cursor: { ...place, ...cursor }, modes: initialFrameModes, title: null, ...more };
}

function typed(prev: Frame, next: Frame): string {
  return typedInPlace(prev, next, encodeFrame(prev, next));
}

const panel = row("a panel", { ...plainStyle, bg: { indexed: 2 } });
const before = frame([row("$ l"), row(""), panel], { col: 3 });

test("an echo is found, one character or several", () => {
  expect(typed(before, frame([row("$ ls"), row(""), panel], { col: 4 }))).toBe("s");
  expect(typed(before, frame([row("$ ls -la"), row(""), panel], { col: 8 }))).toBe("s -la");
});

test.each([
  ["nothing", before],
  ["more in the row", frame([row("$ ls  x"), row(""), panel], { col: 4 })],
  ["another row too", frame([row("$ ls"), row("x"), panel], { col: 4 })],
  ["another row alone", frame([row("$ l"), row("x"), panel], { row: 1, col: 1 })],
  ["a style", frame([[...row("$ l").slice(0, 3), ...row("s        ", bold)], row(""), panel], { col: 4 })],
  ["a character that is not ASCII", frame([row("$ lé"), row(""), panel], { col: 4 })],
  ["a cursor that is hidden", frame([row("$ ls"), row(""), panel], { col: 4, visible: false })],
  ["another cursor", frame([row("$ ls"), row(""), panel], { col: 4, shape: "bar" })],
  ["a mode", frame([row("$ ls"), row(""), panel], { col: 4 }, { modes: { ...initialFrameModes, focus: true } })],
  ["a title", frame([row("$ ls"), row(""), panel], { col: 4 }, { title: "t" })],
  ["the last column", frame([row("$ lsssssssss"), row(""), panel], { col: 12 })],
  ["a deleted character", frame([row("$ "), row(""), panel], { col: 2 })],
])("anything else is rendered: %s", (_what, next) => {
  expect(typed(before, next)).toBe("");
});

test("a blank is written too, and the cursor moves over existing text", () => {
  const shown = frame([row("$ ls"), row(""), panel], { col: 4 });
  expect(typed(shown, frame([row("$ ls"), row(""), panel], { col: 5 }))).toBe(" ");
  expect(typed(frame([row("$ ls"), row(""), panel], { col: 2 }), shown)).toBe("ls");
});

test("a terminal shows the same as if rendered, for any frames", async () => {
  let found = 0;
  for (let seed = 1; seed <= 300; seed++) {
    let state = seed * 2_654_435_761;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((state / 2_147_483_648) * below);
    };
    const lines = [row("$ echo"), row("é a"), panel];
    const at = { row: random(2), col: random(size.cols) };
    const prev = frame(lines, at);
    const length = 1 + random(3);
    const cells = [...(lines[at.row] ?? [])];
    for (let col = at.col; col < Math.min(size.cols, at.col + length); col++) {
      cells[col] = { text: "ab ~é"[random(5)] ?? "a", width: 1, style: random(8) === 0 ? bold : plainStyle };
    }
    const col = Math.min(size.cols - 1, at.col + length - (random(6) === 0 ? 1 : 0));
    const next = frame(lines.with(at.row, cells), { row: at.row, col });
    const text = typed(prev, next);
    if (text === "") continue;
    found++;
    const [rendered, direct] = [new OuterScreen(size.rows, size.cols), new OuterScreen(size.rows, size.cols)];
    for (const screen of [rendered, direct]) await screen.write(render(null, prev, noEvents, caps));
    await rendered.write(render(prev, next, noEvents, caps));
    await direct.write(text);
    expect(direct.grid()).toEqual(rendered.grid());
  }
  expect(found).toBeGreaterThan(30);
});

test("the client takes the session process's echo as rendered, and renders again where the session process could not know", () => {
  const written: string[] = [];
  const output = { pending: 0, write: (bytes: Uint8Array) => void written.push(new TextDecoder().decode(bytes)) };
  const view = new SessionView({ output, size, lastingChanges: new Set() }, caps);
  const send = (update: FrameUpdate): boolean => view.showFrame(new TextEncoder().encode(JSON.stringify(update)));
  const ls = frame([row("$ ls"), row(""), panel], { col: 4 });
  const lsx = frame([row("$ lsx"), row(""), panel], { col: 5 });
  expect(send(encodeFrame(null, before))).toBe(true);
  written.length = 0;
  expect(send({ ...encodeFrame(before, ls), shown: true })).toBe(false);
  expect(written).toEqual([]);
  // The cursor is where the session process has moved it.
  expect(send(encodeFrame(ls, lsx))).toBe(true);
  expect(written).toEqual(["x"]);
  view.forget();
  expect(send({ ...encodeFrame(lsx, frame([row("$ lsxy"), row(""), panel], { col: 6 })), shown: true })).toBe(true);
  expect(written.at(-1)).toContain("$ lsxy");
  expect(written.at(-1)).toContain("a panel");
});
