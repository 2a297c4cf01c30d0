/** Copies by programs, at a terminal that ignores OSC 52 (Apple's Terminal): pbcopy of the person's machine gets them; images that a terminal hands over. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import fs from "node:fs";
import { join } from "node:path";
import { personAt } from "../support/person.ts";
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

/** The part of a terminal that hands over its clipboard (OSC 5522): a request is answered by `reply`. */
class HandedClipboard {
  reply = "";

  take(bytes: Uint8Array): string {
    const text = Buffer.from(bytes).toString("latin1");
    return (text.includes("\x1b[?5522$p") ? "\x1b[?5522;2$y" : "") + (text.includes(PNG_REQUEST) ? this.reply : "");
  }
}

const PNG = Buffer.from("image/png").toString("base64");
const PNG_REQUEST = `\x1b]5522;type=read;${PNG}\x1b\\`;
const packet = (fields: string): string => `\x1b]5522;type=read:${fields}\x1b\\`;

test("an image in the clipboard of a terminal that hands it over becomes a file, whose path is typed", async () => {
  const clipboard = new HandedClipboard();
  await using at = await personAt({ graphics: clipboard });
  const { person, wsh } = at;
  const image = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(10_000, 7)]);
  const parts = [image.subarray(0, 4096), image.subarray(4096, 8192), image.subarray(8192)];
  const data = parts.map((part) => packet(`status=DATA:mime=${PNG};${part.toString("base64")}`)).join("");
  const whole = packet("status=OK") + data + packet("status=DONE");
  // The rest of a packet comes later, over a slow network.
  clipboard.reply = whole.slice(0, 3_000);
  person.type("\x1cV");
  await until("the request", () => person.bytes.includes(PNG_REQUEST));
  await Bun.sleep(150);
  person.type(whole.slice(3_000));
  const [path = ""] = /\S+images\/\w+\.png/.exec((await person.sees(/images\/\w+\.png/)).replaceAll("\n", "")) ?? [];
  expect(fs.readFileSync(path).equals(image)).toBe(true);
  // What was not requested is nothing, for the program either.
  person.type(`\x15${data}echo "<$((6 * 7))>"\r`);
  await person.sees("<42>");
  for (const [reply, message] of [
    [packet("status=EPERM"), "refused its clipboard (not permitted)"],
    [packet("status=OK") + packet("status=DONE"), "no PNG image in the terminal's clipboard"],
    [packet("status=OK") + data.repeat(73), "more than 720 KB"],
  ] as const) {
    clipboard.reply = reply;
    person.type("\x1cV");
    await person.sees(message);
  }
  await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: "<42>" });
  other.type("\x1cV");
  await other.sees("does not provide images");
  expect(other.bytes).not.toContain(PNG_REQUEST);
});
