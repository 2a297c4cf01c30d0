/**
 * Screens of tmux as cells: bytes are displayed in panes of a separate tmux server, and the output of `capture-pane -e` is
 * parsed. One pane per picture; a pane's title shows when tmux has parsed all of it.
 */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BLINK,
  BOLD,
  FAINT,
  INVERSE,
  INVISIBLE,
  ITALIC,
  OVERLINE,
  STRIKE,
  UNDERLINE,
} from "../../../src/protocol/grid.ts";
import type { Color } from "../../../src/protocol/screen.ts";
import { until } from "../../support/until.ts";
import { finished } from "../../support/wsh.ts";

/** The compared properties of a cell; a blank is a space. */
export interface PlainCell {
  readonly text: string;
  readonly fg: Color | null;
  readonly bg: Color | null;
  readonly flags: number;
}

export interface TmuxPicture {
  /** Rows of cells; a row ends where tmux has nothing more. The second half of a wide character is "". */
  readonly rows: readonly (readonly PlainCell[])[];
  readonly cursor: { readonly row: number; readonly col: number; readonly visible: boolean };
  readonly alternate: boolean;
}

/** Displays each of `streams` on a screen of 80×24 and returns tmux's screen. */
export async function tmuxPictures(streams: readonly Uint8Array[]): Promise<TmuxPicture[]> {
  const dir = mkdtempSync(join(tmpdir(), "wsh-tmux-"));
  const tmux = async (...args: readonly string[]): Promise<string> => {
    const child = Bun.spawn(["tmux", "-S", join(dir, "sock"), "-f", "/dev/null", ...args], {
      cwd: dir,
      env: { PATH: process.env.PATH ?? "", TERM: "xterm-256color", LANG: "C.UTF-8", HOME: dir },
      stdout: "pipe",
      stderr: "pipe",
    });
    const { stdout: out, stderr: error, code } = await finished(child);
    if (code !== 0) throw new Error(`tmux ${args.join(" ")}: ${error}`);
    return out;
  };
  // Raw, so that no byte is changed on its way; answers of tmux accumulate unread.
  const show = (name: string): string =>
    `stty raw -echo; cat ${name}; printf '\\033]2;${name} shown\\033\\\\'; exec sleep 1000`;
  try {
    await tmux("new-session", "-d", "-x", "80", "-y", "24", "exec sleep 1000");
    await tmux("set", "-g", "status", "off");
    for (const [i, bytes] of streams.entries()) {
      writeFileSync(join(dir, `s${i}`), bytes);
      await tmux("new-window", "-d", "-t", `:${i + 1}`, show(`s${i}`));
    }
    const facts = "#{window_index} #{cursor_y} #{cursor_x} #{cursor_flag} #{alternate_on} #{pane_title}";
    const listed = await until("tmux to show every stream", async () => {
      const lines = (await tmux("list-panes", "-s", "-F", facts)).trim().split("\n");
      return lines.filter((line) => line.endsWith(" shown")).length === streams.length ? lines : null;
    });
    const pictures: TmuxPicture[] = [];
    for (const i of streams.keys()) {
      const fact = listed.find((line) => line.startsWith(`${i + 1} `)) ?? "";
      const [, row = 0, col = 0, visible, alternate] = fact.split(" ").map(Number);
      const text = await tmux("capture-pane", "-p", "-e", "-N", "-t", `:${i + 1}`);
      const rows = readRows(text);
      pictures.push({ rows, cursor: { row, col, visible: visible === 1 }, alternate: alternate === 1 });
    }
    return pictures;
  } finally {
    await tmux("kill-server").catch(() => {});
    rmSync(dir, { recursive: true, force: true });
  }
}

/** DEC special graphics from 0x60 on. */
const GRAPHICS = "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·";
const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Cells of the output of `capture-pane -e`: text, SGR sequences, and shifts to line drawing. */
function readRows(text: string): PlainCell[][] {
  const pen = new Pen();
  let graphics = false;
  return text
    .replace(/\n$/, "")
    .split("\n")
    .map((line) => {
      const cells: PlainCell[] = [];
      for (const [, sgr, shift, plain = ""] of line.matchAll(/\x1b\[([\d;:]*)m|([\x0e\x0f])|([^\x1b\x0e\x0f]+)/g)) {
        if (sgr !== undefined) pen.apply(sgr);
        else if (shift !== undefined) graphics = shift === "\x0e";
        else {
          for (const { segment } of segmenter.segment(plain)) {
            const drawn = graphics ? (GRAPHICS[segment.charCodeAt(0) - 0x60] ?? segment) : segment;
            cells.push(pen.cell(drawn));
            if (Bun.stringWidth(drawn) === 2) cells.push(pen.cell(""));
          }
        }
      }
      return cells;
    });
}

const SET_FLAGS: Readonly<Record<number, number>> = {
  1: BOLD,
  2: FAINT,
  3: ITALIC,
  4: UNDERLINE,
  5: BLINK,
  7: INVERSE,
  8: INVISIBLE,
  9: STRIKE,
  53: OVERLINE,
};

class Pen {
  private fg: Color | null = null;
  private bg: Color | null = null;
  private flags = 0;

  cell(text: string): PlainCell {
    return { text, fg: this.fg, bg: this.bg, flags: this.flags };
  }

  /** tmux's form: always a reset before a flag is removed. */
  apply(sgr: string): void {
    const numbers = sgr.split(";").map((part) => Number(part.split(":")[0]));
    for (let i = 0; i < numbers.length; i++) {
      const n = numbers[i] ?? 0;
      if (n === 0) {
        this.fg = this.bg = null;
        this.flags = 0;
      } else if (n === 38 || n === 48 || n === 58) {
        const { color, used } = readColor(numbers.slice(i + 1));
        if (n === 38) this.fg = color;
        else if (n === 48) this.bg = color;
        i += used;
      } else if (n === 39) this.fg = null;
      else if (n === 49) this.bg = null;
      else if (n >= 30 && n <= 37) this.fg = { indexed: n - 30 };
      else if (n >= 40 && n <= 47) this.bg = { indexed: n - 40 };
      else if (n >= 90 && n <= 97) this.fg = { indexed: n - 82 };
      else if (n >= 100 && n <= 107) this.bg = { indexed: n - 92 };
      else this.flags |= SET_FLAGS[n] ?? 0;
    }
  }
}

function readColor([kind, a = 0, b = 0, c = 0]: readonly number[]): { color: Color; used: number } {
  return kind === 5 ? { color: { indexed: a }, used: 2 } : { color: { rgb: { r: a, g: b, b: c } }, used: 4 };
}
