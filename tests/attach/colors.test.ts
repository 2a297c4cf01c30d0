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
