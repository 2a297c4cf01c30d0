/** Pictures of programs: kitty's graphics protocol in, placeholders and images for terminals out. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { deflateSync, inflateSync } from "node:zlib";
import { encodeSixel } from "../../../src/attach/render/sixel.ts";
import { PLACEHOLDER } from "../../../src/protocol/placeholder.ts";
import { TerminalModel, type TerminalSink } from "../../../src/terminal/model.ts";
import { diacritic, MAX_CELLS } from "../../../src/terminal/pictures/diacritics.ts";
import { pictureTerminals } from "../../../src/terminal/pictures/picture.ts";
import type { Pixels } from "../../../src/terminal/pictures/pixels.ts";
import { decodePng } from "../../../src/terminal/pictures/png.ts";
import { decodeSixel } from "../../../src/terminal/pictures/sixel.ts";
import { defaultProfile } from "../../../src/terminal/profile.ts";
import { storedAlternate, storedLines } from "../../../src/terminal/stored-text.ts";

const person = {};
beforeAll(() => void pictureTerminals.add(person));
afterAll(() => void pictureTerminals.delete(person));

function open(rows = 10, cols = 20) {
  const seen = { replies: "", bytes: "" };
  const sink: TerminalSink = {
    reply: (bytes) => {
      seen.replies += Buffer.from(bytes).toString();
    },
    chunk: ({ bytes }) => {
      seen.bytes += Buffer.from(bytes).toString();
    },
    mark: () => {},
    bell: () => {},
    title: () => {},
    cwd: () => {},
    alternate: () => {},
    clipboard: () => {},
    reset: () => {},
    crashed: (error) => {
      throw error;
    },
  };
  const profile = { ...defaultProfile, cell: { width: 10, height: 20 } };
  const terminal = new TerminalModel({ rows, cols, historyLines: 100, historyBytes: 1e6, nonce: null, profile }, sink);
  const print = (text: string): Promise<void> => terminal.write(Buffer.from(text));
  /** Answers to the output. */
  const ask = async (text: string): Promise<string> => {
    seen.replies = "";
    await print(text);
    return seen.replies.replaceAll("\x1b_G", "<").replaceAll("\x1b\\", ">");
  };
  return { terminal, seen, print, ask, cells: () => placeholders(terminal) };
}

/** Positions of pictures on the screen: `ROW,COL` and the part, `row,col`, in the order of their ids. */
function placeholders(terminal: TerminalModel): string[] {
  const ids: number[] = [];
  return terminal.grid().lines.flatMap((row, y) =>
    row.flatMap(({ text, style: { fg } }, x) => {
      if (!text.startsWith(PLACEHOLDER) || fg === null || !("rgb" in fg)) return [];
      const id = (fg.rgb.r << 16) + (fg.rgb.g << 8) + fg.rgb.b;
      if (!ids.includes(id)) ids.push(id);
      const marks = [...text.slice(PLACEHOLDER.length)].map((mark) => numbers.get(mark));
      return [`${"abc"[ids.indexOf(id)]}${y},${x}=${marks.slice(0, 2)}`];
    }),
  );
}

const numbers = new Map(Array.from({ length: MAX_CELLS }, (_, n) => [diacritic(n), n]));
const command = (keys: string, payload = ""): string => `\x1b_G${keys}${payload === "" ? "" : `;${payload}`}\x1b\\`;
const pixels = (width: number, height: number): string => Buffer.alloc(width * height * 3, 9).toString("base64");
/** An image of 2×2 cells. */
const image = (keys: string): string => command(`f=24,s=20,v=40,q=2,${keys}`, pixels(20, 40));

test("a query is answered while a terminal shows pictures, and answers have the order of the queries", async () => {
  const { ask } = open();
  const query = command("i=31,s=1,v=1,a=q,t=d,f=24", "AAAA");
  expect(await ask(query)).toBe("<i=31;OK>");
  pictureTerminals.delete(person);
  expect(await ask(query)).toBe("");
  pictureTerminals.add(person);
  const small = "f=24,s=1,v=1";
  expect(await ask(command(`a=T,i=3,p=4,${small}`, "AAAA"))).toBe("<i=3,p=4;OK>");
  expect(await ask(command(`a=t,I=7,${small}`, "AAAA"))).toMatch(/^<i=\d+,I=7;OK>$/);
  expect(await ask(command(`a=t,${small}`, "AAAA"))).toBe("");
  expect(await ask(command(`a=t,i=1,q=1,${small}`, "AAAA"))).toBe("");
  expect(await ask(command(`a=p,i=99`))).toMatch(/^<i=99;ENOENT:/);
  expect(await ask(command(`a=p,i=99,q=2`))).toBe("");
  expect(await ask(command("a=t,t=f,i=1,f=100", Buffer.from("/etc/passwd").toString("base64")))).toMatch(
    /^<i=1;EINVAL:/,
  );
  expect(await ask(command("a=f,i=3,m=1", "AAAA") + command("a=f,i=3,m=0", "AAAA"))).toMatch(
    /^<i=3;ENOTSUPPORTED:[^<]*>$/,
  );
  expect(await ask(command("a=p,i=3,P=3"))).toMatch(/^<i=3;ENOTSUPPORTED:/);
});

test("an enormous or invalid image is refused", async () => {
  const { terminal, ask } = open();
  expect(
    await ask(command("a=T,i=1,f=24,s=100000,v=100000,o=z", deflateSync(Buffer.alloc(99)).toString("base64"))),
  ).toMatch(/^<i=1;EINVAL:image too large>$/);
  const png = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "latin1"), Buffer.alloc(8, 0x7f)]);
  expect(await ask(command("a=T,i=1,f=100", png.toString("base64")))).toMatch(/too large/);
  expect(await ask(command("a=T,i=1,f=100", "AAAA"))).toMatch(/EBADPNG/);
  expect(await ask(command("a=T,i=1,f=24,s=9,v=9", "AAAA"))).toMatch(/ENODATA/);
  expect(await ask(command("a=T,i=1,f=24,s=1,v=1,o=z", "AAAA"))).toMatch(/EINVAL/);
  const part = Buffer.alloc(150_000).toString("base64");
  const parts = Array.from({ length: 120 }, (_, n) =>
    command(`${n === 0 ? "a=t,i=1,f=24,s=3000,v=2000," : ""}m=${n < 119 ? 1 : 0}`, part),
  );
  expect(await ask(parts.join(""))).toMatch(/^<i=1;EFBIG:/);
  expect(terminal.pictures?.pictures.size).toBe(0);
});

test("retained images are bounded, and the oldest is evicted", async () => {
  const { terminal, print } = open();
  const part = Buffer.alloc(150_000).toString("base64");
  for (let i = 1; i <= 30; i++) {
    await print(
      [0, 1, 2, 3]
        .map((n) => command(`${n === 0 ? `a=T,i=${i},q=2,f=24,s=400,v=500,` : ""}m=${n < 3 ? 1 : 0}`, part))
        .join(""),
    );
  }
  const kept = [...(terminal.pictures?.pictures.values() ?? [])];
  expect(kept.reduce((sum, { pixels }) => sum + pixels.bytes.length, 0)).toBeLessThanOrEqual(16 * 1024 * 1024);
  expect(kept.length).toBeGreaterThan(20);
});

test("a picture becomes placeholders at the cursor, which moves on, and clients get the same", async () => {
  const { terminal, seen, print, cells } = open();
  await print(`ab${image("a=T,i=5")}cd\r\n\x1b[1;31mred`);
  expect(cells()).toEqual(["a0,2=0,0", "a0,3=0,1", "a1,2=1,0", "a1,3=1,1"]);
  expect(terminal.screen("plain").lines.slice(0, 3)).toEqual(["ab", "    cd", "red"]);
  const client = open();
  await client.print(seen.bytes);
  expect(client.terminal.grid().cursor).toEqual(terminal.grid().cursor);
  expect(client.cells()).toEqual(cells());
  expect(seen.bytes).not.toContain("\x1b_G");
});

test("an image split over reads anywhere is the same image", async () => {
  const whole = `ab${command("a=T,i=5,f=24,s=20,v=40,m=1", pixels(20, 20))}${command("m=0", pixels(20, 20))}cd\u{10eeee}\u0305x`;
  const expected = open();
  await expected.print(whole);
  const bytes = Buffer.from(whole);
  for (const at of [
    1,
    2,
    3,
    4,
    5,
    8,
    30,
    100,
    1000,
    bytes.length - 14,
    bytes.length - 9,
    bytes.length - 4,
    bytes.length - 2,
  ]) {
    const { terminal, cells } = open();
    await terminal.write(bytes.slice(0, at));
    await terminal.write(bytes.slice(at));
    expect([at, ...cells()]).toEqual([at, ...expected.cells()]);
  }
});

test("a multiplexer's wrapping is unwrapped", async () => {
  const { cells, ask } = open();
  const wrapped = `\x1bPtmux;${command("a=T,i=1,f=24,s=20,v=40", pixels(20, 40)).replaceAll("\x1b", "\x1b\x1b")}\x1b\\`;
  expect(await ask(`${wrapped}x`)).toBe("<i=1;OK>");
  expect(cells()).toHaveLength(4);
});

test("a picture is cut at the right edge, scrolls at the bottom, and stays with C=1", async () => {
  const edge = open(4, 6);
  await edge.print(`\x1b[1;6H${image("a=T,i=1")}x`);
  expect(edge.cells()).toEqual(["a0,5=0,0", "a1,5=1,0"]);
  expect(edge.terminal.cursor).toMatchObject({ row: 2, col: 1 });

  const bottom = open(4, 6);
  await bottom.print(`one\r\ntwo\r\nthree\r\n${image("a=T,i=1")}`);
  expect(bottom.terminal.screen("plain").lines).toEqual(["two", "three", "", ""]);
  expect(bottom.cells()[0]).toBe("a2,0=0,0");
  await bottom.print(`\x1b[3;3H${image("a=T,i=2,C=1,c=2,r=9")}`);
  expect(bottom.terminal.cursor).toMatchObject({ row: 2, col: 2 });
  expect(bottom.cells().filter((cell) => cell.startsWith("b"))).toEqual([
    "b2,2=0,0",
    "b2,3=0,1",
    "b3,2=1,0",
    "b3,3=1,1",
  ]);

  const region = open(6, 6);
  await region.print(`\x1b[6;1Hlast\x1b[2;4r\x1b[4;1H${image("a=T,i=1")}\x1b[r`);
  expect(region.cells()[0]).toBe("a2,0=0,0");
  expect(region.terminal.screen("plain").lines[5]).toBe("last");
});

test("deleting clears the cells, in all its forms", async () => {
  const forms = [
    "a=d",
    "a=d,d=A",
    "a=d,d=i,i=1",
    "a=d,d=I,i=1,p=2",
    "a=d,d=c",
    "a=d,d=p,x=3,y=2",
    "a=d,d=q,x=3,y=2,z=7",
    "a=d,d=x,x=4",
    "a=d,d=y,y=3",
    "a=d,d=z,z=7",
    "a=d,d=r,x=1,y=1",
  ];
  for (const form of forms) {
    const { terminal, print, cells } = open();
    await print(`\x1b[2;3H${image("a=T,i=1,p=2,z=7,C=1")}`);
    expect(cells()).toHaveLength(4);
    await print(`${command("a=d,d=p,x=1,y=1")}${command("a=d,d=z,z=6")}${command("a=d,d=i,i=9")}`);
    expect(cells()).toHaveLength(4);
    await print(command(form));
    expect([form, ...cells()]).toEqual([form]);
    expect(terminal.cursor).toMatchObject({ row: 1, col: 2 });
    // A capital frees the image, too.
    const isFree = /d=[A-Z]/.test(form);
    await print(command("a=p,i=1,q=2"));
    expect([form, cells().length]).toEqual([form, isFree ? 0 : 4]);
  }
});

test("the same image again replaces the old one, and a moved placement leaves nothing behind", async () => {
  const { terminal, print, cells } = open();
  await print(`${image("a=T,i=1,C=1")}\x1b[5;1H${image("a=T,i=1,C=1")}`);
  expect(cells()[0]).toBe("a4,0=0,0");
  expect(cells()).toHaveLength(4);
  await print(`\x1b[8;1H${command("a=p,i=1,p=3,C=1,q=2")}\x1b[8;9H${command("a=p,i=1,p=3,C=1,q=2")}`);
  expect(cells().filter((cell) => cell.startsWith("b"))[0]).toBe("b7,8=0,0");
  expect(cells()).toHaveLength(8);
  expect(terminal.pictures?.pictures.size).toBe(2);
});

test("two programs with the same number have separate pictures", async () => {
  const [one, two] = [open(), open()];
  await one.print(image("a=T,i=1"));
  await two.print(image("a=T,i=1"));
  const ids = [one, two].map(({ terminal }) => [...(terminal.pictures?.pictures.keys() ?? [])]);
  expect(ids[0]).not.toEqual(ids[1]);
  await one.print(command("a=d,d=I,i=1"));
  expect([one, two].map(({ terminal }) => terminal.pictures?.pictures.size)).toEqual([0, 1]);
});

test("a program's own placeholders get our numbers, and the ones that it left out", async () => {
  const { terminal, print, cells, seen } = open();
  const own = `\x1b[38;5;42m${PLACEHOLDER}\u0305${PLACEHOLDER}${PLACEHOLDER}\x1b[39mx\r\n`;
  await print(`${image("a=T,U=1,i=42,c=3,r=2")}${own}`);
  const [picture] = [...(terminal.pictures?.pictures.values() ?? [])];
  expect(cells()).toEqual(["a0,0=0,0", "a0,1=0,1", "a0,2=0,2"]);
  const [id] = seen.bytes.match(/38;2;[\d;]+m/) ?? [];
  expect(id).toBe(
    `38;2;${((picture?.id ?? 0) >> 16) & 0xff};${((picture?.id ?? 0) >> 8) & 0xff};${(picture?.id ?? 0) & 0xff}m`,
  );
  expect(picture?.places).toEqual(new Map([[0, { cols: 3, rows: 2 }]]));
  // In pieces, and sent again: still the same picture.
  await print(`${image("a=T,U=1,i=42,c=3,r=2")}\x1b[38;5;42m${PLACEHOLDER}\u030d`);
  await print(PLACEHOLDER);
  await print(`${PLACEHOLDER}\x1b[my`);
  expect(cells().slice(3)).toEqual(["a1,0=1,0", "a1,1=1,1", "a1,2=1,2"]);
  expect([...(terminal.pictures?.pictures.keys() ?? [])]).toEqual([picture?.id ?? 0]);
  // The highest byte of a number stays.
  const high = open();
  await high.print(
    `${image(`a=T,U=1,i=${42 + 2 * 0x100_0000},c=1,r=1`)}\x1b[38;5;42m${PLACEHOLDER}\u0305\u0305\u030e\x1b[m `,
  );
  expect(high.terminal.grid().lines[0]?.[0]?.text).toBe(`${PLACEHOLDER}\u0305\u0305\u030e`);
  expect([...(high.terminal.pictures?.pictures.keys() ?? [])].map((id) => Math.floor(id / 0x100_0000))).toEqual([2]);
});

test("every number of rows and columns is one cell, in both ways to count", async () => {
  for (const mode of ["l", "h"]) {
    const { print, cells } = open(MAX_CELLS + 3, MAX_CELLS + 3);
    await print(
      `\x1b[?2027${mode}${image(`a=T,i=1,c=${MAX_CELLS},r=1,C=1`)}\x1b[2;1H${image(`a=T,i=2,c=1,r=${MAX_CELLS},C=1`)}`,
    );
    const last = MAX_CELLS - 1;
    expect(cells()).toHaveLength(2 * MAX_CELLS);
    expect(cells()[last]).toBe(`a0,${last}=0,${last}`);
    expect(cells().at(-1)).toBe(`b${MAX_CELLS},0=${last},0`);
  }
});

test("text, history and their retained data have blanks", async () => {
  const { terminal, print } = open(4, 20);
  await print(`one${image("a=T,i=1")}two\r\n${"more\r\n".repeat(5)}`);
  const { lines } = terminal.text({ line: 0, col: 0 });
  expect(lines.slice(0, 2).map(({ line }) => line)).toEqual(["one", "     two"]);
  expect(JSON.stringify(terminal.scrollback({ offset: 0, limit: 20, format: "styled" }))).not.toContain(PLACEHOLDER);
  expect(storedLines(terminal.storedSource, 0, 9).join()).not.toContain(PLACEHOLDER);
  expect([...terminal.lineTexts(0, 9)].map(({ text }) => text).join()).not.toContain(PLACEHOLDER);
  await print(`\x1b[?1049h${image("a=T,i=1")}`);
  expect(storedAlternate(terminal.storedSource)?.join()).not.toContain(PLACEHOLDER);
  expect(terminal.screen("plain").lines.join("")).toBe("");
});

/** As an encoder writes it: 20×40 pixels, that is 2×2 cells; the left half is red, the right half keeps the screen's ground. */
const sixel = `\x1bP0;1;0q"1;1;20;40#1;2;100;0;0${"#1!10~-".repeat(6)}#1!10N\x1b\\`;

test("sixel graphics become a picture of the pixels that they draw", async () => {
  const { terminal, seen, print, cells } = open();
  await print(`ab${sixel}\nc`);
  expect(cells()).toEqual(["a0,2=0,0", "a0,3=0,1", "a1,2=1,0", "a1,3=1,1"]);
  // The cursor is in the last row, below where it was.
  expect(terminal.screen("plain").lines[2]).toBe("  c");
  const split = open();
  for (const byte of Buffer.from(`ab${sixel}\nc`)) await split.terminal.write(Buffer.of(byte));
  expect(split.cells()).toEqual(cells());
  // No terminal gets the original.
  expect(seen.bytes).not.toContain("\x1bP");
  expect(seen.bytes).toContain(PLACEHOLDER);
  const [picture] = [...(terminal.pictures?.pictures.values() ?? [])];
  expect(picture?.pixels).toMatchObject({ format: 100, width: 20, height: 40 });
  const png = picture?.pixels.bytes ?? Buffer.alloc(0);
  const begins = png.indexOf("IDAT") + 4;
  const rows = inflateSync(png.subarray(begins, begins + png.readUInt32BE(begins - 8)));
  const palette = png.subarray(png.indexOf("PLTE") + 4);
  const color = (x: number, y: number) => {
    const number = rows[y * 21 + 1 + x] ?? 0;
    return number === 0 ? null : [...palette.subarray(number * 3, number * 3 + 3)];
  };
  expect([color(0, 0), color(9, 39), color(10, 0), color(19, 39)]).toEqual([[255, 0, 0], [255, 0, 0], null, null]);
});

test("sixel graphics are bounded: by the screen, in work and as bytes; beyond a limit they are dropped completely", async () => {
  const { terminal, print, cells } = open(10, 20);
  await print(`\x1b[1;19H\x1bPq!500~\x1b\\`);
  expect(cells()).toEqual(["a0,18=0,0", "a0,19=0,1"]);
  await print(`\x1b[2J\x1b[H\x1bPq\x1b\\\x1bPq!99999999999;;;;;;;9?$#\x18\x1bPq#1;2;1`);
  expect(cells()).toEqual([]);
  await print(`\x1b\\\x1b[H\x1bPq${"!9999~-".repeat(2_000)}\x1b\\`);
  expect(cells()).toHaveLength(20 * 10);
  // Long, in parts: nothing is searched twice, and later output is read.
  await print("\x1b[2J\x1b[H\x1bPq#1");
  for (let n = 0; n < 300; n++) await print("?".repeat(32_000));
  await print("~\x1b\\after");
  expect(terminal.screen("plain").lines[0]).toBe("after");
  // A film keeps its newest frame.
  for (let n = 0; n < 20; n++) await print(`\x1b[H${sixel}`);
  const kept = [...(terminal.pictures?.pictures.values() ?? [])].filter(({ pixels }) => pixels.width === 20);
  expect(kept.filter(({ pixels }) => pixels.height === 40)).toHaveLength(1);
});

test("an image made of sixel graphics gives the same pixels as sixel graphics again, in 256 colours or more", () => {
  const cell = { width: 10, height: 20 };
  const room = { width: 40, height: 40, cell };
  const many = Array.from({ length: 256 }, (_, n) => `#${n};2;${n % 100};${n >> 3};9${n % 7 === 0 ? "?" : "T"}`).join(
    "$",
  );
  for (const data of [
    sixel.slice(sixel.indexOf("q") + 1, -2),
    `#1;1;0;50;100!3~#2;2;9;99;50!17N-#300ABCDEF-!40~`,
    many,
  ]) {
    const first = decodePng(decodeSixel(data, room) as Pixels);
    if (first === null) throw new Error("not read");
    const text = encodeSixel(first);
    const again = decodePng(decodeSixel(text.slice(text.indexOf("q") + 1, -2), room) as Pixels);
    const colors = (image: typeof first | null) => Array.from(image?.numbers ?? [], (number) => image?.colors[number]);
    expect(colors(again)).toEqual(colors(first));
  }
});

test("programs are told of sixel graphics while a terminal shows pictures", async () => {
  const { ask } = open();
  const questions = "\x1b[c\x1b[?1;1;0S\x1b[?2;1;0S";
  expect(await ask(questions)).toBe("\x1b[?1;2;4c\x1b[?1;0;256S\x1b[?2;0;200;200S");
  pictureTerminals.delete(person);
  expect(await ask(questions)).toBe("\x1b[?1;2c");
  pictureTerminals.add(person);
});

test("each screen has its own images, and a reset removes all", async () => {
  const { terminal, print, ask, cells } = open();
  await print(`${image("a=T,i=1")}\x1b[?1049h`);
  expect(await ask(command("a=p,i=1"))).toMatch(/ENOENT/);
  await print(image("a=T,i=1"));
  expect(terminal.pictures?.pictures.size).toBe(2);
  await print("\x1b[?1049l");
  expect(terminal.pictures?.pictures.size).toBe(1);
  expect(cells()).toHaveLength(4);
  await print("\x1bc");
  expect(terminal.pictures?.pictures.size).toBe(0);
  expect(cells()).toEqual([]);
});

test("a part of raw pixels is cut out", async () => {
  const { terminal, print } = open();
  const raw = Buffer.from(Array.from({ length: 20 * 40 }, (_, n) => [n % 20, Math.floor(n / 20), 0]).flat());
  for (const [o, data] of [
    ["", raw],
    [",o=z", deflateSync(raw)],
  ] as const) {
    await print(command(`a=T,i=1,f=24,s=20,v=40,q=2,x=10,y=20,w=10,h=20${o}`, data.toString("base64")));
    const [picture] = [...(terminal.pictures?.pictures.values() ?? [])];
    expect(picture?.pixels).toMatchObject({ width: 10, height: 20, isCompressed: false });
    expect([...(picture?.pixels.bytes.subarray(0, 6) ?? [])]).toEqual([10, 20, 0, 11, 20, 0]);
    expect(picture?.places).toEqual(new Map([[1, { cols: 1, rows: 1 }]]));
  }
});
