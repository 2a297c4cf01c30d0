/** A tmux user's two weeks of habits: 120 keys and commands, of which at most five have no counterpart here. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { nameOf } from "../../src/keys/configured.ts";
import { parseKeyName } from "../../src/keys/names.ts";
import { KeyTables } from "../../src/keys/tables.ts";
import { tmuxPreset } from "../../src/keys/tmux-preset.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";
import { commandHabits, keyHabits } from "./habits.ts";

test("at most five of 120 have no counterpart, and the page for tmux users names each", () => {
  const all = [...keyHabits, ...commandHabits];
  expect(all.length).toBeGreaterThanOrEqual(120);
  const page = fs.readFileSync(join(import.meta.dir, "../../docs/coming-from-tmux.md"), "utf8");
  const missing = all.filter(({ here }) => here === null);
  expect(missing.length).toBeLessThanOrEqual(5);
  const from = page.indexOf("\nMissing are");
  const named = page.slice(from, page.indexOf("\n\n", from + 2));
  const spelled = (tmux: string): string => `\`${tmux.replace("C-", "Ctrl+")}\``;
  expect(missing.filter(({ tmux }) => !named.includes(spelled(tmux)))).toEqual([]);
});

test("every key has the counterpart that is written of it", () => {
  const { prefix } = new KeyTables(tmuxPreset);
  const bound = keyHabits.map(({ tmux }) => `${tmux} ${prefix.get(nameOf(parseKeyName(tmux)))?.operation ?? null}`);
  expect(bound).toEqual(keyHabits.map(({ tmux, here }) => `${tmux} ${here}`));
});

test("hands of tmux's in one terminal", async () => {
  await using wsh = new Wsh({ config: 'prefix_preset = "tmux"\n', env: { WSH_STATUS: "on" } });
  await wsh.session("one");
  await wsh.session("two");
  await using person = await EmulatorTerminal.attach(wsh, "one", { rows: 24, cols: 120 });
  const info = async (name: string) => {
    const all: {
      name: string;
      windows: { index: number; active: boolean; panes: { index: number; active: boolean }[] }[];
    }[] = JSON.parse(await wsh.ok("ls", "--json"));
    const found = all.find((each) => each.name === name);
    return {
      windows: found?.windows.map(({ index }) => index).join(),
      window: found?.windows.find(({ active }) => active)?.index,
      panes: found?.windows.find(({ active }) => active)?.panes.length,
      pane: found?.windows.find(({ active }) => active)?.panes.find(({ active }) => active)?.index,
    };
  };
  const has = (wanted: Partial<Awaited<ReturnType<typeof info>>>, name = "one"): Promise<unknown> =>
    until(JSON.stringify(wanted), async () => {
      const now = await info(name);
      return Object.entries(wanted).every(([field, value]) => now[field as "window"] === value);
    });
  const press = (keys: string): void => person.type(`\x02${keys}`);
  press("%");
  press('"');
  await has({ panes: 3, pane: 2 });
  // Arrows repeat, as in tmux.
  press("\x1b[A");
  press("\x1b[D");
  await has({ pane: 0 });
  press("q");
  await person.sees(/ 1$[\s\S]* 0 [\s\S]* 2$/m);
  person.type("1");
  await has({ pane: 1 });
  press("m");
  await person.sees(/pane @\d+ is marked/);
  press("c");
  await has({ windows: "0,1", window: 1 });
  press(".");
  await person.sees("New number of the window");
  person.type("\x15" + "7\r");
  await has({ windows: "0,7" });
  press("'");
  await person.sees("Number of the window");
  person.type("0\r");
  await has({ window: 0 });
  press("f");
  await person.sees("Text in a window");
  person.type("no such text\r");
  await person.sees("no window has 'no such text'");
  press("i");
  await person.sees("[one] 0:");
  press("D");
  await person.sees("(this one)");
  person.type("\x1b[27u");
  press("<");
  await person.sees("rename the window");
  person.type("\x1b[27u");
  await until("the menu to go", async () => !(await person.text()).includes("rename the window"));
  press(")");
  await person.sees(/^ two /m);
  press("L");
  await person.sees(/^ one /m);
  press("$");
  await person.sees("Name of the session");
  person.type('\x15a "b" $(c)\r');
  await person.sees(/a "b" \$\(c\)/);
  // The prefix twice is the program's.
  person.type("cat -v\r");
  press("\x02");
  person.type("\r");
  await person.sees("^B");
});
