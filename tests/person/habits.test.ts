/** A tmux user's two weeks of habits: 120 keys and commands, of which at most five have no counterpart here. */
import { expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { bindingName } from "../../src/keys/configured.ts";
import { parseKeyName } from "../../src/keys/parse-name.ts";
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
  const from = page.indexOf("\nThese keys have no counterpart");
  const named = page.slice(from, page.indexOf("\n\n", from + 2));
  const spelled = (tmux: string): string => `\`${tmux.replace("C-", "Ctrl+")}\``;
  expect(missing.filter(({ tmux }) => !named.includes(spelled(tmux)))).toEqual([]);
});

test("every key has its listed counterpart", () => {
  const { prefix } = new KeyTables(tmuxPreset);
  const bound = keyHabits.map(
    ({ tmux }) => `${tmux} ${prefix.get(bindingName(parseKeyName(tmux)))?.operation ?? null}`,
  );
  expect(bound).toEqual(keyHabits.map(({ tmux, here }) => `${tmux} ${here}`));
});

const config = `prefix_preset = "tmux"
[keys]
"g" = "popup.open command='echo in the popup; read x' width=40 height=9"
`;

test("another prefix key with the preset is typed when pressed twice, and does not detach", async () => {
  await using wsh = new Wsh({ config: 'prefix_preset = "tmux"\nprefix_key = "C-a"\n' });
  await wsh.session("one");
  await using person = await EmulatorTerminal.attach(wsh, "one", { rows: 24, cols: 80 });
  person.type("echo rea''dy; cat -v\r");
  await person.sees(/^ready$/m);
  person.type("\x01\x01 typed\r");
  await person.sees(/^\^A typed$/m);
  expect(await wsh.ok("tmux", "list-keys", "-N", "-T", "prefix")).toMatch(/C-a +send the prefix key/);
});

test("tmux habits in one terminal", async () => {
  await using wsh = new Wsh({ config, env: { WSH_STATUS: "on" } });
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
  // They are displayed for a second.
  await until("the numbers of the panes", async () => {
    press("q");
    return / 1$[\s\S]* 0 [\s\S]* 2$/m.test(await person.text());
  });
  press("q1");
  await has({ pane: 1 });
  press("m");
  await person.sees(/pane @\d+ is marked/);
  press("c");
  await has({ windows: "0,1", window: 1 });
  press(".");
  await person.sees("New number of the window");
  person.type("\x15" + "7\r");
  await has({ windows: "0,7" });
  press("g");
  await person.sees("in the popup");
  person.type("\r");
  await until("the popup to go", async () => !(await person.text()).includes("in the popup"));
  press(".");
  await person.sees("New number of the window");
  person.type("\x15" + "two:\r");
  await has({ windows: "0" });
  await has({ windows: "0,1" }, "two");
  await wsh.ok("window", "move", "two:1", "one:7");
  await has({ windows: "0,7" });
  press("7");
  await has({ window: 7 });
  press("\x1b[1;6D");
  await has({ window: 0 });
  press("\x1b[1;6C");
  await has({ window: 7 });
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
  // The prefix twice reaches the program.
  person.type("cat -v\r");
  press("\x02");
  person.type("\r");
  await person.sees("^B");
});

/** Command lines that need the result of the line before, in a typical order. */
const typed = [
  ...["ls", "new -d -s x2", "has-session -t x", "rename-session -t x2 y", "kill-session -t y", "new-window"],
  ...["rename-window y", "kill-window", "select-window -t 1", "list-windows", "split-window -h", "list-panes"],
  ...["select-pane -L", "resize-pane -L 5", "swap-pane -U", "break-pane", "join-pane -s x:2 -t x:1"],
  ...["select-layout tiled", "send-keys ls Enter", "capture-pane -p", "capture-pane -p -S -", "set-buffer text"],
  ...["show-buffer", "save-buffer file", "load-buffer file", "wait-for -S x", "wait-for x", "source-file file.conf"],
  ...["list-keys", "show-options", "kill-pane", "move-window -t 9", "swap-window -t 0", "clear-history"],
];

test.if(process.env.WSH_TEST_FULL === "1")("the command lines of two weeks, as `wsh tmux`", async () => {
  await using wsh = new Wsh();
  await wsh.session("x");
  await wsh.ok("window", "new", "x");
  await Bun.write(join(wsh.dir, "file.conf"), "");
  const failed: string[] = [];
  for (const line of typed) {
    const { code, stderr } = await wsh.run("tmux", ...line.replace(/ file/, ` ${wsh.dir}/file`).split(" "));
    if (code !== 0) failed.push(`${line}: ${stderr}`);
  }
  expect(failed).toEqual([]);
  const first = new Set(typed.map((line) => line.split(" ")[0]));
  const elsewhere = new Set(["new", "attach", "detach", "kill-server", "display-popup", "switch-client"]);
  const words = commandHabits.map(({ tmux }) => tmux.split(" ")[1] ?? "");
  expect(words.filter((word) => !first.has(word) && !elsewhere.has(word))).toEqual([]);
});
