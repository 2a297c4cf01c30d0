/** wsh's own drawing follows `[theme]`; NO_COLOR removes its colours, and leaves those of programs. */
import { expect, test } from "bun:test";
import { type Cell, INVERSE, UNDERLINE } from "../../src/protocol/grid.ts";
import { personAt } from "../support/person.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

const PREFIX = "\x1c";

async function cells(person: EmulatorTerminal, wanted: (cell: Cell) => boolean): Promise<Cell[]> {
  return (await person.grid()).lines.flat().filter(wanted);
}

test("lines, status line and selection have their styles; NO_COLOR removes the colours of wsh alone", async () => {
  const config = [
    "[theme]",
    "border = 'cyan'",
    "border_active = 'bold #102030'",
    "status = 'white on blue'",
    "selection = 'black on yellow'",
    "match = 'red'",
  ].join("\n");
  await using all = await personAt({ config, status: "auto", cols: 100 });
  const { person, wsh } = all;
  person.type("printf '\\033[31mred\\033[m\\n'\r");
  await person.sees(/^red/m);
  person.type(`${PREFIX}%`);
  await person.sees(/^ dev /m);
  const lines = await cells(person, ({ text }) => /[│┃╿╽]/.test(text));
  expect(new Set(lines.map(({ style }) => JSON.stringify(style.fg)))).toEqual(
    new Set(['{"indexed":6}', '{"rgb":{"r":16,"g":32,"b":48}}']),
  );
  const bar = (await person.grid()).lines.at(-1) ?? [];
  expect(bar.every(({ style }) => JSON.stringify([style.fg, style.bg]) === '[{"indexed":7},{"indexed":4}]')).toBe(true);
  person.type(`${PREFIX}[V`);
  const isChosen = ({ style }: Cell): boolean => JSON.stringify(style.bg) === '{"indexed":3}';
  await until("the selection", async () => (await cells(person, isChosen)).length > 0);
  person.type("q");
  await using plain = await EmulatorTerminal.attach(wsh, "dev", { seen: /red/, env: { NO_COLOR: "1" }, cols: 100 });
  await plain.sees(/^ dev /m);
  const colored = await cells(plain, ({ style }) => style.fg !== null || style.bg !== null);
  expect(colored.map(({ text }) => text).join("")).toBe("red");
  // Selection and matches are visible without colours, in the picture of a pane and in a session of one.
  await wsh.ok("new", "single", "--", "printf '\\033[31mred\\033[m plain\\n'; exec cat");
  await using alone = await EmulatorTerminal.attach(wsh, "single", { seen: /red/, env: { NO_COLOR: "1" } });
  const red = async (terminal: EmulatorTerminal, flags: number): Promise<boolean> =>
    (await cells(terminal, ({ style }) => style.fg !== null && (style.flags & flags) === flags)).length === 3;
  plain.type(`${PREFIX}o`);
  for (const terminal of [plain, alone]) {
    terminal.type(`${PREFIX}[?red\r`);
    await until("the match", () => red(terminal, UNDERLINE));
    terminal.type("q");
    await until("the end", async () => !(await red(terminal, UNDERLINE)));
    terminal.type(`${PREFIX}[gVG`);
    await until("the selection", () => red(terminal, INVERSE));
    const ours = await cells(terminal, ({ style }) => style.bg !== null || style.fg !== null);
    expect(ours.map(({ text }) => text).join("")).toBe("red");
    terminal.type("q");
  }
});

test("an unknown role or style is refused with its line; wsh config prints the effective ones", async () => {
  await using wsh = new Wsh({ config: "[theme]\nborder = 'red'\nbordr = 'red'\n" });
  const { code, stderr } = await wsh.run("config");
  expect([code !== 0, stderr.includes("config.toml:3: [theme] unknown role 'bordr'")]).toEqual([true, true]);
  await using other = new Wsh({ config: "[theme]\nstatus = 'red and blue'\n" });
  expect((await other.run("new", "dev")).stderr).toContain('config.toml:2: [theme] status is "red and blue", expected');
  await using good = new Wsh({ config: "[theme]\nborder = 'red'\n" });
  expect(await good.ok("config", "--changed")).toMatch(/theme\.border +"red" +\S+config\.toml:2 +Style of lines/);
});
