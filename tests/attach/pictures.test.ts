/** Pictures of programs at a person's terminal: passed through, beside other panes, covered, and after attaching again. */
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { personAt } from "../support/person.ts";
import { EmulatorTerminal } from "../support/terminals/emulator-terminal.ts";
import { KittyGraphics } from "../support/terminals/kitty-graphics.ts";
import { until } from "../support/until.ts";

const PLACEHOLDER = "\u{10eeee}";
/** Sides of a large image, in pixels: dozens of portions, or hundreds. */
const LARGE = process.env.WSH_TEST_FULL === "1" ? 1200 : 400;

/** A file that displays an image of 2×2 cells when it is printed. */
function image(dir: string, name: string, keys = "", side = 0): string {
  const [width, height] = side === 0 ? [16, 32] : [side, side];
  const data = Buffer.alloc(width * height * 3, 7).toString("base64");
  const parts = data.match(/.{1,4096}/g) ?? [];
  const commands = parts.map((part, n) => {
    const first = n === 0 ? `a=T,i=5,q=2,f=24,s=${width},v=${height},${keys}` : "";
    return `\x1b_G${first}m=${n < parts.length - 1 ? 1 : 0};${part}\x1b\\`;
  });
  const path = join(dir, name);
  writeFileSync(path, `${commands.join("")}\n`);
  return path;
}

/** Waits until so many cells of the terminal show a part of a picture. */
async function shows(person: EmulatorTerminal, graphics: KittyGraphics, cells: number): Promise<string[]> {
  let shown: string[] = [];
  await until(`${cells} cells of pictures`, async () => {
    shown = graphics.shown((await person.grid()).lines);
    return shown.length === cells;
  }).catch(async (error) => {
    throw new Error(`${error.message}; there are ${shown}; it shows:\n${await person.text()}`);
  });
  return shown;
}

test("a picture is displayed in every way of showing its pane, and disappears with it", async () => {
  const graphics = new KittyGraphics();
  await using at = await personAt({ graphics });
  const { person, wsh } = at;
  image(wsh.dir, "small");
  await until("the answer to reach the session", async () => person.bytes.includes("a=q"));
  person.type("clear; cat small; echo below\r");
  await person.sees(/^below/m);
  // Passed through: the program's own bytes, with placeholders.
  expect(await shows(person, graphics, 4)).toEqual(["0,0=0,0", "0,1=0,1", "1,0=1,0", "1,1=1,1"]);
  // Read as text, it is blank.
  const screen = await wsh.run("screen", "dev");
  expect(screen.stdout).not.toContain(PLACEHOLDER);
  expect(screen.stdout).toMatch(/^\s*\n\s*\nbelow/);

  // A terminal without the protocol shows blanks, and the first terminal the picture.
  await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: "below" });
  expect(await other.text()).not.toContain(PLACEHOLDER);
  await shows(person, graphics, 4);
  other.type("\x1cd");
  await other.exited;

  // Beside another pane, covered, in copy mode.
  person.type("\x1c%");
  await person.sees("│");
  await shows(person, graphics, 4);
  person.type("\x1c;\x1c[");
  await person.sees("lines up");
  await shows(person, graphics, 4);
  person.type("q");
  person.type("\x1cz");
  await shows(person, graphics, 4);
  person.type("\x1cz");
  person.type("printf '\\e_Ga=d,d=I,i=5,q=2\\e\\\\'\r");
  await shows(person, graphics, 0);
  await until("the image to be removed from the terminal", () => graphics.everywhere === 0);
  person.type("cat small\r");
  await shows(person, graphics, 4);

  // Removed on detach, and sent to the next terminal.
  person.type("\x1cd");
  await person.exited;
  expect(graphics.everywhere).toBe(0);
  expect(graphics.errors).toEqual([]);
  const again = new KittyGraphics();
  await using second = await EmulatorTerminal.attach(wsh, "dev", { graphics: again, seen: "│" });
  await shows(second, again, 4);

  // A large image does not delay the echo in the other pane, and is not mixed with its pictures.
  image(wsh.dir, "large", "c=4,r=2,", LARGE);
  second.type("clear; cat large\r");
  second.type("\x1co");
  second.type("echo quick\r");
  await second.sees(/quick[\s\S]*quick/);
  await shows(second, again, 8);
  expect(again.errors).toEqual([]);
  expect([...again.images.values()].map(({ data }) => data.length)).toContain(LARGE * LARGE * 3);
});

test("a view shows a picture of its session, and blanks where the terminal has no pictures", async () => {
  const graphics = new KittyGraphics();
  await using at = await personAt({ graphics });
  const { person, wsh } = at;
  await until("the answer to reach the session", async () => person.bytes.includes("a=q"));
  await wsh.session("other", "--", `cat ${image(wsh.dir, "small")}; echo below; exec cat`);
  await wsh.run("split", "dev", "--view", "other");
  await person.sees(/[│┃]below/);
  await shows(person, graphics, 4);
  await using other = await EmulatorTerminal.attach(wsh, "dev", { seen: /[│┃]below/ });
  expect(await other.text()).not.toContain(PLACEHOLDER);
  other.type("\x1cr");
  await other.sees(/[│┃]below/);
  expect(other.bytes).not.toContain(PLACEHOLDER);
  expect(graphics.errors).toEqual([]);
});

test("a terminal with sixel graphics alone gets sixel pictures, again beside a pane and where a dialog covered them", async () => {
  await using at = await personAt({ sixel: true });
  const { person, wsh } = at;
  writeFileSync(join(wsh.dir, "six"), "\x1bPq#1;2;100;0;0!20~-!20~-!20~-!20~-!20~-!20~-!20N\x1b\\\n");
  person.type("clear; cat six; echo below\r");
  await person.sees(/^below/m);
  // Two cells by two, at the top left: as one picture, or a row of cells at a time.
  const isDrawn = (): boolean => /\x1b\[1;1H\x1bP0;1q"1;1;20;(20|40)#/.test(person.bytes);
  const drawnAfter = async (keys: string, seen: RegExp): Promise<void> => {
    person.forgetBytes();
    person.type(keys);
    await person.sees(seen);
    await until(`the picture after ${JSON.stringify(keys)}`, isDrawn);
  };
  await until("the picture", isDrawn);
  expect(person.bytes).not.toMatch(/\x1b_Ga=[tp]/);
  await drawnAfter("\x1c%", /[│┃]\$/);
  person.type("\x1cs");
  await person.sees(/dev.*\n/);
  await drawnAfter("\x1b", /^below/m);
  // Programs that ask learn of it.
  person.type(`\x1c;printf '\\e[c'; IFS= read -rsd c said; clear; echo "<\${said#?}>"\r`);
  await person.sees(/<\[\?[\d;]*;4>/);
});
