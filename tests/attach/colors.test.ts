/** Colours on a person's terminal: that person's settings have precedence. */
import { expect, test } from "bun:test";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

test("programs' colours are converted to the person's setting, also where nothing is rendered", async () => {
  await using wsh = new Wsh({ config: "colours = '16'\n" });
  await wsh.session("s", "--size", "80x24");
  await using terminal = await EmulatorTerminal.attach(wsh, "s");
  terminal.forgetBytes();
  terminal.type("printf '\\033[38;2;250;10;10mrou\\033[mge\\n'\r");
  await terminal.sees(/^rouge/m);
  expect(terminal.bytes).toMatch(/\x1b\[0;(91|31)mrou/);
  expect(terminal.bytes).not.toMatch(/\x1b\[[\d;]*38;2;250/);
  terminal.type("seq 60\r");
  await terminal.sees(/^60$/m);
  await until("its line in the scrollback", async () => (await terminal.scrollback()).includes("rouge"));
});

/** The colour that the terminal reports for its background. */
const BACKGROUND = "rgb:f0f0/f1f1/f2f2";
const lightTerminal = {
  take: (bytes: Uint8Array) => (Buffer.from(bytes).includes("\x1b]11;?") ? `\x1b]11;${BACKGROUND}\x1b\\` : ""),
};
/** Prints the background that the program is told, after a word. */
const askAfter = (word: string) =>
  `stty -echo; printf '\\033]11;?\\033\\\\'; IFS= read -rsd '\\' said; stty echo; printf '%s %q\\n' ${word} "$said"\r`;

test("a program in a session that the terminal has switched to gets the terminal's colours", async () => {
  await using wsh = new Wsh();
  await wsh.session("one");
  await wsh.session("two");
  await wsh.exec("two", "echo this is two");
  await using terminal = await EmulatorTerminal.attach(wsh, "one", { graphics: lightTerminal });
  terminal.type(askAfter("first"));
  await terminal.sees(/^first .*rgb:f0f0\/f1f1\/f2f2/m);
  terminal.type("\x1c:view.go session=two\r");
  await terminal.sees(/^this is two$/m);
  terminal.type(askAfter("second"));
  await terminal.sees(/^second .*rgb:/m);
  expect(await terminal.text()).toMatch(/^second .*rgb:f0f0\/f1f1\/f2f2/m);
});

test("a program in a pane that is opened later gets the terminal's colours", async () => {
  await using wsh = new Wsh();
  await wsh.session("s");
  await using terminal = await EmulatorTerminal.attach(wsh, "s", { graphics: lightTerminal });
  terminal.type(askAfter("first"));
  await terminal.sees(/^first .*rgb:f0f0\/f1f1\/f2f2/m);
  terminal.type('\x1c"');
  await terminal.sees("─");
  terminal.type(askAfter("second"));
  await terminal.sees(/^second .*rgb:/m);
  expect(await terminal.text()).toMatch(/^second .*rgb:f0f0\/f1f1\/f2f2/m);
});
