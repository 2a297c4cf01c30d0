/**
 * Output of real programs under a status line and in copy mode: every cell of the program is the same as without them,
 * and leaving shows the program unchanged. The recordings are in tests/fixtures/streams.
 */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { EmulatorTerminal } from "../../support/terminals/emulator-terminal.ts";
import { describeRows } from "../../support/terminals/outer-screen.ts";
import { until } from "../../support/until.ts";
import { Wsh } from "../../support/wsh.ts";
import { streamPrograms } from "./programs.ts";
import { quietTerminal } from "./quiet-terminal.ts";

const ROWS = 24;
const COLS = 80;
const LABEL = /\d+ of \d+ lines up/;
const PREFIX = "\x1c";

/** On the normal screen the colour of blanks after a line's last letter is not kept for copy mode: only text is the same. */
const coloredEnds: ReadonlySet<string> = new Set(["dialog", "dialog-gauge"]);

/** In a brief run ten of all kinds: screens of their own, pagers, editors of lines, dialogs, wide and coloured text. */
const BRIEF = ["vim", "less", "mc", "git-diff", "python", "dialog", "fish", "tmux", "emoji", "attributes"];
const programs = streamPrograms.filter(({ name }) => process.env.WSH_TEST_FULL === "1" || BRIEF.includes(name));

/** The picture that the program's bytes make alone. */
async function alone(path: string): Promise<string[]> {
  using terminal = quietTerminal({ rows: ROWS, cols: COLS });
  await terminal.write(readFileSync(path));
  return describeRows(terminal.model.grid().lines);
}

describe("recorded programs under a status line and in copy mode", () => {
  let wsh: Wsh;
  beforeAll(() => {
    wsh = new Wsh({ env: { WSH_STATUS: "on" } });
  });
  afterAll(() => wsh[Symbol.asyncDispose]());

  for (const { name } of programs) {
    test(name, async () => {
      const path = join(import.meta.dir, `../../fixtures/streams/${name}.vt`);
      const wanted = await alone(path);
      // One row more than the program has, for the line; no answer to its queries is echoed.
      await wsh.session(name, "--", "sh", "-c", `stty raw -echo; read -r go; cat '${path}'; exec sleep 1000`);
      await using person = await EmulatorTerminal.attach(wsh, name, { rows: ROWS + 1, cols: COLS, seen: `${name} ` });
      const picture = async (): Promise<string[]> => (await person.rows()).slice(0, ROWS);
      const same = (what: string): Promise<unknown> =>
        until(what, async () => Bun.deepEquals(await picture(), wanted), 10_000).catch(async () => {
          expect(await picture()).toEqual(wanted);
        });
      person.type("\n");
      await same("the program's cells");
      const line = (await person.text()).split("\n")[ROWS] ?? "";
      expect(line).toMatch(new RegExp(`^ ${name} +0:`));
      person.type(`${PREFIX}[`);
      await person.sees(LABEL);
      const looked = await picture();
      // The label covers a part of one row, and nothing else differs.
      const said = (row = ""): string => (coloredEnds.has(name) ? row.replace(/ +\d+:\[.*$/s, "").trimEnd() : row);
      const others = looked.flatMap((row, at) => (said(row) === said(wanted[at]) ? [] : [at]));
      expect(others.length).toBeLessThanOrEqual(1);
      person.type("q");
      await same("the program's cells again");
      await wsh.ok("kill", name);
    });
  }
});
