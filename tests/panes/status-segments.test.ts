/** What a person sees of the segments of the settings: styles, commands that fail and hang, changes, narrow terminals. */
import { expect, setDefaultTimeout, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import type { Cell } from "../../src/protocol/grid.ts";
import { personAt } from "../support/person.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import type { Wsh } from "../support/wsh.ts";

setDefaultTimeout(60_000);

const PREFIX = "\x1c";
const lastRow = (text: string): string => text.split("\n").at(-1) ?? "";

/** The cells of the line in which a text begins. */
async function cellOf(terminal: EmulatorTerminal, text: string): Promise<Cell | undefined> {
  const row = (await terminal.grid()).lines.at(-1) ?? [];
  const at = row
    .map((cell) => cell.text)
    .join("")
    .indexOf(text);
  return row.filter((cell) => cell.width > 0)[at];
}

const colors = (cell: Cell | undefined): string => JSON.stringify([cell?.style.fg ?? null, cell?.style.bg ?? null]);

/** Like an editor: another file replaces the old one, and nobody reads half of it. */
function write(wsh: Wsh, config: string): void {
  const file = join(wsh.dir, "home/.config/wsh/config.toml");
  fs.writeFileSync(`${file}.new`, config);
  fs.renameSync(`${file}.new`, file);
}

test("have their styles, also those of a command's output; NO_COLOR and a terminal without colours get the text", async () => {
  const config = String.raw`status_segments = [
    { segment = "session", style = "white on blue" },
    { segment = "windows", marks = { current = { sign = "<", style = "#010203 on 250" }, last = "-" } },
    "gap",
    { text = "漢{session}", style = "dim red on default" },
    { command = ["printf", "\u001b[32mgreen\u001b[m \u001b]0;x\u0007\u001b[2J"], style = "on yellow" },
  ]`;
  await using all = await personAt({ config, status: "on" });
  const { person, wsh } = all;
  person.type(`${PREFIX}c`);
  await person.sees((text) => /^ dev {2}0:bash- 1:bash< +漢dev green +$/.test(`${lastRow(text)} `));
  expect(colors(await cellOf(person, "dev"))).toBe('[{"indexed":7},{"indexed":4}]');
  expect(colors(await cellOf(person, "1:bash"))).toBe('[{"rgb":{"r":1,"g":2,"b":3}},{"indexed":250}]');
  expect(colors(await cellOf(person, "0:bash"))).toBe('[{"indexed":16},{"indexed":34}]');
  expect(colors(await cellOf(person, "漢"))).toBe('[{"indexed":1},{"indexed":34}]');
  expect(colors(await cellOf(person, "green"))).toBe('[{"indexed":2},{"indexed":3}]');
  for (const env of [{ NO_COLOR: "1" }, { TERM: "vt100", COLORTERM: "" }]) {
    await using plain = await EmulatorTerminal.attach(wsh, "dev", { env, cols: 80 });
    await plain.sees((text) => /1:bash< .*dev green/.test(lastRow(text)));
    const row = (await plain.grid()).lines.at(-1) ?? [];
    expect(row.filter(({ style }) => style.fg !== null || style.bg !== null)).toEqual([]);
  }
});

test("follow the settings, terminals of every width have their own, and each command runs once", async () => {
  await using all = await personAt({ status: "on", cols: 100 });
  const { person, wsh } = all;
  const runs = join(wsh.dir, "runs");
  // Options of the session process's own engine are not for programs.
  const counted = `echo run $BUN_JSC_useWarmUpMarkedBlocks >>${runs}; echo counted`;
  const config = (text: string): string =>
    `status_segments = ["session", "gap", "windows", "gap", { text = "${text}" }, { shell = "${counted}", seconds = 3600 }]`;
  write(wsh, config("first"));
  await person.sees((text) => /^ dev +0:bash\* +first counted $/.test(`${lastRow(text)} `));
  await using narrow = await EmulatorTerminal.attach(wsh, "dev", { rows: 10, cols: 20, flags: ["--follow"] });
  await using wide = await EmulatorTerminal.attach(wsh, "dev", { rows: 24, cols: 200, flags: ["--follow"] });
  await narrow.sees((text) => /^ dev +0:bash\* *$/.test(lastRow(text)));
  await wide.sees((text) => lastRow(text).indexOf("0:bash*") === 96 && lastRow(text).trimEnd().length === 199);
  for (let i = 0; i < 20; i++) write(wsh, config(`at ${i}`));
  await wsh.ok("config", "reload");
  for (const terminal of [person, wide]) await terminal.sees((text) => lastRow(text).includes("at 19 counted"));
  expect(fs.readFileSync(runs, "utf8")).toBe("run\n");
  // A mistake changes nothing, and says where it is.
  write(wsh, `status_segments = [\n"session",\n{ text = "x", style = "purple" },\n]`);
  const { code, stderr } = await wsh.run("config", "check");
  expect(code).not.toBe(0);
  expect(stderr).toContain('config.toml:3: status_segments, entry 2: style is "purple", expected attributes');
  expect((await wsh.run("config", "reload")).code).not.toBe(0);
  await person.sees((text) => lastRow(text).includes("at 19 counted"));
});

test("a command that fails, hangs, floods, or is missing says so on the line and in the log, and nothing of it remains", async () => {
  await using all = await personAt({ status: "on", cols: 160 });
  const { person, wsh } = all;
  const tool = join(wsh.dir, "tool");
  fs.writeFileSync(tool, "#!/bin/sh\necho works\n", { mode: 0o755 });
  const commands = [
    `{ command = ["${tool}"], seconds = 1 }`,
    `{ shell = "echo low; exit 3", seconds = 1 }`,
    `{ shell = "sleep 984.1 & setsid sleep 984.2 & sleep 984.3", timeout_seconds = 1, seconds = 1 }`,
    `{ command = ["yes"], seconds = 1 }`,
    `{ shell = "setsid sleep 984.4 >/dev/null & echo forks", seconds = 1 }`,
  ];
  write(wsh, `status_segments = [${commands.join(",\n")}]`);
  const line = /works {2}low {2}echo: exit 3 {2}sleep: still ran after 1 s {2}y {2}yes: printed over 16 kB {2}forks/;
  await person.sees((text) => line.test(lastRow(text)));
  fs.rmSync(tool);
  await person.sees((text) => lastRow(text).includes("tool: not found"));
  person.type("echo still $((40+2))\r");
  await person.sees(/^still 42$/m);
  const logged = () => fs.readFileSync(wsh.instance.sessionLog, "utf8");
  for (const reason of ["exit 3", "still ran after 1 s", "printed over 16 kB", "not found"])
    await until(`${reason} in the log`, () => logged().includes(`reason="${reason}"`));
  expect(logged().match(/reason="exit 3"/g)).toHaveLength(1);
  const left = (): string[] =>
    wsh.processes().flatMap(({ command }) => (/^(sleep 984|yes)/.test(command) ? command : []));
  await until("a run", () => left().includes("sleep 984.3"));
  await wsh.ok("kill", "dev");
  await until("nothing to be left", () => left().length === 0);
});

test("a command does not outlive its session process, even one that is killed", async () => {
  const config = `status_segments = [{ shell = "setsid sleep 983.1 & sleep 983.2", timeout_seconds = 60, seconds = 60 }]`;
  await using all = await personAt({ config, status: "on" });
  const { wsh } = all;
  const left = (): string[] => wsh.processes().flatMap(({ command }) => (/^sleep 983/.test(command) ? command : []));
  await until("the run", () => left().length === 2);
  await wsh.killHost();
  // Who first finds that it is dead ends them. Its checkpoint may not have been written yet.
  await wsh.list();
  await until("nothing to be left", () => left().length === 0);
});

test("the marked pane's window has its sign", async () => {
  await using all = await personAt({ status: "on" });
  const { person } = all;
  await person.sees((text) => lastRow(text).trimEnd().endsWith("0:bash*"));
  person.type(`${PREFIX}m`);
  await person.sees((text) => lastRow(text).includes("0:bash*M"));
  person.type(`${PREFIX}M`);
  await person.sees((text) => lastRow(text).trimEnd().endsWith("0:bash*"));
});

test("facts of the only pane follow it", async () => {
  const config = `status_segments = ["windows", "exit", "gap", { text = "{directory} {title}" }]`;
  await using all = await personAt({ config, status: "on" });
  const { person } = all;
  person.type("cd /usr\r");
  await person.sees((text) => lastRow(text).endsWith(" /usr"));
  person.type("printf '\\033]2;a title\\007'\r");
  await person.sees((text) => lastRow(text).endsWith(" /usr a title"));
  person.type("(exit 7)\r");
  await person.sees((text) => lastRow(text).includes("0:bash*  exit 7 "));
  person.type("exec cat\r");
  await person.sees((text) => lastRow(text).startsWith(" 0:cat*"));
});
