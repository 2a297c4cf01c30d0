/**
 * Output of real programs in wsh and in tmux, compared cell by cell: text, colours, attributes, cursor. The
 * recordings are in tests/fixtures/streams; `record-streams.ts` makes them again.
 */
import { beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Grid } from "../../../src/protocol/grid.ts";
import { hasTmux } from "../../support/terminals/tmux-terminal.ts";
import { explained } from "./known-differences.ts";
import { streamPrograms } from "./programs.ts";
import { quietTerminal } from "./quiet-terminal.ts";
import { type PlainCell, type TmuxPicture, tmuxPictures } from "./tmux-cells.ts";

if (!hasTmux) console.warn("tmux is not installed: recorded streams are not compared");

/** Places in a recording at which the two are compared, as parts of its length; the nearest one at rest is taken. */
const LOOKS = [0.35, 0.7, 1];
/** Bytes of one write. */
const STEP = 97;

interface Moment {
  readonly program: string;
  /** The bytes until then. */
  readonly bytes: Uint8Array;
  readonly grid: Grid;
  readonly alternate: boolean;
}

const moments = (await Promise.all(streamPrograms.map(({ name }) => play(name)))).flat();
let pictures: TmuxPicture[] = [];

async function play(program: string): Promise<Moment[]> {
  const bytes = readFileSync(join(import.meta.dir, `../../fixtures/streams/${program}.vt`));
  using terminal = quietTerminal();
  const found: Moment[] = [];
  for (let at = 0; at < bytes.length; at += STEP) {
    await terminal.write(bytes.subarray(at, at + STEP));
    const { model } = terminal;
    if (Math.min(at + STEP, bytes.length) < (LOOKS[found.length] ?? 2) * bytes.length) continue;
    found.push({ program, bytes: bytes.subarray(0, model.offset), grid: model.grid(), alternate: model.alternate });
  }
  return found;
}

describe.skipIf(!hasTmux)("recorded programs, in wsh and in tmux", () => {
  beforeAll(async () => {
    pictures = await tmuxPictures(moments.map(({ bytes }) => bytes));
  }, 60_000);

  for (const { name } of streamPrograms) {
    test(name, () => {
      const found: string[] = [];
      for (const [i, moment] of moments.entries()) {
        const picture = pictures[i];
        if (moment.program !== name || picture === undefined) continue;
        found.push(...differences(moment, picture).map((line) => `at byte ${moment.bytes.length}: ${line}`));
      }
      const known = explained[name] ?? [];
      expect(found.filter((line) => !known.some(({ pattern }) => pattern.test(line)))).toEqual([]);
      for (const { pattern, reason } of known) {
        if (!found.some((line) => pattern.test(line))) throw new Error(`no longer differs, remove it: ${reason}`);
      }
    });
  }
});

function differences({ grid, alternate }: Moment, picture: TmuxPicture): string[] {
  const found: string[] = [];
  if (alternate !== picture.alternate) found.push(`alternate screen ${alternate}, tmux ${picture.alternate}`);
  const ours = `${grid.cursor.row},${grid.cursor.col} ${grid.cursor.visible}`;
  // tmux reports 80 where a wrap is pending.
  const theirs = `${picture.cursor.row},${Math.min(picture.cursor.col, grid.cols - 1)} ${picture.cursor.visible}`;
  if (ours !== theirs) found.push(`cursor ${ours}, tmux ${theirs}`);
  grid.lines.forEach((row, y) => {
    row.forEach(({ text, style }, x) => {
      const mine = describeCell({ text, fg: style.fg, bg: style.bg, flags: style.flags });
      // tmux prints no erased cells at the end of a row, so their background cannot be seen.
      const other = describeCell(picture.rows[y]?.[x] ?? { text: " ", fg: null, bg: style.bg, flags: 0 });
      if (mine !== other) found.push(`row ${y} col ${x}: ${mine}, tmux ${other}`);
    });
  });
  return found;
}

function describeCell({ text, fg, bg, flags }: PlainCell): string {
  // The second half of a wide character has the style of the first.
  if (text === "") return "(half)";
  return `${JSON.stringify(text)} ${JSON.stringify([fg, bg, flags])}`;
}
