/** A mistake in config.toml keeps nobody out of a running session, and is reported. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { Wsh } from "../support/wsh.ts";

const wsh = new Wsh();
const file = join(wsh.dir, "home/.config/wsh/config.toml");
beforeAll(async () => {
  await wsh.session("dev");
});
afterAll(() => wsh[Symbol.asyncDispose]());

test.each([
  ["a wrong value", 'scrollback_lines = "many"', "scrollback_lines"],
  ["an unknown name", "scrolback_lines = 3", "scrolback_lines"],
  ["no TOML", "broken = = 3", "broken"],
  ["an unknown operation", '[keys]\n"g" = "nonsense.op"', "nonsense.op"],
  ["an action of copy mode after the prefix", '[keys]\n"g" = "copy.leave"', "can be bound only in [keys.copy]"],
  ["an operation that only reads", '[keys]\n"g" = "screen.get"', "only reads"],
  ["a key for typing as the prefix", 'prefix_key = "a"', "prefix_key"],
  ["an unknown colour", '[theme]\nborder = "nocolour"', "border"],
])("with %s people attach and split, and are told", async (_, text, named) => {
  fs.writeFileSync(file, `${text}\n`);
  const terminal = await EmulatorTerminal.attach(wsh, "dev", { rows: 20, cols: 180 });
  terminal.type("echo $((6*7))attached\r");
  await terminal.sees("42attached");
  terminal.type("clear\r\x1c\x1c");
  await terminal.sees(named);
  await terminal[Symbol.asyncDispose]();
  expect(await wsh.run("split", "dev", "--", "true")).toMatchObject({ code: 0 });
  const doctor = await wsh.run("doctor");
  expect(doctor.stdout).toContain(named);
  fs.rmSync(file);
});
