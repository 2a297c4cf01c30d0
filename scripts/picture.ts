/**
 * Makes docs/picture.svg, the README's picture, from a real session: a shell in an attached terminal, a test run, and a
 * panel and a dialog that are drawn over HTTP as an agent would. Run after a build: `bun scripts/picture.ts`.
 */
import fs from "node:fs";
import os from "node:os";
import { join } from "node:path";
import { BOLD, FAINT, type Grid, INVERSE, ITALIC, type Style, UNDERLINE } from "../src/protocol/grid.ts";
import type { Color } from "../src/protocol/screen.ts";
import { TerminalModel } from "../src/terminal/model.ts";
import { defaultProfile, paletteColor } from "../src/terminal/profile.ts";

const ROWS = 17;
const COLS = 92;
/** Pixels of a cell, and around the picture. */
const CELL = { width: 9, height: 19 };
const MARGIN = 14;
/** Time for the terminal to be painted, in ms: the script is watched, not tested. */
const PAINTED_MS = 700;

const root = join(import.meta.dir, "..");
const wsh = process.env.WSH_BIN ?? join(root, "dist/wsh");
const dir = fs.mkdtempSync(join(os.tmpdir(), "wsh-picture-"));
const env = {
  PATH: process.env.PATH ?? "/usr/bin:/bin",
  HOME: dir,
  SHELL: "/bin/bash",
  TERM: "xterm-256color",
  COLORTERM: "truecolor",
  LANG: "C.UTF-8",
  XDG_RUNTIME_DIR: dir,
};
fs.writeFileSync(join(dir, ".bash_profile"), "PS1='\\[\\e[32m\\]~/shop\\[\\e[0m\\] $ '\ncd shop\n");
fs.mkdirSync(join(dir, "shop"));
fs.writeFileSync(
  join(dir, "shop/check.sh"),
  "for t in cart checkout login search; do printf '\\e[32m✓\\e[0m %-10s %s tests\\n' $t $((RANDOM % 20 + 5)); sleep 0.05; done\n",
);

function show(terminal: TerminalModel): Bun.Terminal {
  return new Bun.Terminal({
    rows: ROWS,
    cols: COLS,
    data: (_, bytes) => void terminal.write(new Uint8Array(bytes)),
  });
}

async function post(path: string, body: unknown): Promise<void> {
  const socket = join(dir, "wsh/default.http.sock");
  const response = await fetch(`http://localhost/sessions/shop/${path}`, {
    method: "POST",
    unix: socket,
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${path}: ${await response.text()}`);
}

const model = new TerminalModel(
  { rows: ROWS, cols: COLS, historyLines: 0, historyBytes: 0, nonce: null, profile: defaultProfile },
  {
    reply: () => {},
    chunk: () => {},
    mark: () => {},
    bell: () => {},
    title: () => {},
    cwd: () => {},
    alternate: () => {},
    clipboard: () => {},
    reset: () => {},
  },
);
const terminal = show(model);
const person = Bun.spawn([wsh, "--name", "shop"], { cwd: dir, env, terminal });
while (!Bun.spawnSync([wsh, "status"], { env }).success) await Bun.sleep(50);
await post("exec", { command: "bash check.sh" });
await post("exec", { command: "echo ready to deploy" });
await post("panel", {
  position: "top",
  height: 1,
  background: { bg: { r: 38, g: 79, b: 120 } },
  spans: [{ text: " agent ", bold: true }, { text: "deploying shop · step 3 of 4 · all tests passed" }],
});
await post("overlay", {
  x: 30,
  y: 9,
  width: 38,
  height: 5,
  background: "#2d2d2d",
  focusable: true,
  spans: [
    { text: "\n  Deploy version 2.4 to production?\n\n", bold: true },
    { text: "      [y] yes      ", fg: "green" },
    { text: "[n] no", fg: "red" },
  ],
});
await post("input/capture", {});
await Bun.sleep(PAINTED_MS);
const picture = svg(model.grid());
fs.mkdirSync(join(root, "docs"), { recursive: true });
fs.writeFileSync(join(root, "docs/picture.svg"), picture);
Bun.spawnSync([wsh, "stop"], { env });
await person.exited;
fs.rmSync(dir, { recursive: true, force: true });
terminal.close();
model.dispose();
console.log("docs/picture.svg");

function svg(grid: Grid): string {
  const width = grid.cols * CELL.width + 2 * MARGIN;
  const height = grid.rows * CELL.height + 2 * MARGIN;
  const parts: string[] = [];
  for (const [row, line] of grid.lines.entries()) {
    let col = 0;
    while (col < line.length) {
      const { style } = line[col] ?? { style: null };
      let text = "";
      const from = col;
      while (col < line.length && JSON.stringify(line[col]?.style) === JSON.stringify(style)) {
        text += line[col]?.text ?? "";
        col++;
      }
      if (style !== null) parts.push(run(style, text, row, from, col - from));
    }
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">
<rect width="100%" height="100%" rx="10" fill="#16181d"/>
<g font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace" font-size="15" xml:space="preserve">
${parts.filter((part) => part !== "").join("\n")}
</g>
</svg>
`;
}

function run(style: Style, text: string, row: number, col: number, cells: number): string {
  const inverse = (style.flags & INVERSE) !== 0;
  const [fg, bg] = inverse
    ? [css(style.bg, "#16181d"), css(style.fg, "#d8dee9")]
    : [css(style.fg, "#d8dee9"), css(style.bg, null)];
  const x = MARGIN + col * CELL.width;
  const y = MARGIN + row * CELL.height;
  const box =
    bg === null ? "" : `<rect x="${x}" y="${y}" width="${cells * CELL.width}" height="${CELL.height}" fill="${bg}"/>`;
  if (text.trim() === "") return box;
  const look = [
    (style.flags & BOLD) !== 0 ? 'font-weight="bold"' : "",
    (style.flags & ITALIC) !== 0 ? 'font-style="italic"' : "",
    (style.flags & UNDERLINE) !== 0 ? 'text-decoration="underline"' : "",
    (style.flags & FAINT) !== 0 ? 'opacity="0.6"' : "",
  ].filter((attribute) => attribute !== "");
  const escaped = text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const attributes = [`x="${x}"`, `y="${y + 14}"`, `fill="${fg}"`, `textLength="${cells * CELL.width}"`, ...look].join(
    " ",
  );
  return `${box}<text ${attributes}>${escaped}</text>`;
}

function css<D extends string | null>(color: Color | null, otherwise: D): string | D {
  if (color === null) return otherwise;
  const { r, g, b } = "rgb" in color ? color.rgb : paletteColor(defaultProfile, color.indexed);
  return `rgb(${r},${g},${b})`;
}
