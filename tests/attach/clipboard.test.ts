/** Copies by programs, at a terminal that ignores OSC 52 (Apple's Terminal): pbcopy of the person's machine gets them. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { until } from "../support/until.ts";
import { Wsh } from "../support/wsh.ts";

/** A person's, or root's. */
const PROMPT = /^[$#]/m;

let wsh: Wsh;
beforeAll(async () => {
  wsh = new Wsh();
  const session = ["new", "copies", "--shell", "/bin/sh"];
  expect((await wsh.run(...session)).stderr).toBe("");
});
afterAll(async () => {
  await wsh[Symbol.asyncDispose]();
});

/** The environment of a terminal on a Mac with a pbcopy that writes each copy to a file of its own. */
function mac(name: string): { env: Record<string, string>; copies(): string[] } {
  const bin = join(wsh.dir, name);
  const out = join(bin, "copies");
  fs.mkdirSync(out, { recursive: true });
  const script = `#!/bin/sh\ncat >"${out}/part.$$"; mv "${out}/part.$$" "${out}/$(ls "${out}" | wc -l).copy"\n`;
  fs.writeFileSync(join(bin, "pbcopy"), script, { mode: 0o755 });
  const env = { TERM_PROGRAM: "Apple_Terminal", SSH_CONNECTION: "", SSH_TTY: "", PATH: `${bin}:${process.env.PATH}` };
  const copies = () =>
    fs
      .readdirSync(out)
      .filter((file) => file.endsWith(".copy"))
      .map((file) => fs.readFileSync(join(out, file), "utf8"));
  return { env, copies };
}

/** A command that copies `text`, and then prints `done`, which the command does not contain. */
function copying(text: string, done: string, selection = "c"): string {
  const half = done.length / 2;
  const base64 = Buffer.from(text).toString("base64");
  return `printf '\\033]52;${selection};${base64}\\a%s%s\\n' ${done.slice(0, half)} ${done.slice(half)}\r`;
}

test("the active terminal gets the copy, an inactive one does not", async () => {
  const [first, second] = [mac("first"), mac("second")];
  await using a = await EmulatorTerminal.attach(wsh, "copies", { env: first.env, seen: PROMPT });
  await using b = await EmulatorTerminal.attach(wsh, "copies", { env: second.env, seen: PROMPT });
  a.type(copying("zażółć $(id) `x`\n", "copied-one"));
  await until("the copy", () => first.copies().length === 1 || null);
  expect(first.copies()).toEqual(["zażółć $(id) `x`\n"]);
  b.type(copying("from b", "copied-two"));
  await until("the second's copy", () => second.copies().length === 1 || null);
  expect(second.copies()).toEqual(["from b"]);
  expect(first.copies()).toHaveLength(1);
});

test("pbcopy does not run for other terminals, over ssh, for the primary selection, or when it is turned off", async () => {
  const [other, ssh, off, primary] = [mac("other"), mac("ssh"), mac("off"), mac("primary")];
  const config = join(wsh.dir, "off-config");
  fs.mkdirSync(join(config, "wsh"), { recursive: true });
  fs.writeFileSync(join(config, "wsh", "config.toml"), 'clipboard_command = "off"\n');
  let round = 0;
  for (const [{ env, copies }, more, selection] of [
    [other, { TERM_PROGRAM: "iTerm.app" }, "c"],
    [ssh, { SSH_CONNECTION: "1.2.3.4 5 6.7.8.9 22" }, "c"],
    [off, { XDG_CONFIG_HOME: config }, "c"],
    [primary, {}, "p"],
  ] as const) {
    await using terminal = await EmulatorTerminal.attach(wsh, "copies", { env: { ...env, ...more }, seen: PROMPT });
    const done = `nothing-${round++}-run`;
    terminal.type(copying("secret", done, selection));
    await terminal.sees(done);
    expect(copies()).toEqual([]);
  }
});
